/**
 * A session over HTTP (spec: basic/transports, session management): what holds its many requests together.
 *
 * Owns where a message leaves: what relates to a running request on the stream of its POST, all else on the one stream that stands for
 * the session, never on two. The conversation itself is the server's `Session`. Little is made before it is needed: most sessions are
 * idle most of the time.
 */
import { BusyMap } from "@effect-mcp/core/internal/BusyMap"
import * as Principal from "@effect-mcp/core/Principal"
import { type Sink, type Transport, TransportError } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { ConnectOptions, Passive } from "../../dispatch/SessionFactory.ts"
import type { Session } from "../../session/Session.ts"
import type { EventStore } from "./EventStore.ts"
import { EventStream, type Log, type Owner } from "./EventStream.ts"
import type { PostStream } from "./SessionResponse.ts"
import { SessionLog } from "./SessionLog.ts"

/** What all sessions of an endpoint have in common. */
export interface Config extends Passive {
  /** Where events are kept for clients that come back; without one nothing is resumed. */
  readonly store: EventStore["Service"] | undefined
  /** Whether a session is there for one POST, and ends with its answers. */
  readonly sessionless: boolean
  /** How long a client may stay away from a stream. */
  readonly window: Duration.Duration
  /** How long a request goes on whose client cannot come back. */
  readonly grace: Duration.Duration
  /** When a client is to come back. */
  readonly retry: Duration.Duration
  /** Called for a request that goes on without its POST, and at its end, with the caller of its session. */
  readonly leftBehind: (change: 1 | -1, caller: string) => void
  /** Told of a session that is over, maybe more than once. */
  readonly ended: (session: HttpSession) => void
}

/** Streams that have ended and are still kept, in a session. */
const maxRetired = 256
const standaloneName = "0"

export class HttpSession implements Sink, ConnectOptions, Owner {
  readonly id: string
  /** Whose it is: nobody else gets near it. */
  readonly owner: string
  /** Who opened it: the principal, or else an address; empty where neither is known. */
  readonly caller: string
  readonly principal: Principal.Principal["Service"]
  /** What lives as long as the session. */
  readonly scope: Scope.Closeable = Scope.makeUnsafe()
  readonly config: Config
  private opened: Session | undefined = undefined
  private posts: BusyMap<JsonRpc.Id, PostStream> | undefined = undefined
  private streams: Map<string, EventStream> | undefined = undefined
  private retired: Array<{ readonly stream: EventStream; readonly at: number }> | undefined = undefined
  private standing: EventStream | undefined = undefined
  private joined: Latch.Latch | undefined = undefined
  private named = 0
  private connections = 0
  private used: number
  private fiber: Fiber.Fiber<void> | undefined = undefined
  private written: SessionLog | undefined = undefined

  constructor(id: string, principal: Principal.Principal["Service"], address: string | undefined, config: Config) {
    this.id = id
    this.owner = Principal.callerKey(principal) ?? ""
    this.caller = Principal.callerKey(principal, address) ?? ""
    this.principal = principal
    this.config = config
    this.used = config.clock.currentTimeMillisUnsafe()
  }

  /**
   * Opens the conversation. The session is a fiber from then on: it owns the scope, and interrupting it ends all below. It runs in the
   * endpoint's context and holds nothing of the request that opens it: that must not live as long. `Sessions` ends it at the latest
   * with the endpoint.
   */
  start(connect: Effect.Effect<Session, never, Scope.Scope>): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { runFork } = this.config
      this.fiber = runFork(this.life())
      const opening = runFork(Scope.provide(connect, this.scope))
      return Effect.map(Fiber.await(opening), (exit) => {
        // Whatever became of it, who waits for it goes on.
        if (exit._tag === "Success") this.opened = exit.value
        else this.fiber?.interruptUnsafe()
      })
    })
  }

  /** Does nothing but end: there are many of it, and what it holds on to is held for each. */
  private life(): Effect.Effect<void> {
    return Effect.onExit(Effect.never, (exit) => {
      this.over()
      return Scope.close(this.scope, exit)
    })
  }

  // ---- what the conversation sees of it

  get passive(): Passive {
    return this.config
  }

  get sessionless(): boolean {
    return this.config.sessionless
  }

  over(): void {
    this.config.ended(this)
  }

  /** Called when all that a POST asked was answered. */
  answered(): void {
    if (this.sessionless) queueMicrotask(() => this.over())
  }

  /** All of it that never fails and from which nothing comes. */
  get wire(): Transport {
    return { incoming: Stream.never, sink: this, broken: Effect.never }
  }

  get session(): Session | undefined {
    return this.opened
  }

  /** Whether its client may be sent away to come back for the rest (2025-11-25 on). */
  get polls(): boolean {
    return this.config.store !== undefined && this.opened?.negotiated?.revision.rules.polling === true
  }

  /** Waits until the standing stream is read, and has room. */
  get ready(): Effect.Effect<void> {
    return this.whenRead()
  }

  private whenRead(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.standing?.attached === true) return this.standing.ready
      this.joined ??= Latch.makeUnsafe(false)
      return Effect.andThen(this.joined.await, this.whenRead())
    })
  }

  /** Asks go with the request they relate to, which has its own room. */
  writable(): boolean {
    return true
  }

  send(message: JsonRpc.Message | ReadonlyArray<JsonRpc.Message>, _lane: unknown, relatedTo?: JsonRpc.Id): void {
    for (const one of JsonRpc.isBatch(message) ? message : [message]) {
      const post = relatedTo === undefined ? undefined : this.posts?.get(relatedTo)
      if (post !== undefined) post.send(one, "data")
      else if (JsonRpc.isRequest(one) && (relatedTo !== undefined || this.standing?.wasAttached !== true)) {
        // No stream is there for it, and it must not wait for one that may never be.
        this.unanswered(one.id, true)
      } else if (!this.sessionless) this.standalone().write(JsonRpc.encode(one))
    }
  }

  /** A question of ours that nobody can answer. */
  unanswered(id: JsonRpc.Id, unsent: boolean): void {
    const error = new TransportError({ reason: "Write", message: "The connection of the request that asks is gone" })
    this.opened?.peer.receive({ _tag: "RequestAborted", id, error, unsent })
  }

  // ---- requests

  get running(): number {
    return this.posts?.size ?? 0
  }

  isRunning(id: JsonRpc.Id): boolean {
    return this.posts?.has(id) === true
  }

  began(id: JsonRpc.Id, post: PostStream): void {
    this.posts ??= new BusyMap()
    this.posts.set(id, post)
  }

  /** Told by the POST it came with; once it is over its id may be another's. */
  settled(id: JsonRpc.Id, post: PostStream): void {
    if (this.posts?.get(id) !== post) return
    this.posts.delete(id)
    if (this.posts.size === 0) this.posts = undefined
    this.touch()
  }

  /** Waits until nothing runs. */
  get idle(): Effect.Effect<void> {
    return this.opened?.peer.idle ?? Effect.void
  }

  interrupt(id: JsonRpc.Id, post: PostStream, reason: string): void {
    if (this.posts?.get(id) === post) this.opened?.peer.interrupt(reason, id)
  }

  // ---- streams

  /** What is unrelated to any request. */
  standalone(): EventStream {
    return (this.standing ??= new EventStream({ name: standaloneName, log: this.log(standaloneName), owner: this }))
  }

  openStream(owner: Owner): EventStream {
    const name = (++this.named).toString(36)
    const stream = new EventStream({
      name,
      log: this.log(name),
      owner: {
        attached: () => {
          this.attached()
          owner.attached()
        },
        detached: () => {
          this.detached()
          owner.detached()
        }
      }
    })
    if (this.config.store !== undefined) (this.streams ??= new Map()).set(name, stream)
    return stream
  }

  stream(name: string): EventStream | undefined {
    return name === standaloneName ? this.standing : this.streams?.get(name)
  }

  private log(stream: string): Log | undefined {
    const { runFork, store } = this.config
    if (store === undefined) return undefined
    return (this.written ??= new SessionLog(store, this.id, runFork)).of(stream)
  }

  /** A stream has ended: it is kept for a while, in case its client did not get all of it. */
  retire(stream: EventStream): void {
    if (this.config.store === undefined) return
    this.retired ??= []
    this.retired.push({ stream, at: this.config.clock.currentTimeMillisUnsafe() })
    this.prune()
  }

  /** Forgets what was kept long enough. */
  prune(): void {
    const { clock, window } = this.config
    const oldest = clock.currentTimeMillisUnsafe() - Duration.toMillis(window)
    for (let first = this.retired?.[0]; first !== undefined; first = this.retired?.[0]) {
      if (first.at > oldest && (this.retired?.length ?? 0) <= maxRetired) break
      this.retired?.shift()
      this.streams?.delete(first.stream.name)
      this.written?.forget(first.stream.name)
    }
  }

  attached(): void {
    this.connections++
    if (this.standing?.attached !== true) return
    this.joined?.openUnsafe()
    this.joined = undefined
  }

  detached(): void {
    this.connections--
    this.touch()
  }

  // ---- its end

  touch(): void {
    this.used = this.config.clock.currentTimeMillisUnsafe()
  }

  /** Since when nothing of it runs and nobody listens; undefined while that is not so. */
  get idleSince(): number | undefined {
    return this.connections > 0 || this.running > 0 ? undefined : this.used
  }

  /** Runs for at most as long as the session lives. */
  fork(effect: Effect.Effect<void>): Fiber.Fiber<void> {
    return Fiber.runIn(this.config.runFork(effect), this.scope)
  }

  /** Ends the stream that stands, in order. */
  endStanding(): void {
    this.standing?.end()
  }

  /** What runs is answered by an error that says why, then all ends. */
  close(reason: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.opened?.peer.interrupt(reason)
      return Effect.andThen(
        this.fiber === undefined ? Effect.void : Fiber.interrupt(this.fiber),
        Effect.suspend(() => {
          this.endStanding()
          return this.written?.close ?? Effect.void
        })
      )
    })
  }
}
