/**
 * Where the messages of a session leave over HTTP: a message that relates to a running request on the response of its POST, any other on
 * the standalone GET stream, never on both.
 *
 * Owns the responses and streams of the session, and whether the session is in use.
 */
import { BusyMap } from "@effect-mcp/core/internal/BusyMap"
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
import { KeptStreams } from "./KeptStreams.ts"
import { type StreamOwner, ResumableStream } from "./ResumableStream.ts"
import type { ResponseOwner, SessionResponse } from "./SessionResponse.ts"
import { getStream, nameIn } from "./StreamName.ts"

/** What the sessions of an endpoint have in common. */
export interface SessionConfig extends Passive {
  /** Where events are kept for clients that come back, or `undefined` if nothing can be resumed. */
  readonly store: EventStore["Service"] | undefined
  /** Whether a session serves one POST, and ends with its answers. */
  readonly sessionless: boolean
  /** How long a client may stay away from a stream. */
  readonly window: Duration.Duration
  /** How long a request runs on if its client cannot come back. */
  readonly grace: Duration.Duration
  /** When a client that is sent away is told to come back. */
  readonly retry: Duration.Duration
  /** Called when a request runs on without its POST (1), and at its end (-1). `bytes`: of its body. */
  readonly leftBehind: (change: 1 | -1, caller: string, bytes: number) => void
  /** Shares the sessions with other nodes, or `undefined` if there are none. */
  readonly manager: SessionManager | undefined
}

/** The session that the messages are of. */
export interface SendingSession extends HeldSession {
  readonly caller: string
  readonly config: SessionConfig
  readonly scope: Scope.Scope
  /** Called when the session ends by itself. */
  over(): void
  receive(inbound: Transport.RequestAborted): void
}

export class SessionSink implements Transport.Sink, StreamOwner, ResponseOwner {
  readonly config: SessionConfig
  private readonly of: SendingSession
  /** The responses that wait for answers, by request; undefined while there is none. */
  private responses: BusyMap<JsonRpc.Id, SessionResponse> | undefined = undefined
  /** The stream for messages that relate to no request. Undefined before the first of them, and before the first GET. */
  private getStream: ResumableStream | undefined = undefined
  /** The streams of POSTs, and where events are kept; undefined before the first stream. */
  private streams: KeptStreams | undefined = undefined
  /** Opened when a client reads `getStream`. */
  private joined: Latch.Latch | undefined = undefined
  /** How many streams have a body now. */
  private connections = 0
  /** When a request, or the end of one or of a connection, was last seen: milliseconds of the clock. */
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

  /** Runs for at most as long as the session. */
  fork(effect: Effect.Effect<void>): Fiber.Fiber<void> {
    return Fiber.runIn(this.config.runFork(effect), this.of.scope)
  }

  // ---- messages

  /** Whether clients may be sent away to come back for the rest (2025-11-25 on). */
  get polls(): boolean {
    return this.config.store !== undefined && this.of.session?.negotiated?.revision.rules.polling === true
  }

  /** Always: a message that relates to a request goes to its response, which has room of its own. */
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

  /** Waits for room in the standalone GET stream while a client reads it. Without one the oldest messages are dropped. */
  get room(): Effect.Effect<void> {
    return Effect.suspend(() => (this.getStream?.attached === true ? this.getStream.ready : Effect.void))
  }

  /** Whether a client reads the standalone GET stream. */
  isRead(): boolean {
    return this.getStream?.attached === true
  }

  /** Waits until no client reads the standalone GET stream. */
  get left(): Effect.Effect<void> {
    return Effect.suspend(() => this.getStream?.left ?? Effect.void)
  }

  /** Of the standalone GET stream: a response has room of its own. */
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

  /** Sends what belongs to no response. */
  private sendAlone(message: JsonRpc.Message, relatedTo: JsonRpc.Id | undefined): void {
    if (JsonRpc.isRequest(message) && (relatedTo !== undefined || this.getStream?.wasAttached !== true)) {
      // It must not wait for a stream that may never be opened.
      this.unanswered(message.id, true)
    } else if (!this.config.sessionless) this.standaloneStream().write(JsonRpc.encode(message))
  }

  /** Fails a question of the server that no client can answer. */
  unanswered(id: JsonRpc.Id, unsent: boolean): void {
    const message = "The connection of the request that asks is gone"
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

  /** An older response may settle late: its id may be that of a newer one. */
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

  /** Answers a request that the peer does not know: a changed transport has not delivered it. */
  private refuse(id: JsonRpc.Id, reason: string): void {
    this.responses?.get(id)?.send(JsonRpc.failure(id, McpError.interrupted(reason)), "control")
  }

  /** A session of one POST ends in the next microtask: the peer still handles the answer. */
  answered(): void {
    if (this.config.sessionless) queueMicrotask(() => this.of.over())
  }

  /** Ends all responses and streams. Events stay in the store if another node may come for them. */
  close(reason: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      for (const id of this.responses?.keys() ?? []) this.refuse(id, reason)
      this.endGetStream()
      const log = this.streams?.log
      if (log === undefined) return Effect.void
      return this.config.manager === undefined ? log.close : log.end
    })
  }

  // ---- streams

  /** Returns the name of a stream, which no other node gives to one of this session. */
  nameOf(stream: string): string {
    return nameIn(this.of.epoch, stream)
  }

  /** The standalone GET stream. */
  standaloneStream(): ResumableStream {
    if (this.getStream !== undefined) return this.getStream
    const name = this.nameOf(getStream)
    return (this.getStream = new ResumableStream({ name, log: this.kept.logOf(name), owner: this }))
  }

  /** The stream of a POST; `ids` are its requests. */
  openStream(owner: StreamOwner, ids: JsonRpc.Id | ReadonlyArray<JsonRpc.Id>): ResumableStream {
    return this.kept.open(owner, ids)
  }

  /** The stream of that name, if it can be resumed. */
  findStream(name: string): ResumableStream | undefined {
    return name === this.getStream?.name ? this.getStream : this.streams?.find(name)
  }

  private get kept(): KeptStreams {
    return (this.streams ??= new KeptStreams(this))
  }

  /** Keeps a stream that has ended for a while: its client may not have received all of it. */
  retire(stream: ResumableStream): void {
    this.streams?.retire(stream)
  }

  /** Forgets the streams that were kept for long enough. */
  prune(): void {
    this.streams?.prune()
  }

  /** Ends the standalone GET stream after its last event. */
  endGetStream(): void {
    this.getStream?.end()
  }

  // ---- whether it is used

  /** A stream has a body, which it had not. */
  attached(): void {
    this.connections++
    if (this.getStream?.attached !== true) return
    this.joined?.openUnsafe()
    this.joined = undefined
  }

  /** A stream has no body any more. */
  detached(): void {
    this.connections--
    this.touch()
  }

  /** The session is used at this moment. */
  touch(): void {
    this.used = this.config.clock.currentTimeMillisUnsafe()
  }

  /** Since when no request runs and no stream is read; undefined while one is. */
  get idleSince(): number | undefined {
    return this.connections > 0 || this.running > 0 ? undefined : this.used
  }
}
