/**
 * Requests that may be answered with questions (spec 2026-07-28: basic/patterns/mrtr). Opens the state that a client sends, runs one round
 * of the handler, and seals the state for the next round.
 *
 * A request fails with -32603 if it asks in more rounds than allowed, or if its state is too long.
 */
import type { ClientInput } from "@effect-mcp/core/ClientInput"
import { inOwnFiber } from "@effect-mcp/core/internal/calling"
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
  /** Maximum number of rounds per request. Default 10. */
  readonly rounds?: number | undefined
  /** Maximum length of a sealed state, in characters. Default 32 KiB. */
  readonly stateBytes?: number | undefined
  /** How long a single `Once` step may take. Default 1 minute. */
  readonly stepTimeout?: Duration.Input | undefined
}

const mayNotAsk = (method: string): McpError.McpError =>
  McpError.invalidRequest(`Handlers of ${method} cannot ask questions`)

/**
 * Input for requests that can't ask questions. Their handlers' types rule questions out; middleware around them receives a typed failure.
 */
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
  /** True if the request is handled synchronously within the call that delivers it; see `HandledRequest`. */
  readonly eager: boolean
}

type Handler = (request: ServerRequest) => Effect.Effect<DecodedResult, McpError.McpError, RequestServices>

const noParams: JsonObject = {}

/** Returns a state's owner. A subject is only unique within its issuer. */
const ownerOf = (principal: Principal["Service"]): string => callerKey(principal) ?? ""

/** Returns the caller whose budget of kept replies the request uses. */
const callerOf = ({ received: { envelope }, principal }: Request): string =>
  callerKey(principal, envelope.address) ?? ""

/** Returns the params that a state is bound to: everything except `_meta`, the answers and the state. */
const boundParams = (params: unknown): unknown => {
  if (!isJsonObject(params)) return params
  const { _meta, inputResponses: _responses, requestState: _state, ...rest } = params
  return rest
}

/** Returns the text that a state is bound to. Only computed for requests that ask. */
const bindingOf = (server: string, { method, params, principal, revision }: Request): string =>
  Journal.canonicalJson([server, ownerOf(principal), revision.version, method, boundParams(params)])

const responsesOf = ({ params }: Request): JsonObject => {
  const { inputResponses } = isJsonObject(params) ? params : noParams
  return isJsonObject(inputResponses) ? inputResponses : noParams
}

/** One round of a request, with the caller that its handler acts for. */
class RequestRound implements CallerBinding {
  private readonly request: Request
  private readonly stepTimeout: number
  private readonly journal: Journal.RoundJournal
  private readonly onAsked: (questions: Questions) => void
  /** Created when the handler waits or asks for input. Other handlers need no round. */
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
    // Only a first round can have answers that precede their questions; answers in later rounds were settled into the journal.
    const premature = journal === Journal.empty ? responsesOf(request) : undefined
    return new Replay.Round(journal, request, stepTimeout, this.onAsked, premature)
  }

  get eraContext(): EraContext {
    return this.request.eraContextOf(this.replay.input)
  }

  /** Called if there is no middleware around the handler, which then acts for the transport's caller. */
  bindTransportCaller(): void {
    this.caller = this.request.principal
  }

  // Middleware may provide another caller than the transport. A state belongs to the caller that it was created for.
  get bindCaller(): Effect.Effect<void, McpError.McpError, Principal> {
    return Effect.flatMap(Principal, (principal) => {
      if (this.caller === principal) return Effect.void
      const first = this.caller === undefined ? this.journal.caller : ownerOf(this.caller)
      if (first !== undefined && first !== ownerOf(principal)) return Effect.fail(invalidState())
      this.caller = principal
      return Effect.void
    })
  }

  /** Returns the next round's journal, with the caller that it belongs to. */
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

  /** `server` is the server's name, because several servers may share their keys. */
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

  /** Runs `handler` for one round. Called right before the effect runs. */
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
      // Other fibers of the handler may be about to ask as well, and their questions belong to the same round.
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
        return yield* McpError.internalError(`The request asked for input more than ${rounds} times`)
      }
      const requestState = yield* (yield* this.seal).seal(journal, bindingOf(this.server, request))
      if (requestState.length > stateBytes) {
        return yield* McpError.internalError(
          `The request's state is larger than ${stateBytes} bytes (rounds.stateBytes)`
        )
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
      // The second use of a state waits for the first, and must be interruptible while waiting. The round itself needs an uninterruptible
      // fiber.
      return Effect.interruptible(this.guard.once(jti, expires, inOwnFiber(reply), callerOf(request)))
    })
  }
}
