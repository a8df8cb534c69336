/**
 * Requests that may be answered with questions (spec 2026-07-28: basic/patterns/mrtr): opens the state a client brings, runs a round
 * of the handler, and seals what the next one needs.
 *
 * Bounded: a request that asks in more rounds, or remembers more, than allowed is a clear error.
 */
import type { ClientInput } from "@effect-mcp/core/ClientInput"
import type { Exchange } from "@effect-mcp/core/Peer"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import type { Request } from "../Middleware.ts"
import * as Services from "../RequestServices.ts"
import * as Journal from "./Journal.ts"
import * as Replay from "./Replay.ts"
import type { ReplayGuard } from "./ReplayGuard.ts"
import type { StateSeal } from "./StateSeal.ts"

export interface Options {
  /** Rounds of one request. Default 10. */
  readonly rounds?: number | undefined
  /** Length of a sealed state. Default 32 KiB. */
  readonly stateBytes?: number | undefined
  /** How long one `Once` step may take, in milliseconds. Default 1 minute. */
  readonly stepMillis?: number | undefined
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
  readonly exchange: Exchange
  readonly facts: Omit<Services.Facts, "input">
  readonly request: Request
  /** What the state is bound to beside the request's own params. */
  readonly binding: ReadonlyArray<unknown>
}

export interface InputRounds {
  readonly run: <A>(
    handler: Effect.Effect<A, McpError.McpError, RequestServices>,
    run: Run
  ) => Effect.Effect<A | Asked, McpError.McpError>
}

/** The params that make a request what it is: all but its `_meta`, the answers and the state. */
const salient = (params: unknown): unknown => {
  if (!isJsonObject(params)) return params
  const { _meta, inputResponses: _responses, requestState: _state, ...rest } = params
  return rest
}

export const make = (
  seal: Effect.Effect<StateSeal["Service"]>,
  guard: ReplayGuard["Service"] | undefined,
  options: Options = {}
): InputRounds => {
  const { rounds = 10, stateBytes = 32 * 1024, stepMillis = 60_000 } = options

  const sealed = Effect.fnUntraced(function* (
    requests: { readonly [key: string]: Replay.InputRequest },
    journal: Journal.Journal,
    binding: string
  ): Effect.fn.Return<Asked, McpError.McpError> {
    if (journal.round > rounds) {
      return yield* McpError.internalError(`The request asked in more than ${rounds} rounds`)
    }
    const requestState = yield* Effect.flatMap(seal, (service) => service.seal(journal, binding))
    if (requestState.length > stateBytes) {
      return yield* McpError.internalError(`The request remembers more than ${stateBytes} bytes between its rounds`)
    }
    return new Asked({ resultType: "input_required", inputRequests: requests, requestState })
  })

  return {
    run: Effect.fnUntraced(function* <A>(
      handler: Effect.Effect<A, McpError.McpError, RequestServices>,
      { exchange, facts, request, binding }: Run
    ): Effect.fn.Return<A | Asked, McpError.McpError> {
      const params: unknown = request.params
      const { requestState, inputResponses } = isJsonObject(params) ? params : {}
      const bound = Journal.canonicalJson([...binding, salient(params)])
      const opened =
        typeof requestState === "string"
          ? yield* Effect.flatMap(seal, (service) => service.open(requestState, bound))
          : undefined
      const journal =
        opened === undefined
          ? Journal.empty
          : Journal.settle(opened.journal, isJsonObject(inputResponses) ? inputResponses : {})
      const { revision, clientCapabilities } = facts.context
      const reply = Effect.suspend(() => {
        const round = Replay.make(journal, { revision, capabilities: clientCapabilities }, stepMillis)
        const run = round.run(Services.provide(handler, exchange, { ...facts, input: round.input }))
        return Effect.flatMap(run, (outcome): Effect.Effect<A | Asked, McpError.McpError> =>
          outcome._tag === "Complete" ? outcome.exit : sealed(outcome.requests, outcome.journal, bound)
        )
      })
      return yield* opened === undefined || guard === undefined ? reply : guard.once(opened.jti, opened.expires, reply)
    })
  }
}
