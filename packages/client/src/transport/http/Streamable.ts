/**
 * The client side of Streamable HTTP (spec: basic/transports, Streamable HTTP), in every revision that has it: each message is a POST, and
 * the server's messages arrive in the responses or on the session's standalone stream.
 *
 * Keeps the order of the POSTs, and runs each exchange in a fiber.
 */
import { textOf } from "@effect-mcp/core/internal/calling"
import { BusyMap, Fibers } from "@effect-mcp/core/internal/inFlight"
import * as Framing from "@effect-mcp/core/Framing"
import {
  type Inbound,
  type Lane,
  type RequestHeaders,
  type Sink,
  type Transport,
  TransportError
} from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { Hub } from "../../internal/Hub.ts"
import * as Body from "./Body.ts"
import { placeOf } from "./Endpoint.ts"
import * as Exchange from "./Exchange.ts"
import * as ExchangeFailure from "./ExchangeFailure.ts"
import type { HttpConversation, Learned, PostExchange } from "./HttpConversation.ts"
import * as OneWayMessage from "./OneWayMessage.ts"
import { post } from "./OneWayPost.ts"
import * as Resume from "./Resume.ts"
import { ResumeStream } from "./ResumeStream.ts"
import * as SendBudget from "./SendBudget.ts"
import type * as ServerEraCache from "./ServerEraCache.ts"

export interface Options extends SendBudget.Options {
  /** How to resume streams whose connections ended. Default: the reference `Resume`. */
  readonly resume?: Resume.Options | undefined
  /** Maximum size of a message to read, in bytes, or in characters on an event stream. Default 16 Mi. */
  readonly maxMessageBytes?: number | undefined
  /** Maximum nesting depth of a message to read. A request whose answer is nested deeper fails with -32600. Default 256. */
  readonly maxMessageDepth?: number | undefined
}

interface Connection extends Pick<HttpConversation, "endpoint" | "fallback"> {
  /** Called with the server's transport or era, once it is certain. */
  readonly learned: (what: ServerEraCache.KnownTransport | "stateless") => void
}

/** How long later messages wait for a notification to be accepted. */
const acceptTimeout = "1 second"
/** Time limits for closing the transport: first for the last messages, then for closing the session. */
const closeTimeout = "1 second"
/** How long a lost session waits for other requests to receive the same rejection. */
const drainTimeout = "5 seconds"

type State =
  | { readonly _tag: "Open" }
  /** The server has closed the session. Requests fail with `failure` until the requests in flight have received it as well. */
  | { readonly _tag: "SessionLost"; readonly failure: ExchangeFailure.ExchangeFailure }
  /** The server uses the older transport, and every message goes there. */
  | { readonly _tag: "HandedOver"; readonly sink: Sink }
  | { readonly _tag: "Closed"; readonly failure: ExchangeFailure.ExchangeFailure | undefined }

interface Parts extends Connection {
  readonly runFork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  readonly incoming: Queue.Queue<Inbound, TransportError | Cause.Done>
  readonly resume: Resume.Options
  readonly budget: SendBudget.SendBudget
  readonly limit: number
  readonly maxDepth: number | undefined
}

class StreamableWire {
  readonly missed = new Hub<void>()
  private state: State = { _tag: "Open" }
  private readonly parts: Parts
  private readonly conversation: HttpConversation
  private readonly exchanges = new BusyMap<JsonRpc.Id, PostExchange>()
  private readonly fibers = new Fibers()
  /** Pending POSTs of messages without an answer, which closing the transport waits for. */
  private readonly oneWayFibers = new Fibers()
  /** Completes once all notifications so far have been accepted or timed out. */
  private accepted: Effect.Effect<void> = Effect.void
  /** True if `initialize` was sent. Without a session, only stateless requests and notifications are posted. */
  private inSession = false
  private standaloneStream: Fiber.Fiber<void> | undefined = undefined
  /** The session's streams, once a stream is read or resumed. */
  private resumeStream: ResumeStream | undefined = undefined
  /** True if the server rejected the stateless era. */
  private isOlder = false

  constructor(parts: Parts) {
    const { endpoint, fallback, limit, maxDepth } = parts
    this.parts = parts
    this.conversation = {
      endpoint,
      resume: (...options) => Effect.suspend(() => this.streams.resume(...options)),
      limit,
      maxDepth,
      fallback,
      deliver: (inbound) => this.deliver(inbound),
      learned: (what) => this.learn(what),
      handOver: (transport, request) => this.handOver(transport, request)
    }
  }

  readonly sink: Sink = {
    send: (message, lane, relatedTo, headers) => {
      const { state } = this
      if (state._tag === "HandedOver") return state.sink.send(message, lane, relatedTo, headers)
      if (state._tag === "Closed") return
      if (JsonRpc.isBatch(message)) this.sendOneWay(message, lane)
      else if (JsonRpc.isRequest(message)) this.sendRequest(message, headers)
      else if ("method" in message && message.method === "notifications/cancelled") this.cancel(message, lane)
      else this.sendOneWay(message, lane)
    },
    writable: () => {
      const { state } = this
      return (
        state._tag === "Closed" || (state._tag === "HandedOver" ? state.sink.writable() : this.parts.budget.writable)
      )
    },
    ready: Effect.suspend(() => (this.state._tag === "HandedOver" ? this.state.sink.ready : this.parts.budget.ready))
  }

  /** Closes the transport: sends the messages that are accepted in time, ends every exchange, then closes the session. */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    const { endpoint } = this.parts
    this.end()
    const bounded = (effect: Effect.Effect<unknown, unknown>) =>
      Effect.ignore(Effect.timeoutOption(Effect.interruptible(effect), closeTimeout))
    return bounded(Effect.suspend(() => Fiber.awaitAll(this.oneWayFibers.all()))).pipe(
      Effect.andThen(Effect.suspend(() => Fiber.interruptAll([...this.fibers.all(), ...this.oneWayFibers.all()]))),
      Effect.andThen(Effect.suspend(() => (endpoint.session === undefined ? Effect.void : bounded(endpoint.remove()))))
    )
  })

  private run(effect: Effect.Effect<void>, among = this.fibers): Fiber.Fiber<void> {
    const fiber = this.parts.runFork(effect)
    among.add(fiber)
    return fiber
  }

  private deliver(inbound: Inbound): Effect.Effect<void> {
    const { incoming } = this.parts
    return Queue.offerUnsafe(incoming, inbound) ? Effect.void : Effect.asVoid(Queue.offer(incoming, inbound))
  }

  /** The failure with which the session was lost. */
  private get lost(): ExchangeFailure.ExchangeFailure | undefined {
    return this.state._tag === "SessionLost" || this.state._tag === "Closed" ? this.state.failure : undefined
  }

  /** Remembers the transport of an older server only once it has rejected the stateless era. */
  private learn(what: Learned): void {
    if (what === "older") this.isOlder = true
    else if (this.isOlder || what === "stateless") this.parts.learned(what)
  }

  private end(): void {
    this.state = { _tag: "Closed", failure: this.lost }
    this.parts.budget.open()
    this.missed.close(Exit.void)
  }

  private fail(error: TransportError): void {
    this.end()
    Queue.failCauseUnsafe(this.parts.incoming, Cause.fail(error))
  }

  /**
   * Fails the transport once every request in flight has received the same rejection, so that for each request it is known whether the
   * server has seen it.
   */
  private loseSession(failure: ExchangeFailure.ExchangeFailure): Effect.Effect<void> {
    return Effect.sync(() => {
      if (this.lost !== undefined) return
      this.parts.endpoint.session = undefined
      if (this.state._tag !== "Open") return
      this.state = { _tag: "SessionLost", failure: { ...failure, unsent: true } }
      const met = this.exchanges.values().map(({ accepted }) => Deferred.await(accepted))
      const all = Effect.timeoutOption(Effect.all(met, { concurrency: "unbounded", discard: true }), drainTimeout)
      this.run(Effect.map(all, () => this.fail(failure.error)))
    })
  }

  /** Sends every message over the older transport from now on, starting with `request`. */
  private handOver(transport: Transport, request: JsonRpc.Request): void {
    this.learn("sse")
    this.state = { _tag: "HandedOver", sink: transport.sink }
    const ended = Stream.runForEach(transport.incoming, (inbound) => this.deliver(inbound)).pipe(
      Effect.raceFirst(transport.broken),
      Effect.matchEffect({
        onFailure: (error) => Effect.sync(() => this.fail(error)),
        onSuccess: () => Effect.asVoid(Queue.end(this.parts.incoming))
      })
    )
    this.run(ended)
    transport.sink.send(request, "data")
  }

  /** Forgets the previous session and its standalone stream. */
  private beginSession(): void {
    this.inSession = true
    this.standaloneStream?.interruptUnsafe()
    this.parts.endpoint.forgetSession()
    this.resumeStream = undefined
  }

  private sendRequest(request: JsonRpc.Request, headers: RequestHeaders | undefined): void {
    const { id, method } = request
    const { accepted } = this
    const { budget } = this.parts
    if (method === "initialize") this.beginSession()
    const exchange = Exchange.make(request, headers, ({ text }) => budget.release("data", text.length))
    this.exchanges.set(id, exchange)
    budget.take("data", exchange.text.length)
    // The session may be lost while the request waits for earlier notifications.
    const sending = Effect.suspend(() => {
      const { lost } = this
      if (lost !== undefined) return Effect.fail(lost)
      // An invalid option for the session's streams fails the request that would open the session.
      if (method === "initialize") void this.streams
      return Exchange.run(this.conversation, exchange)
    })
    // A cause without an error is an interruption by the HTTP client, because the fiber's own interruption is not caught.
    const outcome = Effect.catchCause(accepted === Effect.void ? sending : Effect.andThen(accepted, sending), (cause) =>
      this.abort(
        id,
        Option.getOrElse(Cause.findErrorOption(cause), () => ExchangeFailure.unanswered(textOf(cause)))
      )
    )
    const fiber = (exchange.fiber = this.run(outcome))
    fiber.addObserver(() => {
      this.exchanges.delete(id)
      exchange.accept()
    })
  }

  private abort(id: JsonRpc.Id, failure: ExchangeFailure.ExchangeFailure): Effect.Effect<void> {
    const { error, unsent } = failure
    const aborted = this.deliver({ _tag: "RequestAborted", id, error, unsent })
    return error.reason === "SessionLost" ? Effect.andThen(aborted, this.loseSession(failure)) : aborted
  }

  /** Posts a message without an answer. Later messages wait for notifications, but not for cancellations. */
  private sendOneWay(message: OneWayMessage.OneWayMessage, lane: Lane): void {
    if (!this.inSession && !OneWayMessage.isAlone(message)) return
    const { budget, endpoint } = this.parts
    const text = OneWayMessage.encode(message)
    if (!budget.take(lane, text.length)) {
      return this.fail(new TransportError({ reason: "Overflow", message: "The other side does not accept responses" }))
    }
    const { accepted: before } = this
    const settled = Deferred.makeUnsafe<void>()
    const accepted = Effect.asVoid(Effect.timeoutOption(Deferred.await(settled), acceptTimeout))
    if (OneWayMessage.isNotification(message) && message.method !== "notifications/cancelled") this.accepted = accepted
    const settle = (): void => {
      Deferred.doneUnsafe(settled, Effect.void)
      if (this.accepted === accepted) this.accepted = Effect.void
    }
    const opensSession = OneWayMessage.opensSession(message)
    let opening = false
    const posted = post(endpoint, message, text, () => this.lost).pipe(
      Effect.flatMap((response) => {
        opening = opensSession
        if (opensSession) this.standaloneStream = this.run(this.runStandaloneStream(settle))
        return Body.skip(response)
      }),
      Effect.catch((failure) =>
        failure.error.reason === "SessionLost"
          ? this.loseSession(failure)
          : Effect.logWarning(`MCP client: ${failure.error.message}`)
      )
    )
    const exit = Effect.sync(() => {
      budget.release(lane, text.length)
      // Requests also wait for the standalone stream, because questions about the first request may arrive there.
      if (!opening) settle()
    })
    this.run(
      Effect.onExit(Effect.andThen(before, posted), () => exit),
      this.oneWayFibers
    )
  }

  /**
   * Reads the session's standalone stream for as long as the server provides one. `opened` is called once that is decided, or when another
   * handshake ends the stream first.
   */
  private runStandaloneStream(opened: () => void): Effect.Effect<void> {
    const standalone = this.streams.standalone(
      (inbound) => this.deliver(inbound),
      () => this.missed.publish(undefined),
      opened
    )
    return Effect.flatMap(Effect.ensuring(standalone, Effect.sync(opened)), (ended) =>
      ended === "Gone" ? this.loseSession(ExchangeFailure.sessionLost(true)) : Effect.void
    )
  }

  private get streams(): ResumeStream {
    const { endpoint, limit, maxDepth, resume } = this.parts
    return (this.resumeStream ??= new ResumeStream(endpoint, limit, resume, maxDepth))
  }

  private cancel(message: JsonRpc.Notification, lane: Lane): void {
    const id = message.params?.requestId
    const exchange = JsonRpc.isId(id) ? this.exchanges.get(id) : undefined
    exchange?.fiber?.interruptUnsafe()
    // Closing the response cancels a stateless request. A request that was not sent needs no cancellation.
    if (exchange === undefined || (exchange.begun && !exchange.stateless)) this.sendOneWay(message, lane)
  }
}

/** Creates the transport, which closes with the scope. */
export const make = Effect.fnUntraced(function* (
  connection: Connection,
  options: Options
): Effect.fn.Return<Transport, never, Scope.Scope> {
  const { endpoint } = connection
  const { maxMessageBytes: limit = Framing.defaultMaxAnswerBytes, maxMessageDepth: maxDepth } = options
  const resume = options.resume ?? (yield* Resume.Resume)
  const incoming = yield* Queue.bounded<Inbound, TransportError | Cause.Done>(256)
  const wire = new StreamableWire({
    ...connection,
    runFork: Effect.runForkWith(yield* Effect.context<never>()),
    incoming,
    resume,
    budget: new SendBudget.SendBudget(options),
    limit,
    maxDepth
  })
  yield* Effect.addFinalizer(() => wire.close)
  return {
    incoming: Stream.fromQueue(incoming),
    sink: wire.sink,
    broken: Effect.never,
    missed: wire.missed.stream(1),
    headers: true,
    address: placeOf(endpoint.url)
  }
})
