/**
 * One connection after another (DESIGN: client recovery): when one is lost the next is opened, once for all who wait for it, and only if
 * somebody does.
 *
 * Owns the connections and the fiber that opens the next: a caller that leaves does not end it for the others. When a bounded number of
 * tries has failed, everything that waits fails with `Closed`; whoever needs a connection later makes a fresh start.
 */
import { TransportError } from "@effect-mcp/core/Transport"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { Backoff, defaultAttempts, isPermanent, type Policy } from "../connection/Backoff.ts"
import { Closed, Forbidden, Unauthorized } from "../ClientError.ts"
import type { Connection } from "../connection/Connection.ts"

export interface Options<E, R> {
  /** One connection, for as long as its scope. */
  readonly open: Effect.Effect<Connection, E, R>
  /** Told when a connection is lost. */
  readonly onLost: () => void
  /** Runs on every connection after the first, before anybody else uses it. */
  readonly restore: (connection: Connection) => Effect.Effect<void, Closed>
  /** When to try again. Without one a lost connection is not replaced. */
  readonly policy: Policy | undefined
}

export interface Reconnect {
  /** The latest connection, whether or not it lives. */
  readonly latest: () => Connection
  readonly isOpen: () => boolean
  /** The living connection, or the next one. */
  readonly acquire: Effect.Effect<Connection, Closed>
  /** Whether `connection` is still the one to use although a request on it ended with `closed`. */
  readonly survives: (connection: Connection, closed: Closed) => boolean
  /** Completes with the next connection, whoever needed it. */
  readonly reopened: Effect.Effect<void>
  /** Completes once there will be no connection any more. */
  readonly ended: Effect.Effect<Closed>
  /** Fails when a connection could not be had, or will not be replaced; completes when this is closed. */
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
  /** `cleared` completes when nothing is left of the last connection that would be in the way of the next. */
  | { readonly _tag: "Lost"; readonly closed: Closed; readonly cleared: Effect.Effect<unknown> }
  | { readonly _tag: "Over"; readonly closed: Closed }

/** How long the answers of a session that is gone may still take to arrive. */
const lostSessionGrace = "5 seconds"

/** For those whose request has not left. */
const unsent = ({ cause, message }: Closed): Closed => new Closed({ message, cause, unsent: true })

/** Why a connection could not be had. */
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

/** Opens the first connection, whose failure is the caller's. */
export const make = Effect.fnUntraced(function* <E, R>({
  onLost: told,
  open,
  policy,
  restore
}: Options<E, R>): Effect.fn.Return<Reconnect, E, Exclude<R, Scope.Scope> | Scope.Scope> {
  // What runs later runs as whoever made the client, not as the request that happens to need it first.
  const run = Effect.runForkWith(yield* Effect.context<Exclude<R, Scope.Scope>>())
  const connections = yield* Scope.make()
  const clearing = new Set<Fiber.Fiber<unknown>>()
  const over = Deferred.makeUnsafe<Closed>()
  const backoff = new Backoff(policy ?? {})
  let broken = Deferred.makeUnsafe<void, TransportError>()
  let next = Deferred.makeUnsafe<void>()

  const opening: Effect.Effect<Open, E, Exclude<R, Scope.Scope>> = Effect.suspend(() => {
    const scope = Scope.forkUnsafe(connections)
    return Scope.provide(open, scope).pipe(
      Effect.onExit((exit) => (Exit.isFailure(exit) ? Scope.close(scope, exit) : backoff.started)),
      Effect.map((connection): Open => ({ _tag: "Open", connection, scope }))
    )
  })

  const reopening = Effect.fnUntraced(function* (
    cleared: Effect.Effect<unknown>
  ): Effect.fn.Return<Open, E | Closed, Exclude<R, Scope.Scope>> {
    yield* cleared
    for (let tried = 1; ; tried++) {
      yield* backoff.failed
      yield* backoff.wait
      const exit = yield* Effect.exit(
        Effect.tap(opening, ({ connection, scope }) =>
          Effect.onError(restore(connection), (cause) => Scope.close(scope, Exit.failCause(cause)))
        )
      )
      if (Exit.isSuccess(exit)) return exit.value
      const error = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
      const hopeless = error === undefined || isPermanent(error) || tried >= (policy?.attempts ?? defaultAttempts)
      if (hopeless) return yield* exit
    }
  })

  let state: State = { _tag: "Lost", closed: new Closed({ message: "Not connected yet" }), cleared: Effect.void }

  /** `ended`: what is still to be heard of it, which does not hold up the next. */
  const lose = (lost: Open, closed: Closed, ended?: Effect.Effect<unknown>): void => {
    if (state !== lost) return
    told()
    // In its own time: the connection may be in the midst of telling everyone that it ended.
    const close = Effect.andThen(Effect.yieldNow, Scope.close(lost.scope, Exit.void))
    // Not in the scope of the connections: once begun it is finished, and the end of the client waits for it.
    const fiber = run(ended === undefined ? close : Effect.andThen(ended, close))
    clearing.add(fiber)
    fiber.addObserver(() => clearing.delete(fiber))
    state = { _tag: "Lost", closed, cleared: ended === undefined ? Fiber.await(fiber) : Effect.void }
    if (policy === undefined) finish(closed)
  }

  const enter = (open: Open): void => {
    state = open
    latest = open.connection
    run(Effect.map(open.connection.ended, (closed) => lose(open, closed)))
  }

  const settle = (opened: Deferred.Deferred<Connection, Closed>, exit: Exit.Exit<Open, E | Closed>): void => {
    // Closed meanwhile, and with it what was opened.
    if (state._tag !== "Opening") return
    if (Exit.isFailure(exit)) {
      const cause = transportErrorOf(exit.cause)
      const closed = new Closed({ message: `The connection cannot be had again: ${cause.message}`, cause })
      // Whoever needs one next makes a fresh start.
      backoff.reset()
      state = { _tag: "Lost", closed, cleared: Effect.void }
      Deferred.doneUnsafe(opened, Effect.fail(unsent(closed)))
      return void Deferred.doneUnsafe(broken, Effect.fail(cause))
    }
    if (Deferred.isDoneUnsafe(broken)) broken = Deferred.makeUnsafe()
    enter(exit.value)
    Deferred.doneUnsafe(opened, Effect.succeed(latest))
    Deferred.doneUnsafe(next, Effect.void)
    next = Deferred.makeUnsafe()
  }

  const finish = (closed: Closed): void => {
    if (state._tag === "Over") return
    if (state._tag === "Opening") Deferred.doneUnsafe(state.opened, Effect.fail(unsent(closed)))
    state = { _tag: "Over", closed }
    Deferred.doneUnsafe(broken, closed.cause === undefined ? Effect.void : Effect.fail(closed.cause))
    Deferred.doneUnsafe(over, Effect.succeed(closed))
  }

  // Before there is anything to be closed: whoever is interrupted leaves nothing open.
  yield* Effect.addFinalizer((exit) => {
    finish(new Closed({ message: "The client is closed" }))
    return Effect.andThen(
      Scope.close(connections, exit),
      Effect.suspend(() => Fiber.awaitAll([...clearing]))
    )
  })

  const first = yield* opening
  let latest = first.connection
  enter(first)

  return {
    latest: () => latest,
    isOpen: () => state._tag === "Open",
    acquire: Effect.suspend(() => {
      if (state._tag === "Open") return Effect.succeed(state.connection)
      if (state._tag === "Opening") return Deferred.await(state.opened)
      if (state._tag === "Over") return Effect.fail(unsent(state.closed))
      const { cleared } = state
      const opened = Deferred.makeUnsafe<Connection, Closed>()
      state = { _tag: "Opening", opened }
      const fiber = run(reopening(cleared))
      Fiber.runIn(fiber, connections)
      fiber.addObserver((exit) => settle(opened, exit))
      return Deferred.await(opened)
    }),
    survives: (connection, closed) => {
      if (state._tag !== "Open" || state.connection !== connection) return false
      if (policy === undefined || closed.cause?.reason !== "SessionLost") return true
      // What else was sent on it has answers of its own still to come.
      lose(state, closed, Effect.timeoutOption(connection.ended, lostSessionGrace))
      return false
    },
    reopened: Effect.suspend(() => Deferred.await(next)),
    ended: Deferred.await(over),
    awaitClosed: Effect.suspend(() => Deferred.await(broken))
  }
})
