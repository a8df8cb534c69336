/**
 * An HTTP session (spec: basic/transports, session management), from `initialize` to its end, with the state shared by its POSTs and
 * streams.
 *
 * Hands incoming messages to its peer; `SessionSink` owns outgoing ones. The protocol session itself is the server's `Session`.
 */
import * as Principal from "@effect-mcp/core/Principal"
import type * as Transport from "@effect-mcp/core/Transport"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { ConnectOptions, Passive } from "../../dispatch/SessionFactory.ts"
import type { Session } from "../../session/Session.ts"
import { epochOf } from "./ResumableStream.ts"
import type { SessionResponse } from "./SessionResponse.ts"
import { type SendingSession, type SessionConfig, SessionSink } from "./SessionSink.ts"
import type { SessionEntry } from "./SessionTable.ts"

/** Configuration shared by all of an endpoint's sessions. */
export interface Config extends SessionConfig {
  /** Called when a session has ended, possibly more than once. */
  readonly ended: (session: HttpSession) => void
}

type Connect = (transport: Transport.Transport, options: ConnectOptions) => Effect.Effect<Session, never, Scope.Scope>

/** Number of question IDs reserved for each node that holds the session, so that an answer never reaches another node's question. */
const perEpoch = 2 ** 32

export class HttpSession implements ConnectOptions, SendingSession, SessionEntry {
  readonly kind = "http"
  readonly id: string
  /** The principal that opened it. No other caller can find it. Empty if anonymous. */
  readonly owner: string
  /** The principal that opened it, or else the address. Empty if neither is known. */
  readonly caller: string
  readonly principal: Principal.Principal["Service"]
  readonly address: string | undefined
  readonly config: Config
  /** Number of nodes that have held it, including this one. Stream names and request IDs differ between them. */
  readonly epoch: number
  /** Its peer, requests and subscriptions end when this scope closes. */
  readonly scope: Scope.Closeable = Scope.makeUnsafe()
  readonly sink: SessionSink
  /** True while other nodes may not know about it yet. */
  isOpening = false
  /** Connects the session, or `undefined` after that has ended. */
  private opening: Fiber.Fiber<Session> | undefined = undefined
  /** The protocol session, or `undefined` before it is connected. */
  session: Session | undefined = undefined
  /** Closes the scope, or `undefined` before the end. */
  private closing: Fiber.Fiber<void> | undefined = undefined

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
    this.sink = new SessionSink(this)
  }

  // ---- its life

  /**
   * Opens the protocol session. If that fails, `session` stays `undefined`. Interrupting this effect ends the session. It runs in the
   * endpoint's context, because the session outlives the request that opened it.
   */
  start(connect: Connect): Effect.Effect<void> {
    return Effect.suspend(() => {
      // POSTs bring the messages, so the transport has none.
      const transport = { incoming: Stream.never, sink: this.sink, broken: Effect.never }
      const opening = this.config.runFork(Scope.provide(connect(transport, this), this.scope))
      const done = opening.pollUnsafe()
      if (done !== undefined) return Effect.sync(() => this.connected(done))
      this.opening = opening
      return Effect.onInterrupt(
        Effect.map(Fiber.await(opening), (exit) => this.connected(exit)),
        () => Effect.sync(() => this.over())
      )
    })
  }

  get passive(): Passive {
    return this.config
  }

  get sessionless(): boolean {
    return this.config.sessionless
  }

  get firstId(): number {
    return (this.epoch - 1) * perEpoch + 1
  }

  get keep(): ConnectOptions["keep"] {
    const { manager } = this.config
    return manager && (() => manager.save(this))
  }

  private connected(exit: Exit.Exit<Session>): void {
    this.opening = undefined
    if (exit._tag === "Success") this.session = exit.value
    else {
      this.over()
      this.closed()
    }
  }

  over(): void {
    this.config.ended(this)
  }

  /** Closes the scope in a fiber that nothing can interrupt. */
  private closed(): Fiber.Fiber<void> {
    return (this.closing ??= this.config.runFork(Scope.close(this.scope, Exit.void)))
  }

  /** Responds to running requests with an error containing the reason, then ends the rest of the session. */
  close(reason: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.session?.peer.interrupt(reason)
      this.opening?.interruptUnsafe()
      return Effect.andThen(Fiber.await(this.closed()), this.sink.close(reason))
    })
  }

  /** Removes the session for the other nodes. `undefined` if there are none. */
  get ended(): (() => Effect.Effect<void>) | undefined {
    const { manager, store } = this.config
    if (manager === undefined) return undefined
    const forgotten = Effect.suspend(() => store?.forget(this.id) ?? Effect.void)
    // If another node took the session over, the events belong to that node.
    return () => Effect.flatMap(manager.close(this), (held) => (held ? Effect.ignoreCause(forgotten) : Effect.void))
  }

  /** Waits until no request is running. */
  get idle(): Effect.Effect<void> {
    return this.session?.peer.idle ?? Effect.void
  }

  get idleSince(): number | undefined {
    return this.sink.idleSince
  }

  get isRunning(): boolean {
    return this.sink.running > 0
  }

  prune(): void {
    this.sink.prune()
  }

  // ---- what arrives

  /** Hands a POST's message to the peer of an open session, which sends its responses to `response`. */
  receive(inbound: Transport.Single | Transport.RequestAborted, response?: SessionResponse): void {
    const related = response !== undefined && inbound._tag === "Message"
    this.session?.peer.receive(related ? { ...inbound, replyTo: response } : inbound)
  }

  /** True if this is the name of one of this node's streams, even if the node has forgotten the stream. */
  names(stream: string): boolean {
    return epochOf(stream) >= this.epoch
  }
}
