/**
 * Streamable HTTP as a client speaks it (spec: basic/transports, Streamable HTTP), in every revision that has it: each message is a
 * POST of its own, and what the server says comes as the answers to them, or on the session's own stream.
 *
 * Owns the order of what leaves, and every exchange as a fiber. Refuses to wait for what cannot come any more.
 */
import { BusyMap } from "@effect-mcp/core/internal/BusyMap"
import { Fibers } from "@effect-mcp/core/internal/Fibers"
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
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { Hub } from "../../internal/Hub.ts"
import * as Body from "./Body.ts"
import { type Answered, placeOf } from "./Denial.ts"
import * as Exchange from "./Exchange.ts"
import * as SessionExpired from "./SessionExpired.ts"
import * as ResumeStream from "./ResumeStream.ts"
import * as Refusal from "./Refusal.ts"
import * as SendBudget from "./SendBudget.ts"
import * as SameOrigin from "./SameOrigin.ts"
import type * as ServerEraCache from "./ServerEraCache.ts"

export interface Options extends SendBudget.Options {
  /** How to go on with streams whose connection ended. */
  readonly resume?: ResumeStream.Options | undefined
  /** The largest message that is read, in bytes; on a stream of events in characters. Default 4 Mi. */
  readonly maxMessageBytes?: number | undefined
  /** The deepest nesting of a message that is read; a request whose answer is deeper fails with -32600. Default 256. */
  readonly maxMessageDepth?: number | undefined
}

export interface Parts extends Pick<Exchange.Conversation, "endpoint" | "fallback"> {
  /** Told what the server speaks, once that is certain. */
  readonly learned: (what: ServerEraCache.KnownTransport | "stateless") => void
}

type Told = JsonRpc.Notification | JsonRpc.Response | ReadonlyArray<JsonRpc.Message>

/** How long what follows a notification waits for it to be accepted. */
const acceptTimeout = "1 second"
/** How long the end waits for what was said last, and then for the session to be ended. */
const closeTimeout = "1 second"
/** How long the end of a session waits for other requests to meet it, too. */
const drainTimeout = "5 seconds"

/** How that is posted again which the server waits for and may hear twice, unless it was refused. */
const retryPolicy = {
  times: 8,
  schedule: Schedule.jittered(Schedule.exponential("100 millis")),
  // A connection that broke has no status.
  while: ({ error: { status = 500 } }: Refusal.ExchangeFailure) => status >= 500
}

const isAnswer = (message: Told): boolean =>
  JsonRpc.isBatch(message) ? message.every(JsonRpc.isResponse) : JsonRpc.isResponse(message)

/** What a message without an answer is called in errors. */
const nameOf = (message: Told): string =>
  JsonRpc.isBatch(message) ? "a batch" : "method" in message ? message.method : "an answer"

/** Fails with why what has no answer was not accepted. */
const accepted = (
  response: HttpClientResponse,
  method: string,
  url: URL,
  inSession: boolean
): Effect.Effect<void, Refusal.ExchangeFailure> => {
  const { status } = response
  const answered = (body: string): Answered => ({ method, url, response, body })
  if (status >= 200 && status < 300) return Effect.void
  if (inSession && SessionExpired.isCandidate(status)) {
    return Effect.flatMap(SessionExpired.read(response), (body) =>
      Effect.fail((SessionExpired.matches(body) ? Refusal.sessionForgotten : Refusal.refused)(answered(body)))
    )
  }
  const gone = inSession && status === 404
  const refusal = gone ? Refusal.sessionLost(true) : Refusal.refused(answered(""))
  return Effect.andThen(Body.skip(response), Effect.fail(refusal))
}

/** The transport, for as long as the scope. */
export const make = Effect.fnUntraced(function* (
  { endpoint, fallback, learned }: Parts,
  options: Options
): Effect.fn.Return<Transport, never, Scope.Scope> {
  const { maxMessageBytes: limit = Framing.defaultMaxMessageBytes, maxMessageDepth: maxDepth } = options
  const runFork = Effect.runForkWith(SameOrigin.prepare(yield* Effect.context<never>()))
  const incoming = yield* Queue.bounded<Inbound, TransportError | Cause.Done>(256)
  const reconnect = new ResumeStream.ResumeStream(
    endpoint,
    limit,
    options.resume ?? (yield* ResumeStream.Resume),
    maxDepth
  )
  const room = new SendBudget.SendBudget(options)
  const missed = new Hub<void>()
  const exchanges = new BusyMap<JsonRpc.Id, Exchange.Exchange>()
  const fibers = new Fibers()
  const telling = new Fibers()
  /** Passes once the notifications so far were accepted, or took too long. */
  let gate: Effect.Effect<void> = Effect.void
  /** Only a session is told anything beside requests. */
  let handshaking = false
  let over = false
  /** By what the session was lost. */
  let lost: Refusal.ExchangeFailure | undefined
  let other: Sink | undefined
  /** Keeps the session's own stream. */
  let listener: Fiber.Fiber<void> | undefined
  let older = false

  /** A server that was not asked for the new era may still be of it. */
  const learn = (what: Exchange.Learned): void => {
    if (what === "older") older = true
    else if (older || what === "stateless") learned(what)
  }

  const run = (effect: Effect.Effect<void>, among = fibers): Fiber.Fiber<void> => {
    const fiber = runFork(effect)
    among.add(fiber)
    return fiber
  }
  const deliver = (inbound: Inbound): Effect.Effect<void> =>
    Queue.offerUnsafe(incoming, inbound) ? Effect.void : Effect.asVoid(Queue.offer(incoming, inbound))
  const end = (): void => {
    over = true
    room.open()
    missed.close(Exit.void)
  }
  const fail = (error: TransportError): void => {
    end()
    Queue.failCauseUnsafe(incoming, Cause.fail(error))
  }

  /** The end of the session is that of the conversation; but first, every request that met it is told that nothing was done. */
  const lose = (refusal: Refusal.ExchangeFailure) =>
    Effect.sync(() => {
      if (lost !== undefined) return
      lost = { ...refusal, unsent: true }
      endpoint.session = undefined
      const met = exchanges.values().map(({ accepted }) => Deferred.await(accepted))
      const all = Effect.timeoutOption(Effect.all(met, { concurrency: "unbounded", discard: true }), drainTimeout)
      run(Effect.map(all, () => fail(refusal.error)))
    })

  const unanswered = (id: JsonRpc.Id, refusal: Refusal.ExchangeFailure): Effect.Effect<void> => {
    const { error, unsent } = refusal
    const told = deliver({ _tag: "RequestAborted", id, error, unsent })
    return error.reason === "SessionLost" ? Effect.andThen(told, lose(refusal)) : told
  }

  /** From now on everything is said over another wire, beginning with this. */
  const handOver = (transport: Transport, request: JsonRpc.Request): void => {
    learn("sse")
    other = transport.sink
    const ended = Stream.runForEach(transport.incoming, deliver).pipe(
      Effect.raceFirst(transport.broken),
      Effect.matchEffect({
        onFailure: (error) => Effect.sync(() => fail(error)),
        onSuccess: () => Effect.asVoid(Queue.end(incoming))
      })
    )
    run(ended)
    transport.sink.send(request, "data")
  }
  const conversation: Exchange.Conversation = {
    endpoint,
    reconnect,
    limit,
    maxDepth,
    deliver,
    learned: learn,
    fallback,
    handOver
  }

  const ask = (request: JsonRpc.Request, headers: RequestHeaders | undefined): void => {
    const { id, method } = request
    if (method === "initialize") {
      handshaking = true
      // Another session has a stream of its own.
      listener?.interruptUnsafe()
      endpoint.session = undefined
      endpoint.version = undefined
      reconnect.reset()
    }
    const exchange = Exchange.make(request, headers, ({ text }) => room.release("data", text.length))
    exchanges.set(id, exchange)
    room.take("data", exchange.text.length)
    // The session may end while this waits for its turn.
    const going = Effect.suspend(() => (lost === undefined ? Exchange.run(conversation, exchange) : Effect.fail(lost)))
    // An interruption that is caught is none of ours: somebody's HTTP client gave up.
    const outcome = Effect.catchCause(gate === Effect.void ? going : Effect.andThen(gate, going), (cause) => {
      const refusal = Option.getOrElse(Cause.findErrorOption(cause), () => Refusal.unanswered(Cause.pretty(cause)))
      return unanswered(id, refusal)
    })
    const fiber = (exchange.fiber = run(outcome))
    fiber.addObserver(() => {
      exchanges.delete(id)
      exchange.accept()
    })
  }

  /** What the server has to say without being asked, for as long as it gives a stream for that. */
  const stand = (begun: () => void) =>
    Effect.flatMap(
      reconnect.standalone(deliver, () => missed.publish(undefined), begun),
      (ended) => (ended === "Gone" ? lose(Refusal.sessionLost(true)) : Effect.void)
    )

  /**
   * Posts what has no answer. Nothing overtakes a notification, except after one that cancels. Nothing overtakes the session's own
   * stream either: what the server asks there about the first request would be lost.
   */
  const tell = (message: Told, lane: Lane): void => {
    if (!handshaking) return
    const text = JsonRpc.isBatch(message) ? `[${message.map(JsonRpc.encode).join(",")}]` : JsonRpc.encode(message)
    if (!room.take(lane, text.length)) {
      return fail(new TransportError({ reason: "Overflow", message: "The other side takes no answers" }))
    }
    const before = gate
    const done = Deferred.makeUnsafe<void>()
    const mine = Effect.asVoid(Effect.timeoutOption(Deferred.await(done), acceptTimeout))
    if (!JsonRpc.isBatch(message) && "method" in message && message.method !== "notifications/cancelled") gate = mine
    const settle = (): void => {
      Deferred.doneUnsafe(done, Effect.void)
      if (gate === mine) gate = Effect.void
    }
    const opens = !JsonRpc.isBatch(message) && "method" in message && message.method === "notifications/initialized"
    let standing = false
    const session = endpoint.session
    const post = Effect.suspend((): Effect.Effect<HttpClientResponse, Refusal.ExchangeFailure> =>
      lost === undefined
        ? Effect.mapError(endpoint.post(message, text), (error) =>
            Refusal.unreachable(error, nameOf(message), endpoint.url)
          )
        : Effect.fail(lost)
    ).pipe(Effect.tap((response) => accepted(response, nameOf(message), endpoint.url, session !== undefined)))
    const posted = Effect.matchEffect(opens || isAnswer(message) ? Effect.retry(post, retryPolicy) : post, {
      onFailure: (refusal) => (refusal.error.reason === "SessionLost" ? lose(refusal) : undelivered(refusal)),
      onSuccess: (response) => {
        standing = opens
        if (opens) listener = run(stand(settle))
        return Body.skip(response)
      }
    })
    run(
      Effect.onExit(Effect.andThen(before, posted), () =>
        Effect.sync(() => {
          room.release(lane, text.length)
          if (!standing) settle()
        })
      ),
      telling
    )
  }
  const undelivered = ({ error }: Refusal.ExchangeFailure) => Effect.logWarning(`MCP client: ${error.message}`)

  const cancel = (message: JsonRpc.Notification, lane: Lane): void => {
    const id = message.params?.requestId
    const exchange = JsonRpc.isId(id) ? exchanges.get(id) : undefined
    exchange?.fiber?.interruptUnsafe()
    // Hanging up says it, where there is no session; and what has not left need not be taken back.
    if (exchange === undefined || (exchange.begun && !exchange.stateless)) tell(message, lane)
  }

  const send: Sink["send"] = (message, lane, relatedTo, headers) => {
    if (other !== undefined) return other.send(message, lane, relatedTo, headers)
    if (over) return
    if (JsonRpc.isBatch(message)) tell(message, lane)
    else if (JsonRpc.isRequest(message)) ask(message, headers)
    else if ("method" in message && message.method === "notifications/cancelled") cancel(message, lane)
    else tell(message, lane)
  }

  const close = Effect.suspend(() => {
    end()
    const bounded = (effect: Effect.Effect<unknown, unknown>) =>
      Effect.ignore(Effect.timeoutOption(Effect.interruptible(effect), closeTimeout))
    return bounded(Effect.suspend(() => Fiber.awaitAll(telling.all()))).pipe(
      Effect.andThen(Effect.suspend(() => Fiber.interruptAll([...fibers.all(), ...telling.all()]))),
      Effect.andThen(Effect.suspend(() => (endpoint.session === undefined ? Effect.void : bounded(endpoint.remove()))))
    )
  })
  yield* Effect.addFinalizer(() => close)

  return {
    incoming: Stream.fromQueue(incoming),
    sink: {
      send,
      writable: () => over || (other?.writable() ?? room.writable),
      ready: Effect.suspend(() => other?.ready ?? room.ready)
    },
    broken: Effect.never,
    missed: missed.stream(1),
    headers: true,
    address: placeOf(endpoint.url)
  }
})
