/**
 * A session over HTTP (spec: basic/transports, session management): what its POSTs and its streams share.
 *
 * Owns where a message leaves: one that relates to a running request on the response of its POST, any other on the standalone GET
 * stream, never on both. The conversation itself is the server's `Session`.
 */
import { BusyMap } from "@effect-mcp/core/internal/BusyMap"
import * as Principal from "@effect-mcp/core/Principal"
import * as Transport from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { ConnectOptions, Passive } from "../../dispatch/SessionFactory.ts"
import type { Session } from "../../session/Session.ts"
import { KeptStreams } from "./KeptStreams.ts"
import { firstIdIn } from "./questionIds.ts"
import { type StreamOwner, ResumableStream } from "./ResumableStream.ts"
import type { ResponseOwner, SessionResponse } from "./SessionResponse.ts"
import type { SessionConfig } from "./SessionConfig.ts"
import { epochOf, getStream, nameIn } from "./StreamName.ts"
import { UnreadMessages } from "./UnreadMessages.ts"

export type Config = SessionConfig<HttpSession>

export class HttpSession implements Transport.Sink, ConnectOptions, StreamOwner, ResponseOwner {
  readonly id: string
  /** The principal that opened it: no other caller finds it. Empty for an anonymous one. */
  readonly owner: string
  /** The principal, or else the address that opened it; empty where neither is known. */
  readonly caller: string
  readonly principal: Principal.Principal["Service"]
  readonly address: string | undefined
  /** Closed by the end of `fiber`: the peer, its requests and its subscriptions end with it. */
  readonly scope: Scope.Closeable = Scope.makeUnsafe()
  readonly config: Config
  /** How many nodes have held it, this one included: names of streams and ids of requests differ between them. */
  readonly epoch: number
  /** The fiber that is the session: it only waits, and its end closes the scope. Undefined before `start`. */
  private fiber: Fiber.Fiber<void> | undefined = undefined
  isOpening = false // The other nodes may not know it yet.
  /** Connects the session; undefined once that has ended. */
  private opening: Fiber.Fiber<Session> | undefined = undefined
  /** The transport as this session made it; undefined but while it is connected. */
  transport: Transport.Transport | undefined = undefined
  /** The conversation, or `undefined` before it is connected. */
  session: Session | undefined = undefined
  /** What arrives, where the server's `connect` has put functions around the transport; undefined where the peer takes it. */
  private unread: UnreadMessages | undefined = undefined
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

  constructor(
    id: string,
    principal: Principal.Principal["Service"],
    address: string | undefined,
    config: Config,
    epoch = 1
  ) {
    this.id = id
    this.epoch = epoch
    this.owner = Principal.callerKey(principal) ?? ""
    this.caller = Principal.callerKey(principal, address) ?? ""
    this.principal = principal
    this.address = address
    this.config = config
    this.used = config.clock.currentTimeMillisUnsafe()
  }

  /**
   * Opens the conversation. `session` stays `undefined` if that fails. Interrupting it ends the session. The session's fiber runs in the
   * endpoint's context, because it outlives the request that opens it.
   */
  start(
    connect: (transport: Transport.Transport, options: ConnectOptions) => Effect.Effect<Session, never, Scope.Scope>
  ): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { runFork } = this.config
      this.fiber = runFork(this.life())
      const transport = this.makeTransport()
      this.transport = transport
      const opening = runFork(Scope.provide(connect(transport, this), this.scope))
      const done = opening.pollUnsafe()
      if (done !== undefined) return Effect.sync(() => this.connected(done))
      this.opening = opening
      return Effect.onInterrupt(
        Effect.map(Fiber.await(opening), (exit) => this.connected(exit)),
        () => Effect.sync(() => this.over())
      )
    })
  }

  private connected(exit: Exit.Exit<Session>): void {
    this.transport = undefined
    this.opening = undefined
    if (exit._tag === "Success") this.session = exit.value
    else this.fiber?.interruptUnsafe()
  }

  /** Only waits: there are many sessions, and each fiber holds what its effect refers to. */
  private life(): Effect.Effect<void> {
    return Effect.onExit(Effect.never, (exit) => {
      this.over()
      return Scope.close(this.scope, exit)
    })
  }

  over(): void {
    this.config.ended(this)
  }

  /** Requests that run are answered by an error with the reason; then all of the session ends. */
  close(reason: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.session?.peer.interrupt(reason)
      this.opening?.interruptUnsafe()
      return Effect.andThen(
        this.fiber === undefined ? Effect.void : Fiber.interrupt(this.fiber),
        Effect.suspend(() => {
          for (const id of this.responses?.keys() ?? []) this.refuse(id, reason)
          this.endGetStream()
          const log = this.streams?.log
          if (log === undefined) return Effect.void
          return this.config.shared === undefined ? log.close : log.end
        })
      )
    })
  }

  /** Forgets the session where other nodes would find it; undefined where there are none. */
  get ended(): (() => Effect.Effect<void>) | undefined {
    const { shared, store } = this.config
    if (shared === undefined) return undefined
    const forgotten = Effect.suspend(() => store?.forget(this.id) ?? Effect.void)
    // The events are those of the node that took the session over, where one did.
    return () => Effect.flatMap(shared.close(this), (held) => (held ? Effect.ignoreCause(forgotten) : Effect.void))
  }

  /** Keeps what changed for the other nodes; undefined where there are none. */
  get keep(): ((session: Session) => Effect.Effect<void, McpError.McpError>) | undefined {
    const { shared } = this.config
    return shared === undefined ? undefined : () => shared.keep(this)
  }

  get firstId(): number {
    return firstIdIn(this.epoch)
  }

  /** Runs for at most as long as the session. */
  fork(effect: Effect.Effect<void>): Fiber.Fiber<void> {
    return Fiber.runIn(this.config.runFork(effect), this.scope)
  }

  // ---- what arrives

  get passive(): Passive {
    return this.config
  }

  get sessionless(): boolean {
    return this.config.sessionless
  }

  get kind(): string {
    return "http"
  }

  private makeTransport(): Transport.Transport {
    const incoming = Stream.suspend(() => this.messages.stream)
    const run = (receive: (inbound: Transport.Inbound) => void) => Effect.suspend(() => this.messages.read(receive))
    return { incoming, delivery: { stream: incoming, run }, sink: this, broken: Effect.never }
  }

  private get messages(): UnreadMessages {
    return (this.unread ??= new UnreadMessages())
  }

  /** Called when the server reads the transport: its `connect` was given another one than this session made. */
  reading(): void {
    this.unread ??= new UnreadMessages()
  }

  /** How many messages wait for the reader of a changed transport. */
  get waiting(): number {
    return this.unread?.waiting ?? 0
  }

  /** Hands over what a POST brought; its answers go to `response`. */
  receive(inbound: Transport.Single | Transport.RequestAborted, response?: SessionResponse): void {
    if (this.unread === undefined) return this.session?.peer.receive(inbound, response)
    this.unread.push(response === undefined || inbound._tag !== "Message" ? inbound : { ...inbound, replyTo: response })
  }

  /** Fails a question of the server that no client can answer. */
  unanswered(id: JsonRpc.Id, unsent: boolean): void {
    const message = "The connection of the request that asks is gone"
    const error = new Transport.TransportError({ reason: "Write", message })
    this.receive({ _tag: "RequestAborted", id, error, unsent })
  }

  // ---- what leaves

  /** Whether clients may be sent away to come back for the rest (2025-11-25 on). */
  get polls(): boolean {
    return this.config.store !== undefined && this.session?.negotiated?.revision.rules.polling === true
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
    } else if (!this.sessionless) this.standaloneStream().write(JsonRpc.encode(message))
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
    if (this.responses?.get(id) === response && this.session?.peer.interrupt(reason, id) !== true)
      this.refuse(id, reason)
  }

  /** Answers a request that the peer does not know: a changed transport has not delivered it. */
  private refuse(id: JsonRpc.Id, reason: string): void {
    this.responses?.get(id)?.send(JsonRpc.failure(id, McpError.interrupted(reason)), "control")
  }

  /** A session of one POST ends in the next microtask: the peer still handles the answer. */
  answered(): void {
    if (this.sessionless) queueMicrotask(() => this.over())
  }

  /** Waits until no request runs. */
  get idle(): Effect.Effect<void> {
    return this.session?.peer.idle ?? Effect.void
  }

  // ---- streams

  nameOf(stream: string): string {
    return nameIn(this.epoch, stream)
  }

  /** Whether that is the name of a stream of this node, though it may not know it. */
  names(stream: string): boolean {
    return epochOf(stream) >= this.epoch
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
