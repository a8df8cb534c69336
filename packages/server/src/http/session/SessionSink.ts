/**
 * Sends a session's messages over HTTP. A message that relates to a running request is sent on the response to its
 * POST, and any other message on the standalone GET stream. No message is sent on both.
 *
 * Owns the session's responses and streams, and knows whether the session is in use.
 */
import { BusyMap, type Shares } from "@effect-mcp/core/internal/inFlight"
import * as Transport from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"
import type { HeldSession, SessionManager } from "./SessionManager.ts"
import type { Passive } from "../../dispatch/SessionFactory.ts"
import type { EventStore } from "../../session/EventStore.ts"
import { ResumableStreams } from "./ResumableStreams.ts"
import { type StreamOwner, ResumableStream } from "./ResumableStream.ts"
import type { ResponseOwner, SessionResponse } from "./SessionResponse.ts"
import { getStream, nameIn } from "./StreamName.ts"

/** Number of unread bytes that a session keeps, however much its caller holds in other sessions. */
const spared = 64 * 1024

/** Configuration shared by all of an endpoint's sessions. */
export interface SessionConfig extends Passive {
  /** Stores events for clients that reconnect. `undefined` if nothing can be resumed. */
  readonly store: EventStore["Service"] | undefined
  /** Size in bytes of the events waiting for `store`, in total and per caller. */
  readonly unwritten: Shares
  /** Number of bytes waiting in standalone GET streams without a client, in total and per caller. */
  readonly unread: Shares
  /** True if each session serves one POST, and ends with its answers. */
  readonly sessionless: boolean
  /** How long a client may be disconnected from a stream. */
  readonly window: Duration.Duration
  /** How long a request continues if its client cannot reconnect. */
  readonly grace: Duration.Duration
  /** How soon a client that was told to disconnect should reconnect. */
  readonly retry: Duration.Duration
  /** Called when a request continues without its POST (1), and when it ends (-1). `bytes` is the size of its body. */
  readonly leftBehind: (change: 1 | -1, caller: string, bytes: number) => void
  /** Shares the sessions with other nodes, or `undefined` if there are none. */
  readonly manager: SessionManager | undefined
}

/** The session that the messages belong to. */
export interface SendingSession extends HeldSession {
  readonly caller: string
  readonly config: SessionConfig
  readonly scope: Scope.Scope
  /** Called when the session ends on its own. */
  over(): void
  receive(inbound: Transport.RequestAborted): void
}

export class SessionSink implements Transport.Sink, StreamOwner, ResponseOwner {
  readonly config: SessionConfig
  private readonly of: SendingSession
  /** Responses that are waiting for answers, by request, or `undefined` if there are none. */
  private responses: BusyMap<JsonRpc.Id, SessionResponse> | undefined = undefined
  /**
   * Stream for messages that don't relate to a request. `undefined` before the first such message and the first GET.
   */
  private getStream: ResumableStream | undefined = undefined
  /** The POSTs' streams and the event log, or `undefined` before the first stream. */
  private streams: ResumableStreams | undefined = undefined
  /** Opens when a client reads `getStream`. */
  private joined: Latch.Latch | undefined = undefined
  /** Bytes that `config.unread` counts for this session. */
  private unread = 0
  /** True once `close` was called. */
  private closed = false
  /** Number of streams that currently have a body. */
  private connections = 0
  /** When a request last started or ended, or a connection last ended, in milliseconds on the Clock. */
  private used: number

  constructor(session: SendingSession) {
    this.of = session
    this.config = session.config
    this.used = session.config.clock.currentTimeMillisUnsafe()
  }

  get id(): string {
    return this.of.id
  }

  get caller(): string {
    return this.of.caller
  }

  /** Runs an effect that is interrupted when the session ends. */
  fork(effect: Effect.Effect<void>): Fiber.Fiber<void> {
    return Fiber.runIn(this.config.runFork(effect), this.of.scope)
  }

  // ---- messages

  /** True if clients may be told to disconnect and reconnect for the rest (since 2025-11-25). */
  get polls(): boolean {
    return this.config.store !== undefined && this.of.session?.negotiated?.revision.rules.polling === true
  }

  /**
   * Always true, because a message that relates to a request is sent on the request's response, which has separate
   * room.
   */
  writable(): boolean {
    return true
  }

  /** Waits until a client reads the standalone GET stream, and it has room. */
  get ready(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.getStream?.attached === true) return this.getStream.ready
      this.joined ??= Latch.makeUnsafe(false)
      // oxlint-disable-next-line unicorn/no-accessor-recursion -- each time waits for a client
      return Effect.andThen(this.joined.await, this.ready)
    })
  }

  /** Waits for room in the standalone GET stream while a client reads it. Without a client the oldest messages are dropped. */
  get room(): Effect.Effect<void> {
    return Effect.suspend(() => (this.getStream?.attached === true ? this.getStream.ready : Effect.void))
  }

  /** True if a client reads the standalone GET stream. */
  isRead(): boolean {
    return this.getStream?.attached === true
  }

  /** Waits until no client reads the standalone GET stream. */
  get left(): Effect.Effect<void> {
    return Effect.suspend(() => this.getStream?.left ?? Effect.void)
  }

  /** Counts only the standalone GET stream, because a response has separate room. */
  backlog(): number {
    return this.getStream?.backlog ?? 0
  }

  unkept(): number {
    return this.streams?.log?.unkept ?? 0
  }

  send(message: JsonRpc.Message | ReadonlyArray<JsonRpc.Message>, _lane: Transport.Lane, relatedTo?: JsonRpc.Id): void {
    for (const one of JsonRpc.isBatch(message) ? message : [message]) {
      const response = relatedTo === undefined ? undefined : this.responses?.get(relatedTo)
      if (response !== undefined) response.send(one, "data")
      else this.sendAlone(one, relatedTo)
    }
  }

  /** Sends a message that belongs to no response. */
  private sendAlone(message: JsonRpc.Message, relatedTo: JsonRpc.Id | undefined): void {
    if (JsonRpc.isRequest(message) && (relatedTo !== undefined || this.getStream?.wasAttached !== true)) {
      // The question must not wait for a stream that may never be opened.
      this.unanswered(message.id, true)
    } else if (!this.config.sessionless) this.write(JsonRpc.encode(message))
  }

  /**
   * Writes to the standalone stream. If no client is reading it and its caller holds too much, the oldest messages are
   * dropped, down to `spared` bytes.
   */
  private write(text: string): void {
    const stream = this.standaloneStream()
    stream.write(text)
    if (stream.attached) return
    this.countUnread()
    const isTooMuch = () => this.unread > spared && this.config.unread.exceededBy(this.caller, 0) !== undefined
    while (isTooMuch() && stream.dropOldest()) this.countUnread()
  }

  private countUnread(): void {
    const { caller, config, getStream } = this
    const now = this.closed || getStream === undefined || getStream.attached ? 0 : getStream.backlog
    if (now !== this.unread) config.unread.add(caller, now - this.unread)
    this.unread = now
  }

  /** Fails a question that no client can answer. */
  unanswered(id: JsonRpc.Id, unsent: boolean): void {
    const message = "The client has disconnected from the request that asked the question"
    const error = new Transport.TransportError({ reason: "Write", message })
    this.of.receive({ _tag: "RequestAborted", id, error, unsent })
  }

  // ---- requests

  get running(): number {
    return this.responses?.size ?? 0
  }

  isRunning(id: JsonRpc.Id): boolean {
    return this.responses?.has(id) === true
  }

  began(id: JsonRpc.Id, response: SessionResponse): void {
    this.responses ??= new BusyMap()
    this.responses.set(id, response)
  }

  /** An older response may settle late, when a newer response already uses the same id. */
  settled(id: JsonRpc.Id, response: SessionResponse): void {
    if (this.responses?.get(id) !== response) return
    this.responses.delete(id)
    if (this.responses.size === 0) this.responses = undefined
    this.touch()
  }

  interrupt(id: JsonRpc.Id, response: SessionResponse, reason: string): void {
    if (this.responses?.get(id) === response && this.of.session?.peer.interrupt(reason, id) !== true)
      this.refuse(id, reason)
  }

  /** Answers a request that the peer does not know, because a customized transport has not delivered it. */
  private refuse(id: JsonRpc.Id, reason: string): void {
    this.responses?.get(id)?.send(JsonRpc.failure(id, McpError.interrupted(reason)), "control")
  }

  /** Ends a single POST's session in the next microtask, because the peer is still handling the answer. */
  answered(): void {
    if (this.config.sessionless) queueMicrotask(() => this.of.over())
  }

  /** Ends all responses and streams. Events stay in the store if another node may fetch them. */
  close(reason: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      for (const id of this.responses?.keys() ?? []) this.refuse(id, reason)
      this.endGetStream()
      this.closed = true
      this.countUnread()
      const log = this.streams?.log
      if (log === undefined) return Effect.void
      return this.config.manager === undefined ? log.close : log.end
    })
  }

  // ---- streams

  /** Returns the name of a stream, which no other node uses for a stream of this session. */
  nameOf(stream: string): string {
    return nameIn(this.of.epoch, stream)
  }

  /** Returns the standalone GET stream. */
  standaloneStream(): ResumableStream {
    if (this.getStream !== undefined) return this.getStream
    const name = this.nameOf(getStream)
    return (this.getStream = new ResumableStream({ name, log: this.kept.logOf(name), owner: this }))
  }

  /** Opens a POST's stream. `ids` are the IDs of its requests. */
  openStream(owner: StreamOwner, ids: JsonRpc.Id | ReadonlyArray<JsonRpc.Id>): ResumableStream {
    return this.kept.open(owner, ids)
  }

  /** Returns the stream with this name if it can be resumed. */
  findStream(name: string): ResumableStream | undefined {
    return name === this.getStream?.name ? this.getStream : this.streams?.find(name)
  }

  private get kept(): ResumableStreams {
    return (this.streams ??= new ResumableStreams(this))
  }

  /** Keeps an ended stream for a while, because its client may not have received all of it. */
  retire(stream: ResumableStream): void {
    this.streams?.retire(stream)
  }

  /** Forgets streams that have been kept long enough. */
  prune(): void {
    this.streams?.prune()
  }

  /** Ends the standalone GET stream after its last event. */
  endGetStream(): void {
    this.getStream?.end()
  }

  // ---- whether it is used

  /** Called when a stream gets a body and had none. */
  attached(): void {
    this.connections++
    if (this.getStream?.attached !== true) return
    this.countUnread()
    this.joined?.openUnsafe()
    this.joined = undefined
  }

  /** Called when a stream has lost its body. */
  detached(): void {
    this.connections--
    this.countUnread()
    this.touch()
  }

  /** Marks the session as used now. */
  touch(): void {
    this.used = this.config.clock.currentTimeMillisUnsafe()
  }

  /** When the last request or stream ended, or `undefined` while one is active. */
  get idleSince(): number | undefined {
    return this.connections > 0 || this.running > 0 ? undefined : this.used
  }
}
