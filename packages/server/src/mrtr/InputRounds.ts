/**
 * Requests that may be answered with questions (spec 2026-07-28: basic/patterns/mrtr): opens the state that a client sends, runs a round
 * of the handler, and seals what the next round needs.
 *
 * Bounded: a request that asks in more rounds than allowed, or whose state is longer, fails with -32603.
 */
import type { ClientInput } from "@effect-mcp/core/ClientInput"
import { inOwnFiber } from "@effect-mcp/core/internal/eager"
import { EncodedResult } from "@effect-mcp/core/EncodedResult"
import type { ReceivedRequest } from "@effect-mcp/core/Peer"
import { callerKey, Principal } from "@effect-mcp/core/Principal"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import type { ClientCapabilities } from "@effect-mcp/protocol/Capabilities"
import * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { EraContext } from "../request/RequestServices.ts"
import type { DecodedResult } from "../request/DecodedRequest.ts"
import { type CallerBinding, ServerRequest } from "../request/ServerRequest.ts"
import * as Journal from "./Journal.ts"
import type { Questions } from "./Questions.ts"
import * as Replay from "./Replay.ts"
import type { ReplayGuard } from "./ReplayGuard.ts"
import { invalidState, type Opened, type StateSeal } from "./StateSeal.ts"

export interface Options {
  /** Rounds of one request. Default 10. */
  readonly rounds?: number | undefined
  /** Length of a sealed state, in characters. Default 32 KiB. */
  readonly stateBytes?: number | undefined
  /** How long one `Once` step may take. Default 1 minute. */
  readonly stepTimeout?: Duration.Input | undefined
}

const mayNotAsk = (method: string): McpError.McpError =>
  McpError.invalidRequest(`This request may not be answered with questions: ${method}`)

/** The input of requests that must not ask. Types of their handlers say so; middleware around them gets a typed failure. */
export const none: ClientInput["Service"] = {
  once: (_name, _schema, effect) => effect,
  ask: (method) => Effect.fail(mayNotAsk(method)),
  askExtension: ({ method }) => Effect.fail(mayNotAsk(method))
}

/** A request that may be answered with questions. */
interface Request {
  readonly received: ReceivedRequest
  readonly principal: Principal["Service"]
  readonly revision: Revision
  readonly capabilities: ClientCapabilities
  readonly eraContextOf: (input: ClientInput["Service"]) => EraContext
  readonly method: string
  /** The decoded params. */
  readonly params: unknown
  /** As in `HandledRequest`. */
  readonly eager: boolean
}

type Handler = (request: ServerRequest) => Effect.Effect<DecodedResult, McpError.McpError, RequestServices>

const noParams: JsonObject = {}

/** The owner of a state: a subject is unique within its issuer only. */
const ownerOf = (principal: Principal["Service"]): string => callerKey(principal) ?? ""

/** The caller whose budget of remembered replies a request uses. */
const callerOf = ({ received: { envelope }, principal }: Request): string =>
  callerKey(principal, envelope.address) ?? ""

/** The params that a state is bound to: all but `_meta`, the answers and the state. */
const boundParams = (params: unknown): unknown => {
  if (!isJsonObject(params)) return params
  const { _meta, inputResponses: _responses, requestState: _state, ...rest } = params
  return rest
}

/** What a state is sealed to, as text: made only for requests that ask. */
const bindingOf = (server: string, { method, params, principal, revision }: Request): string =>
  Journal.canonicalJson([server, ownerOf(principal), revision.version, method, boundParams(params)])

const responsesOf = ({ params }: Request): JsonObject => {
  const { inputResponses } = isJsonObject(params) ? params : noParams
  return isJsonObject(inputResponses) ? inputResponses : noParams
}

/** One round of a request, and the caller that its handler acts for. */
class RequestRound implements CallerBinding {
  private readonly request: Request
  private readonly stepTimeout: number
  private readonly journal: Journal.RoundJournal
  private readonly onAsked: (questions: Questions) => void
  /** Made when the handler waits or asks for its input: others need no round. */
  private made: Replay.Round | undefined = undefined
  private caller: Principal["Service"] | undefined = undefined

  constructor(
    request: Request,
    stepTimeout: number,
    journal: Journal.RoundJournal,
    onAsked: (questions: Questions) => void
  ) {
    this.onAsked = onAsked
    this.request = request
    this.stepTimeout = stepTimeout
    this.journal = journal
  }

  get replay(): Replay.Round {
    return (this.made ??= this.make())
  }

  private make(): Replay.Round {
    const { journal, request, stepTimeout } = this
    // Only a first round has answers to questions that were not asked: later ones were settled into the journal.
    const premature = journal === Journal.empty ? responsesOf(request) : undefined
    return new Replay.Round(journal, request, stepTimeout, this.onAsked, premature)
  }

  get eraContext(): EraContext {
    return this.request.eraContextOf(this.replay.input)
  }

  /** Called where nothing lies around the handler, which acts for the caller that the transport knows. */
  bindTransportCaller(): void {
    this.caller = this.request.principal
  }

  // Middleware may provide another caller than the transport; a state belongs to the caller that it was made for.
  get bindCaller(): Effect.Effect<void, McpError.McpError, Principal> {
    return Effect.flatMap(Principal, (principal) => {
      if (this.caller === principal) return Effect.void
      const first = this.caller === undefined ? this.journal.caller : ownerOf(this.caller)
      if (first !== undefined && first !== ownerOf(principal)) return Effect.fail(invalidState())
      this.caller = principal
      return Effect.void
    })
  }

  /** The journal of the next round, with the caller it belongs to. */
  owned(journal: Journal.RoundJournal): Journal.RoundJournal {
    return this.caller === undefined ? journal : { ...journal, caller: ownerOf(this.caller) }
  }
}

export class InputRounds {
  private readonly server: string
  private readonly seal: Effect.Effect<StateSeal["Service"]>
  private readonly guard: ReplayGuard["Service"] | undefined
  private readonly rounds: number
  private readonly stateBytes: number
  private readonly stepTimeout: number

  /** `server` is the name of the server: several may share their keys. */
  constructor(
    server: string,
    seal: Effect.Effect<StateSeal["Service"]>,
    guard: ReplayGuard["Service"] | undefined,
    { rounds = 10, stateBytes = 32 * 1024, stepTimeout = "1 minute" }: Options = {}
  ) {
    this.server = server
    this.seal = seal
    this.guard = guard
    this.rounds = rounds
    this.stateBytes = stateBytes
    this.stepTimeout = Duration.toMillis(Duration.fromInputUnsafe(stepTimeout))
  }

  /** Runs `handler` for one round: when the effect is about to run. */
  run(handler: Handler, request: Request): Effect.Effect<DecodedResult, McpError.McpError> {
    const { requestState } = isJsonObject(request.params) ? request.params : noParams
    return typeof requestState === "string"
      ? this.resume(handler, request, requestState)
      : this.round(handler, request, request.eager, Journal.empty)
  }

  private round(
    handler: Handler,
    request: Request,
    eager: boolean,
    journal: Journal.RoundJournal
  ): Effect.Effect<DecodedResult, McpError.McpError> {
    const { received, principal } = request
    const round = new RequestRound(request, this.stepTimeout, journal, (questions) =>
      // Other fibers of the handler may be about to ask too: their questions belong to the same round.
      served.beside(questions.settled, () => {
        questions.end()
        const { inputRequests, journal } = questions
        served.stop(() => this.sealed(inputRequests, round.owned(journal), request), Replay.suspension)
      })
    )
    const served = new ServerRequest(received, principal, undefined, () => round.eraContext, eager)
    served.callerBinding = round
    const effect = served.provide(handler(served))
    if (served.eager) round.bindTransportCaller()
    return effect
  }

  private readonly sealed = Effect.fnUntraced(
    { self: this },
    function* (
      this: InputRounds,
      inputRequests: { readonly [key: string]: Replay.InputRequest },
      journal: Journal.RoundJournal,
      request: Request
    ): Effect.fn.Return<EncodedResult, McpError.McpError> {
      const { rounds, stateBytes } = this
      if (journal.round > rounds) {
        return yield* McpError.internalError(`The request asked in more than ${rounds} rounds`)
      }
      const requestState = yield* (yield* this.seal).seal(journal, bindingOf(this.server, request))
      if (requestState.length > stateBytes) {
        return yield* McpError.internalError(`The request remembers more than ${stateBytes} bytes between its rounds`)
      }
      return EncodedResult.core("input_required", { inputRequests, requestState })
    }
  )

  private resume(
    handler: Handler,
    request: Request,
    requestState: string
  ): Effect.Effect<DecodedResult, McpError.McpError> {
    const opened = Effect.flatMap(this.seal, (service) => service.open(requestState, bindingOf(this.server, request)))
    return Effect.flatMap(Effect.interruptible(opened), ({ expires, journal, jti }: Opened) => {
      const settled = Journal.settle(journal, responsesOf(request))
      request.received.asked = Object.keys(settled.answers).length
      const reply = Effect.suspend(() => this.round(handler, request, false, settled))
      if (this.guard === undefined) return reply
      // A second use of a state waits for the first, and must be interruptible meanwhile. The round itself needs an uninterruptible fiber.
      return Effect.interruptible(this.guard.once(jti, expires, inOwnFiber(reply), callerOf(request)))
    })
  }
}
