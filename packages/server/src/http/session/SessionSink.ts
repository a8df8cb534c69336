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
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"
import type { HeldSession, SessionManager } from "./SessionManager.ts"
import type { Passive } from "../../dispatch/SessionFactory.ts"
import type { EventStore } from "../../session/EventStore.ts"
import { type EventLog, getStream, nameIn, ResumableStream, type StreamOwner } from "./ResumableStream.ts"
import { SessionLog } from "./SessionLog.ts"

/** Maximum number of ended streams that a session keeps for its clients. */
const maxRetired = 256
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

export class SessionSink implements Transport.Sink, StreamOwner {
  readonly config: SessionConfig
  private readonly of: SendingSession
  /** Responses that are waiting for answers, by request, or `undefined` if there are none. */
  private responses: BusyMap<JsonRpc.Id, Transport.Sink> | undefined = undefined
  /**
   * Stream for messages that don't relate to a request. `undefined` before the first such message and the first GET.
   */
  private getStream: ResumableStream | undefined = undefined
  /** Writes events to the store. `undefined` before the first stream, and if there is no store. */
  private log: SessionLog | undefined = undefined
  /** The POSTs' streams that can be resumed, by name: streams of running requests, and `retired` ones. */
  private streams: Map<string, ResumableStream> | undefined = undefined
  /** Names of the streams that have ended and are kept for `window`, oldest first. */
  private retired: Array<{ readonly name: string; readonly at: number }> | undefined = undefined
  /** Number of POSTs' streams so far. */
  private named = 0
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
    return this.log?.unkept ?? 0
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

  /** Called when a request that the response answers begins. */
  began(id: JsonRpc.Id, response: Transport.Sink): void {
    this.responses ??= new BusyMap()
    this.responses.set(id, response)
  }

  /** Called when a response's request has ended. An older response may settle late, when a newer response already uses the same id. */
  settled(id: JsonRpc.Id, response: Transport.Sink): void {
    if (this.responses?.get(id) !== response) return
    this.responses.delete(id)
    if (this.responses.size === 0) this.responses = undefined
    this.touch()
  }

  /** Interrupts one of the response's requests. */
  interrupt(id: JsonRpc.Id, response: Transport.Sink, reason: string): void {
    if (this.responses?.get(id) === response) this.of.session?.peer.interrupt(reason, id)
  }

  /** Ends a single POST's session in the next microtask, because the peer is still handling the answer. */
  answered(): void {
    if (this.config.sessionless) queueMicrotask(() => this.of.over())
  }

  /** Ends all responses and streams. Events stay in the store if another node may fetch them. */
  close(reason: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      for (const id of this.responses?.keys() ?? []) {
        this.responses?.get(id)?.send(JsonRpc.failure(id, McpError.interrupted(reason)), "control")
      }
      this.endGetStream()
      this.closed = true
      this.countUnread()
      const { log } = this
      if (log === undefined) return Effect.void
      return this.config.manager === undefined ? log.close : log.end
    })
  }

  // ---- streams

  /** Returns the standalone GET stream. */
  standaloneStream(): ResumableStream {
    if (this.getStream !== undefined) return this.getStream
    const name = nameIn(this.of.epoch, getStream)
    return (this.getStream = new ResumableStream({ name, log: this.logOf(name), owner: this }))
  }

  /** Opens a POST's stream. `ids` are the IDs of its requests. */
  openStream(owner: StreamOwner, ids: JsonRpc.Id | ReadonlyArray<JsonRpc.Id>): ResumableStream {
    const name = nameIn(this.of.epoch, (++this.named).toString(36))
    const requests = this.config.manager === undefined ? undefined : [ids].flat()
    const stream = new ResumableStream({ name, log: this.logOf(name), owner, requests })
    if (this.log !== undefined) (this.streams ??= new Map()).set(name, stream)
    return stream
  }

  private logOf(stream: string): EventLog | undefined {
    const { store } = this.config
    this.log ??= store && new SessionLog(store, this.of)
    return this.log?.of(stream)
  }

  /** Returns the stream with this name if it can be resumed. */
  findStream(name: string): ResumableStream | undefined {
    return name === this.getStream?.name ? this.getStream : this.streams?.get(name)
  }

  /** Keeps an ended stream for a while, because its client may not have received all of it. */
  retire({ name }: ResumableStream): void {
    if (this.log === undefined) return
    const retired = (this.retired ??= [])
    retired.push({ name, at: this.config.clock.currentTimeMillisUnsafe() })
    this.prune()
  }

  /** Forgets streams that have been kept long enough. */
  prune(): void {
    const { clock, window } = this.config
    const { retired = [] } = this
    const oldest = clock.currentTimeMillisUnsafe() - Duration.toMillis(window)
    for (let first = retired[0]; first !== undefined; first = retired[0]) {
      if (first.at > oldest && retired.length <= maxRetired) return
      retired.shift()
      this.streams?.delete(first.name)
      this.log?.forget(first.name)
    }
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
