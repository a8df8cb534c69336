/**
 * Replaces lost connections: the next one is opened as soon as a request needs it, once for all waiting requests.
 *
 * The fiber that opens a connection is independent of requests, so interrupting one does not affect the others. After a limited number of
 * attempts all waiting requests fail with `Closed`, and a later request starts over.
 */
import { TransportError } from "@effect-mcp/core/Transport"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { Backoff, defaultAttempts, isPermanent, type RetryPolicy } from "../connection/Backoff.ts"
import { Closed, Forbidden, Unauthorized, unsent } from "../ClientError.ts"
import type { Connection } from "../connection/Connection.ts"

export interface Options<E, R> {
  /** Opens a connection that lives until the scope closes. */
  readonly open: Effect.Effect<Connection, E, R>
  /** Called when a connection is lost. */
  readonly onLost: () => void
  /** Runs on every connection after the first, before any request uses it. */
  readonly restore: (connection: Connection) => Effect.Effect<void, Closed>
  /** When to retry. Without a policy a lost connection is not replaced. */
  readonly policy: RetryPolicy | undefined
}

export interface Reconnect {
  /** Returns the latest connection, even if it is lost. */
  readonly latest: () => Connection
  readonly isOpen: () => boolean
  /** Returns the open connection, or opens the next one. */
  readonly acquire: Effect.Effect<Connection, Closed>
  /** True if `connection` is still in use although a request on it failed with `closed`. */
  readonly survives: (connection: Connection, closed: Closed) => boolean
  /** Completes with the next connection. */
  readonly reopened: Effect.Effect<void>
  /** Completes when no more connections will be opened. */
  readonly ended: Effect.Effect<Closed>
  /** Fails when a connection could not be opened or will not be replaced. Completes when this is closed. */
  readonly awaitClosed: Effect.Effect<void, TransportError>
}

interface Open {
  readonly _tag: "Open"
  readonly connection: Connection
  readonly scope: Scope.Closeable
}

type State =
  | Open
  | { readonly _tag: "Opening"; readonly opened: Deferred.Deferred<Connection, Closed> }
  /** `cleared` completes when the last connection is closed far enough for the next one. */
  | { readonly _tag: "Lost"; readonly closed: Closed; readonly cleared: Effect.Effect<unknown> }
  | { readonly _tag: "Over"; readonly closed: Closed }

/** How long answers from a lost session may still arrive. */
const lostSessionGrace = "5 seconds"

/** Returns why a connection could not be opened. */
const transportErrorOf = (failure: Cause.Cause<unknown>): TransportError => {
  const error = Cause.squash(failure)
  const known = error instanceof Closed ? error.cause : error
  if (known instanceof TransportError) return known
  const status = error instanceof Unauthorized ? 401 : error instanceof Forbidden ? 403 : undefined
  return new TransportError({
    reason: status === undefined ? "Open" : "Status",
    status,
    message: error instanceof Error ? error.message : String(error),
    cause: error
  })
}

type Opened<E, R> = Effect.Effect<Open, E, Exclude<R, Scope.Scope>>

interface Parts<E, R> {
  readonly options: Options<E, R>
  /** The scope of all connections. */
  readonly scope: Scope.Closeable
  readonly backoff: Backoff
  /** Opens one connection. */
  readonly opening: Opened<E, R>
  /** Runs in the context in which the client was created, not in the context of the request that needs a connection. */
  readonly run: <A, E2>(effect: Effect.Effect<A, E2, Exclude<R, Scope.Scope>>) => Fiber.Fiber<A, E2>
}

class Connections<E, R> {
  latest: Connection
  state: State
  readonly over = Deferred.makeUnsafe<Closed>()
  broken = Deferred.makeUnsafe<void, TransportError>()
  next = Deferred.makeUnsafe<void>()
  /** Fibers that close lost connections. */
  private readonly closing = new Set<Fiber.Fiber<unknown>>()
  private readonly parts: Parts<E, R>

  constructor(parts: Parts<E, R>, first: Open) {
    this.parts = parts
    this.latest = first.connection
    this.state = first
    this.enter(first)
  }

  /** Uses an open connection until it ends. */
  private enter(open: Open): void {
    this.state = open
    this.latest = open.connection
    this.parts.run(Effect.map(open.connection.ended, (closed) => this.lose(open, closed)))
  }

  /** `ended` waits for messages of the lost connection while the next one is already being opened. */
  lose(lost: Open, closed: Closed, ended?: Effect.Effect<unknown>): void {
    if (this.state !== lost) return
    const { onLost, policy } = this.parts.options
    onLost()
    // One turn later, because the connection may be in the middle of announcing its end.
    const close = Effect.andThen(Effect.yieldNow, Scope.close(lost.scope, Exit.void))
    // Not in the connections' scope, because once started, closing must complete. Closing the client waits for it.
    const fiber = this.parts.run(ended === undefined ? close : Effect.andThen(ended, close))
    this.closing.add(fiber)
    fiber.addObserver(() => this.closing.delete(fiber))
    this.state = { _tag: "Lost", closed, cleared: ended === undefined ? Fiber.await(fiber) : Effect.void }
    if (policy === undefined) this.finish(closed)
  }

  readonly acquire: Effect.Effect<Connection, Closed> = Effect.suspend(() => {
    const { state } = this
    if (state._tag === "Open") return Effect.succeed(state.connection)
    if (state._tag === "Opening") return Deferred.await(state.opened)
    return state._tag === "Over" ? Effect.fail(unsent(state.closed)) : this.reopen(state.cleared)
  })

  private reopen(cleared: Effect.Effect<unknown>): Effect.Effect<Connection, Closed> {
    const opened = Deferred.makeUnsafe<Connection, Closed>()
    this.state = { _tag: "Opening", opened }
    const fiber = this.parts.run(Effect.andThen(cleared, this.tryOpening(1)))
    Fiber.runIn(fiber, this.parts.scope)
    fiber.addObserver((exit) => this.settle(opened, exit))
    return Deferred.await(opened)
  }

  private tryOpening(tried: number): Effect.Effect<Open, E | Closed, Exclude<R, Scope.Scope>> {
    const { policy, restore } = this.parts.options
    const restored = Effect.tap(this.parts.opening, ({ connection, scope }) =>
      Effect.onError(restore(connection), (cause) => Scope.close(scope, Exit.failCause(cause)))
    )
    return Effect.andThen(this.parts.backoff.failed, Effect.andThen(this.parts.backoff.wait, restored)).pipe(
      Effect.catchCause((cause) => {
        const error = Option.getOrUndefined(Cause.findErrorOption(cause))
        const isLast = error === undefined || isPermanent(error) || tried >= (policy?.attempts ?? defaultAttempts)
        return isLast ? Effect.failCause(cause) : this.tryOpening(tried + 1)
      })
    )
  }

  private settle(opened: Deferred.Deferred<Connection, Closed>, exit: Exit.Exit<Open, E | Closed>): void {
    // The client was closed in the meantime, and the connection with it.
    if (this.state._tag !== "Opening") return
    if (Exit.isFailure(exit)) {
      const cause = transportErrorOf(exit.cause)
      const closed = new Closed({ message: `Cannot reconnect: ${cause.message}`, cause })
      this.parts.backoff.reset()
      this.state = { _tag: "Lost", closed, cleared: Effect.void }
      Deferred.doneUnsafe(opened, Effect.fail(unsent(closed)))
      return void Deferred.doneUnsafe(this.broken, Effect.fail(cause))
    }
    if (Deferred.isDoneUnsafe(this.broken)) this.broken = Deferred.makeUnsafe()
    this.enter(exit.value)
    Deferred.doneUnsafe(opened, Effect.succeed(this.latest))
    Deferred.doneUnsafe(this.next, Effect.void)
    this.next = Deferred.makeUnsafe()
  }

  private finish(closed: Closed): void {
    if (this.state._tag === "Over") return
    if (this.state._tag === "Opening") Deferred.doneUnsafe(this.state.opened, Effect.fail(unsent(closed)))
    this.state = { _tag: "Over", closed }
    Deferred.doneUnsafe(this.broken, closed.cause === undefined ? Effect.void : Effect.fail(closed.cause))
    Deferred.doneUnsafe(this.over, Effect.succeed(closed))
  }

  close(exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> {
    this.finish(new Closed({ message: "The client is closed" }))
    return Effect.andThen(
      Scope.close(this.parts.scope, exit),
      Effect.suspend(() => Effect.asVoid(Fiber.awaitAll([...this.closing])))
    )
  }
}

/** Opens the first connection. If that fails, the effect fails with the same error. */
export const make = Effect.fnUntraced(function* <E, R>(
  options: Options<E, R>
): Effect.fn.Return<Reconnect, E, Exclude<R, Scope.Scope> | Scope.Scope> {
  const { open, policy } = options
  const run = Effect.runForkWith(yield* Effect.context<Exclude<R, Scope.Scope>>())
  const scope = yield* Scope.make()
  const backoff = new Backoff(policy ?? {})
  const opening: Opened<E, R> = Effect.suspend(() => {
    const own = Scope.forkUnsafe(scope)
    return Scope.provide(open, own).pipe(
      Effect.onExit((exit) => (Exit.isFailure(exit) ? Scope.close(own, exit) : backoff.started)),
      Effect.map((connection): Open => ({ _tag: "Open", connection, scope: own }))
    )
  })
  let made: Connections<E, R> | undefined
  // Added before the first connection is opened, so that an interruption leaves none open.
  yield* Effect.addFinalizer((exit) => made?.close(exit) ?? Scope.close(scope, exit))
  const connections = (made = new Connections({ options, scope, backoff, opening, run }, yield* opening))
  return {
    latest: () => connections.latest,
    isOpen: () => connections.state._tag === "Open",
    acquire: connections.acquire,
    survives: (connection, closed) => {
      const { state } = connections
      if (state._tag !== "Open" || state.connection !== connection) return false
      if (policy === undefined || closed.cause?.reason !== "SessionLost") return true
      // Other requests in flight on the lost session still receive their answers.
      connections.lose(state, closed, Effect.timeoutOption(connection.ended, lostSessionGrace))
      return false
    },
    reopened: Effect.suspend(() => Deferred.await(connections.next)),
    ended: Deferred.await(connections.over),
    awaitClosed: Effect.suspend(() => Deferred.await(connections.broken))
  }
})
