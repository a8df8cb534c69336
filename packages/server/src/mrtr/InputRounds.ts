/**
 * Requests that may be answered with questions (spec 2026-07-28: basic/patterns/mrtr): opens the state a client brings, runs a round
 * of the handler, and seals what the next one needs.
 *
 * Bounded: a request that asks in more rounds, or remembers more, than allowed is a clear error.
 */
import type { ClientInput } from "@effect-mcp/core/ClientInput"
import { exitOf } from "@effect-mcp/core/internal/eager"
import type { ReceivedRequest } from "@effect-mcp/core/Peer"
import { callerKey, Principal } from "@effect-mcp/core/Principal"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import type { ClientCapabilities } from "@effect-mcp/protocol/Capabilities"
import * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Revision } from "@effect-mcp/protocol/Revision"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { EraContext } from "../request/RequestServices.ts"
import { ServerRequest } from "../request/ServerRequest.ts"
import * as Journal from "./Journal.ts"
import * as Replay from "./Replay.ts"
import type { ReplayGuard } from "./ReplayGuard.ts"
import { invalidState, type Opened, type StateSeal } from "./StateSeal.ts"

export interface Options {
  /** Rounds of one request. Default 10. */
  readonly rounds?: number | undefined
  /** Length of a sealed state. Default 32 KiB. */
  readonly stateBytes?: number | undefined
  /** How long one `Once` step may take. Default 1 minute. */
  readonly stepTimeout?: Duration.Input | undefined
}

/** The wire result that asks. */
export class Asked {
  readonly wire: { readonly [key: string]: unknown }
  constructor(wire: { readonly [key: string]: unknown }) {
    this.wire = wire
  }
}
export const isAsked = (u: unknown): u is Asked => u instanceof Asked

/** For requests that must not ask. Their handlers' types say so; middleware around them gets a typed failure. */
export const none: ClientInput["Service"] = {
  once: (_name, _schema, effect) => effect,
  ask: (method) => Effect.fail(McpError.invalidRequest(`This request may not be answered with questions: ${method}`))
}

export interface Run {
  readonly exchange: ReceivedRequest
  readonly principal: Principal["Service"]
  readonly revision: Revision
  readonly capabilities: ClientCapabilities
  readonly eraContextOf: (input: ClientInput["Service"]) => EraContext
  readonly method: string
  /** The decoded params of the request. */
  readonly params: unknown
  /** The context of the fiber that runs the effect at once; undefined where it must not start before it runs. */
  readonly base: Context.Context<never> | undefined
}

export interface InputRounds {
  /** Runs `handler` for one round: when the effect is about to run. */
  readonly run: <A>(handler: Handler<A>, run: Run) => Effect.Effect<A | Asked, McpError.McpError>
}
export type Handler<A> = (request: ServerRequest) => Effect.Effect<A, McpError.McpError, RequestServices>

const noParams: JsonObject = {}

/** Whose state it is: a subject is unique within its issuer only. */
const nameOf = (principal: Principal["Service"]): string => callerKey(principal) ?? ""

/** Whose budget a request takes from. */
const callerOf = ({ exchange: { envelope }, principal }: Run): string => callerKey(principal, envelope.address) ?? ""

/** The params that make a request what it is: all but its `_meta`, the answers and the state. */
const salient = (params: unknown): unknown => {
  if (!isJsonObject(params)) return params
  const { _meta, inputResponses: _responses, requestState: _state, ...rest } = params
  return rest
}

/** What a state is sealed to, as text: made only for requests that ask. */
const bindingOf = (server: string, { method, params, principal, revision }: Run): string =>
  Journal.canonicalJson([server, nameOf(principal), revision.version, method, salient(params)])

/** `server` is the name of the server: several may share their keys. */
export const make = (
  server: string,
  seal: Effect.Effect<StateSeal["Service"]>,
  guard: ReplayGuard["Service"] | undefined,
  options: Options = {}
): InputRounds => {
  const { rounds = 10, stateBytes = 32 * 1024, stepTimeout = "1 minute" } = options
  const stepMillis = Duration.toMillis(Duration.fromInputUnsafe(stepTimeout))

  const sealed = Effect.fnUntraced(function* (
    requests: { readonly [key: string]: Replay.InputRequest },
    journal: Journal.Journal,
    run: Run
  ): Effect.fn.Return<Asked, McpError.McpError> {
    if (journal.round > rounds) {
      return yield* McpError.internalError(`The request asked in more than ${rounds} rounds`)
    }
    const requestState = yield* Effect.flatMap(seal, (service) => service.seal(journal, bindingOf(server, run)))
    if (requestState.length > stateBytes) {
      return yield* McpError.internalError(`The request remembers more than ${stateBytes} bytes between its rounds`)
    }
    return new Asked({ resultType: "input_required", inputRequests: requests, requestState })
  })

  const ended = <A>(
    outcome: Replay.Outcome<A, McpError.McpError>,
    caller: Principal["Service"] | undefined,
    run: Run
  ): Effect.Effect<A | Asked, McpError.McpError> => {
    if (outcome._tag === "Complete") return outcome.exit
    const { journal, requests } = outcome
    return sealed(requests, caller === undefined ? journal : { ...journal, caller: nameOf(caller) }, run)
  }

  const round = <A>(
    handler: Handler<A>,
    run: Run,
    base: Run["base"],
    journal: Journal.Journal,
    volunteered?: JsonObject
  ): Effect.Effect<A | Asked, McpError.McpError> => {
    const { capabilities, eraContextOf, exchange, principal, revision } = run
    let made: Replay.Round | undefined
    // A handler that asks nothing and does not wait needs no round.
    const replay = () => (made ??= Replay.make(journal, { revision, capabilities }, stepMillis, volunteered))
    let caller: Principal["Service"] | undefined
    const request = new ServerRequest(exchange, principal, undefined, () => eraContextOf(replay().input), base)
    // Middleware may provide another caller than the transport; a state stays with the caller it was made for.
    request.bindCaller = () =>
      Effect.flatMap(Principal, (principal) => {
        if (caller === principal) return Effect.void
        const first = caller === undefined ? journal.caller : nameOf(caller)
        if (first !== undefined && first !== nameOf(principal)) return Effect.fail(invalidState())
        caller = principal
        return Effect.void
      })
    const effect = request.provide(handler(request))
    if (request.eager) caller = principal
    return exitOf(effect) ?? Effect.flatMap(replay().run(effect), (outcome) => ended(outcome, caller, run))
  }

  const resumed = Effect.fnUntraced(function* <A>(
    handler: Handler<A>,
    run: Run,
    requestState: string,
    answers: JsonObject
  ): Effect.fn.Return<A | Asked, McpError.McpError> {
    const opened: Opened = yield* Effect.flatMap(seal, (service) => service.open(requestState, bindingOf(server, run)))
    const reply = Effect.suspend(() => round(handler, run, undefined, Journal.settle(opened.journal, answers)))
    return yield* guard === undefined ? reply : guard.once(opened.jti, opened.expires, reply, callerOf(run))
  })

  const answersOf = ({ params }: Run): JsonObject => {
    const { inputResponses } = isJsonObject(params) ? params : noParams
    return isJsonObject(inputResponses) ? inputResponses : noParams
  }

  return {
    run: (handler, run) => {
      const { requestState } = isJsonObject(run.params) ? run.params : noParams
      const answers = answersOf(run)
      return typeof requestState === "string"
        ? resumed(handler, run, requestState, answers)
        : round(handler, run, run.base, Journal.empty, answers)
    }
  }
}
