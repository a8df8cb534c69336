/**
 * A session over HTTP (spec: basic/transports, session management), from `initialize` to its end: what its POSTs and its streams share.
 *
 * Owns what arrives; `SessionSink` owns what leaves. The conversation itself is the server's `Session`.
 */
import * as Principal from "@effect-mcp/core/Principal"
import type * as Transport from "@effect-mcp/core/Transport"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import type { ConnectOptions, Passive } from "../../dispatch/SessionFactory.ts"
import type { Session } from "../../session/Session.ts"
import type { SessionResponse } from "./SessionResponse.ts"
import { type SendingSession, type SessionConfig, SessionSink } from "./SessionSink.ts"
import type { SessionEntry } from "./SessionTable.ts"
import { epochOf, firstIdIn } from "./StreamName.ts"
import { UnreadMessages } from "./UnreadMessages.ts"

/** What the sessions of an endpoint have in common, and what is told of their ends. */
export interface Config extends SessionConfig {
  /** Called when a session is over, maybe more than once. */
  readonly ended: (session: HttpSession) => void
}

type Connect = (transport: Transport.Transport, options: ConnectOptions) => Effect.Effect<Session, never, Scope.Scope>

/** How a session is connected. A class, since each session keeps it: it costs one reference. */
class SessionOptions implements ConnectOptions {
  readonly kind = "http"
  private readonly of: HttpSession

  constructor(session: HttpSession) {
    this.of = session
  }

  get id(): string {
    return this.of.id
  }

  get principal(): Principal.Principal["Service"] {
    return this.of.principal
  }

  get address(): string | undefined {
    return this.of.address
  }

  get passive(): Passive {
    return this.of.config
  }

  get sessionless(): boolean {
    return this.of.config.sessionless
  }

  get firstId(): number {
    return firstIdIn(this.of.epoch)
  }

  get keep(): ConnectOptions["keep"] {
    const { config } = this.of
    return config.manager && (() => config.manager?.save(this.of) ?? Effect.void)
  }

  over(): void {
    this.of.over()
  }
}

export class HttpSession implements SendingSession, SessionEntry {
  readonly id: string
  /** The principal that opened it: no other caller finds it. Empty for an anonymous one. */
  readonly owner: string
  /** The principal, or else the address that opened it; empty where neither is known. */
  readonly caller: string
  readonly principal: Principal.Principal["Service"]
  readonly address: string | undefined
  readonly config: Config
  /** How many nodes have held it, this one included: names of streams and ids of requests differ between them. */
  readonly epoch: number
  /** The peer, its requests and its subscriptions end with it. */
  readonly scope: Scope.Closeable = Scope.makeUnsafe()
  /** What arrives, until the server reads it. */
  readonly unread = new UnreadMessages()
  readonly sink: SessionSink
  /** Whether the other nodes may not know it yet. */
  isOpening = false
  /** Connects the session; undefined once that has ended. */
  private opening: Fiber.Fiber<Session> | undefined = undefined
  /** The conversation, or `undefined` before it is connected. */
  session: Session | undefined = undefined
  /** Closes the scope; undefined before the end. */
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
   * Opens the conversation. `session` stays `undefined` if that fails. Interrupting it ends the session. It is opened in the endpoint's
   * context, because it outlives the request that opens it.
   */
  start(connect: Connect): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { sink, unread } = this
      const transport = { ...unread.source, sink, broken: Effect.never }
      const opening = this.config.runFork(Scope.provide(connect(transport, new SessionOptions(this)), this.scope))
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

  /** Closes the scope, in a fiber that nothing interrupts. */
  private closed(): Fiber.Fiber<void> {
    return (this.closing ??= this.config.runFork(Scope.close(this.scope, Exit.void)))
  }

  /** Requests that run are answered by an error with the reason; then all of the session ends. */
  close(reason: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.session?.peer.interrupt(reason)
      this.opening?.interruptUnsafe()
      return Effect.andThen(Fiber.await(this.closed()), this.sink.close(reason))
    })
  }

  /** Forgets the session where other nodes would find it, or `undefined` if there are none. */
  get ended(): (() => Effect.Effect<void>) | undefined {
    const { manager, store } = this.config
    if (manager === undefined) return undefined
    const forgotten = Effect.suspend(() => store?.forget(this.id) ?? Effect.void)
    // Otherwise the events belong to the node that took the session over.
    return () => Effect.flatMap(manager.close(this), (held) => (held ? Effect.ignoreCause(forgotten) : Effect.void))
  }

  /** Waits until no request runs. */
  get idle(): Effect.Effect<void> {
    return this.session?.peer.idle ?? Effect.void
  }

  get idleSince(): number | undefined {
    return this.sink.idleSince
  }

  prune(): void {
    this.sink.prune()
  }

  // ---- what arrives

  /** Hands over what a POST brought; its answers go to `response`. */
  receive(inbound: Transport.Single | Transport.RequestAborted, response?: SessionResponse): void {
    this.unread.push(response === undefined || inbound._tag !== "Message" ? inbound : { ...inbound, replyTo: response })
  }

  /** Whether that is the name of a stream of this node, though it may not know it. */
  names(stream: string): boolean {
    return epochOf(stream) >= this.epoch
  }
}
