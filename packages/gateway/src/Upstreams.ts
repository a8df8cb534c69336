/**
 * Which client has which conversation with the server behind.
 *
 * A session, or a wire, has its own, which ends with it. Requests that come alone (2026-07-28 over HTTP) share one by principal and
 * declaration as long as nothing could get to the wrong one of them; what could (questions, logs) has a conversation to itself for as
 * long as the call lasts. Those are kept a while for the next, and bounded.
 */
import { callerKey, type Principal } from "@effect-mcp/core/Principal"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Era } from "@effect-mcp/protocol/Revision"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Upstream from "./Upstream.ts"

export interface Options {
  /** How long one that nobody uses is kept. */
  readonly idle: Duration.Input
  /** Conversations at most, of all clients together. */
  readonly capacity: number
}

/** Who wants to speak to the server behind. */
export interface Asker extends Upstream.Downstream {
  readonly principal: Principal["Service"]
}

interface Entry {
  readonly key: string
  readonly opened: Deferred.Deferred<Upstream.Upstream, McpError.McpError>
  readonly scope: Scope.Closeable
  readonly exclusive: boolean
  users: number
  idle: Fiber.Fiber<void> | undefined
}

export interface Upstreams {
  /** The asker's conversation, held for as long as the scope. `alone`: nobody else's calls may run on it meanwhile. */
  readonly acquire: (asker: Asker, alone: boolean) => Effect.Effect<Upstream.Upstream, McpError.McpError, Scope.Scope>
  /** Of the server behind; undefined before the first conversation. */
  readonly era: () => Era | undefined
  /** Conversations that are open. */
  readonly size: () => number
  /** Sessions and wires of clients that have some, or had. */
  readonly wires: () => number
}

/** Of one client, as far as it can be told apart from others. */
const keyOf = ({ capabilities, clientInfo, principal, revision }: Asker): string =>
  JSON.stringify([callerKey(principal), revision.version, clientInfo, capabilities])

export const make = Effect.fnUntraced(function* <E extends { readonly message: string }>(
  upstream: Upstream.Options<E>,
  { capacity, idle }: Options
): Effect.fn.Return<Upstreams, never, Scope.Scope> {
  const scope = yield* Scope.Scope
  const wires = new Map<Scope.Scope, Map<string, Entry>>()
  const alone = new Set<Entry>()
  let era: Era | undefined

  const size = () => alone.size + Array.from(wires.values(), (entries) => entries.size).reduce((sum, n) => sum + n, 0)

  /** Room for one that is counted already: that which was idle for longest makes it. */
  const room: Effect.Effect<void, McpError.McpError> = Effect.suspend(() => {
    if (size() <= capacity) return Effect.void
    for (const entry of alone) {
      if (entry.users === 0) return close(entry, () => alone.delete(entry))
    }
    return Effect.fail(McpError.limitExceeded(`More than ${capacity} conversations with the server behind are open`))
  })

  const start = (entry: Entry, asker: Asker, gone: () => void): Effect.Effect<void> =>
    Scope.provide(Upstream.open(upstream, asker), entry.scope).pipe(
      Effect.mapError((error) => McpError.internalError(`The server behind cannot be reached: ${error.message}`)),
      (opening) => Effect.andThen(room, opening),
      Effect.tap(({ client }) =>
        Effect.sync(() => {
          era = client.revision.era
        })
      ),
      // What has ended is opened anew by whoever needs it next.
      Effect.tap(({ client }) =>
        Effect.forkIn(Effect.andThen(Effect.exit(client.awaitClosed), close(entry, gone)), scope)
      ),
      Effect.onExit((exit) => (Exit.isFailure(exit) ? close(entry, gone) : Effect.void)),
      Deferred.into(entry.opened),
      Effect.forkIn(scope),
      Effect.asVoid
    )

  const close = (entry: Entry, gone: () => void): Effect.Effect<void> =>
    Effect.suspend(() => {
      gone()
      return Scope.close(entry.scope, Exit.void)
    })

  const entryOf = (key: string, exclusive: boolean): Entry => ({
    key,
    exclusive,
    opened: Deferred.makeUnsafe(),
    scope: Scope.makeUnsafe(),
    users: 0,
    idle: undefined
  })

  const ofWire = (asker: Asker, wire: Scope.Scope): Effect.Effect<Upstream.Upstream, McpError.McpError> =>
    Effect.suspend(() => {
      const known = wires.get(wire)
      const entries = known ?? new Map<string, Entry>()
      const key = keyOf(asker)
      const entry = entries.get(key)
      if (entry !== undefined) return Deferred.await(entry.opened)
      const made = entryOf(key, false)
      entries.set(key, made)
      wires.set(wire, entries)
      const end = Effect.suspend(() => {
        wires.delete(wire)
        return Effect.forEach(entries.values(), ({ scope }) => Scope.close(scope, Exit.void), {
          discard: true,
          concurrency: "unbounded"
        })
      })
      const opening = start(made, asker, () => {
        if (entries.get(key) === made) entries.delete(key)
      })
      return Effect.andThen(
        known === undefined ? Scope.addFinalizer(wire, end) : Effect.void,
        Effect.andThen(opening, Deferred.await(made.opened))
      )
    })

  const take = (asker: Asker, exclusive: boolean): Effect.Effect<Entry> =>
    Effect.suspend(() => {
      const key = keyOf(asker)
      for (const entry of alone) {
        if (entry.key === key && entry.exclusive === exclusive && !(exclusive && entry.users > 0)) {
          entry.users++
          entry.idle?.interruptUnsafe()
          return Effect.succeed(entry)
        }
      }
      const made = entryOf(key, exclusive)
      made.users++
      alone.add(made)
      return Effect.as(
        start(made, asker, () => alone.delete(made)),
        made
      )
    })

  const release = (entry: Entry): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (--entry.users > 0 || !alone.delete(entry)) return Effect.void
      // To the end: the order is that of their last use.
      alone.add(entry)
      const expire = Effect.andThen(
        Effect.sleep(idle),
        close(entry, () => alone.delete(entry))
      )
      return Effect.map(Effect.forkIn(expire, scope), (fiber) => {
        entry.idle = fiber
      })
    })

  yield* Effect.addFinalizer(() =>
    Effect.forEach(
      [...alone, ...Array.from(wires.values(), (entries) => [...entries.values()]).flat()],
      ({ scope }) => Scope.close(scope, Exit.void),
      { discard: true, concurrency: "unbounded" }
    )
  )

  return {
    acquire: (asker, exclusive) =>
      asker.connection === undefined
        ? Effect.flatMap(Effect.acquireRelease(take(asker, exclusive), release), ({ opened }) => Deferred.await(opened))
        : ofWire(asker, asker.connection.scope),
    era: () => era,
    size,
    wires: () => wires.size
  }
})
