/**
 * Assigns connections to the upstream server to downstream clients.
 *
 * A session or a wire has its own connection, which ends with it. Requests without either (2026-07-28 over HTTP) share a pool by
 * principal and declaration: one connection for all of them, or one for a single call if a question or a log could reach the wrong
 * caller. Pooled connections are kept for a while after their last use.
 *
 * The number of connections is limited, in total and per caller. To open another, an idle connection of the caller that holds the most
 * is closed.
 */
import { type Bounds, firstOfHeaviest, Shares } from "@effect-mcp/core/internal/inFlight"
import { callerKey, type Principal } from "@effect-mcp/core/Principal"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Era } from "@effect-mcp/protocol/Revision"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Path from "../Path.ts"
import * as Tasks from "../tasks/Tasks.ts"
import * as Upstream from "./Upstream.ts"

export interface Options {
  /** How long to keep a pooled connection after its last use. */
  readonly idle: Duration.Input
  /** Maximum number of open connections. */
  readonly capacity: Bounds
}

/** A downstream client, and the principal that it sends a request for. */
export interface DownstreamClient extends Upstream.Downstream {
  readonly principal: Principal["Service"]
  /** Its network address, or `undefined` if unknown. */
  readonly address: string | undefined
}

interface Entry {
  readonly key: string
  /** The caller that opened it, or `undefined` if it has neither a name nor an address. */
  readonly caller: string | undefined
  /** True if it belongs to one session or wire. Closing it would lose that session's state. */
  readonly isOfWire: boolean
  /** Removes it, so that no request finds it. */
  forget: () => void
  readonly opened: Deferred.Deferred<Upstream.Upstream, McpError.McpError>
  readonly scope: Scope.Closeable
  /** True if it serves only one request at a time. */
  readonly exclusive: boolean
  users: number
  /** Closes the connection after a while without users. */
  expiry: Fiber.Fiber<void> | undefined
  /** Set if its wire ended while a task was using it. The last user closes it. */
  orphaned: boolean
}

export interface Upstreams {
  /** Returns the client's connection, held until the scope closes. With `exclusive`, no other request uses it meanwhile. */
  readonly acquire: (
    client: DownstreamClient,
    exclusive: boolean
  ) => Effect.Effect<Upstream.Upstream, McpError.McpError, Scope.Scope>
  /** The upstream server's era, or `undefined` before the first connection. */
  readonly era: () => Era | undefined
  /** How the upstream server turns calls into tasks, or `undefined` before the first connection. */
  readonly tasks: () => Tasks.TaskGeneration | undefined
  /** Number of open connections. */
  readonly size: () => number
  /** Number of open sessions and wires that have, or had, a connection. */
  readonly wires: () => number
}

interface State<E> extends Pick<Options, "idle"> {
  readonly upstream: Upstream.Options<E>
  /** All connections, by the caller that opened them. */
  readonly shares: Shares
  readonly open: Set<Entry>
  readonly scope: Scope.Scope
  /** Connections of each session or wire, by the key of its requests. */
  readonly wires: Map<Scope.Scope, Map<string, Entry>>
  /** In order of last use. */
  readonly pool: Set<Entry>
  era: Era | undefined
  tasks: Tasks.TaskGeneration | undefined
}

/** Requests with equal keys may share a connection. */
const keyOf = ({ capabilities, clientInfo, principal, revision }: DownstreamClient): string =>
  JSON.stringify([callerKey(principal), revision.version, clientInfo, capabilities])

export const make = Effect.fnUntraced(function* <E extends { readonly message: string }>(
  upstream: Upstream.Options<E>,
  options: Options
): Effect.fn.Return<Upstreams, never, Scope.Scope> {
  const scope = yield* Scope.Scope
  const state: State<E> = {
    idle: options.idle,
    upstream,
    shares: new Shares(options.capacity),
    open: new Set(),
    scope,
    wires: new Map(),
    pool: new Set(),
    era: undefined,
    tasks: undefined
  }
  yield* Effect.addFinalizer(() => closeAll(state.open))
  return {
    acquire: (client, exclusive) => {
      const { connection, path } = client
      const refused = Path.refusal(path, upstream.id)
      if (refused !== undefined) return Effect.fail(refused)
      const acquired =
        connection === undefined
          ? Effect.acquireRelease(take(state, client, exclusive), (entry) => release(state, entry))
          : Effect.acquireRelease(ofWire(state, client, connection.scope), releaseOfWire)
      return Effect.flatMap(acquired, ({ opened }) => Deferred.await(opened))
    },
    era: () => state.era,
    tasks: () => state.tasks,
    size: () => state.open.size,
    wires: () => state.wires.size
  }
})

const closeAll = (entries: Iterable<Entry>): Effect.Effect<void> =>
  Effect.suspend(() => Effect.forEach([...entries], close, { discard: true, concurrency: "unbounded" }))

/** Creates an entry, which is counted until it is forgotten. `forget` removes it from the place where requests find it. */
const entryOf = (
  { open, shares }: State<unknown>,
  client: DownstreamClient,
  kind: Pick<Entry, "exclusive" | "isOfWire">,
  forget: (entry: Entry) => void
): Entry => {
  const caller = callerKey(client.principal, client.address)
  const entry: Entry = {
    ...kind,
    key: keyOf(client),
    caller,
    opened: Deferred.makeUnsafe(),
    scope: Scope.makeUnsafe(),
    users: 1,
    expiry: undefined,
    orphaned: false,
    forget: () => {
      forget(entry)
      if (open.delete(entry)) shares.add(caller, -1)
    }
  }
  open.add(entry)
  shares.add(caller, 1)
  return entry
}

/** Closes a connection that no request can find anymore. */
const close = (entry: Entry): Effect.Effect<void> =>
  Effect.suspend(() => {
    entry.forget()
    return Scope.close(entry.scope, Exit.void)
  })

/** Makes room for an entry that is already counted, by closing an idle connection. Fails if none may be closed for it. */
const makeRoom = (state: State<unknown>, entry: Entry): Effect.Effect<void, McpError.McpError> =>
  Effect.suspend(() => {
    const { shares } = state
    const exceeded = shares.exceededBy(entry.caller, 0)
    if (exceeded === undefined) return Effect.void
    const idle = toClose(state, entry, exceeded)
    if (idle !== undefined) return close(idle)
    const whose = exceeded === "total" ? "" : " from this caller"
    const limit = shares.bounds[exceeded]
    return Effect.fail(
      McpError.limitExceeded(`Too many connections${whose} to the upstream server are open (limit ${limit})`)
    )
  })

/** Returns the idle connection to close: the least recently used of the caller that holds the most. */
const toClose = ({ open, pool, shares }: State<unknown>, entry: Entry, exceeded: keyof Bounds): Entry | undefined => {
  const own = shares.of(entry.caller)
  const mayClose = ({ caller, isOfWire, users }: Entry): boolean => {
    if (users > 0 || (exceeded === "perCaller" && caller !== entry.caller)) return false
    // Closing it loses the session's subscriptions, so it is only closed for a caller that holds fewer.
    if (isOfWire) return shares.of(caller) > own
    return caller === undefined || shares.of(caller) >= own
  }
  // The pool is in order of last use.
  const idle = [...pool, ...Array.from(open).filter(({ isOfWire }) => isOfWire)].filter(mayClose)
  return firstOfHeaviest(idle, (caller) => shares.of(caller))
}

/** Reports a loop to every gateway in it. */
const unreachable = (error: { readonly message: string }): McpError.McpError =>
  error instanceof McpError.McpError && error.code === McpError.LoopDetected
    ? error
    : McpError.internalError(`The upstream server cannot be reached: ${error.message}`)

/** Opens an entry's connection in the background. If the connection fails or ends, the entry is forgotten. */
const open = <E extends { readonly message: string }>(
  state: State<E>,
  entry: Entry,
  client: DownstreamClient
): Effect.Effect<void> =>
  Scope.provide(Upstream.open(state.upstream, client), entry.scope).pipe(
    Effect.mapError(unreachable),
    (opening) => Effect.andThen(makeRoom(state, entry), opening),
    Effect.tap(({ client }) => {
      state.era = client.revision.era
      state.tasks = Tasks.generationOf(client)
      return Effect.forkIn(Effect.andThen(Effect.exit(client.awaitClosed), close(entry)), state.scope)
    }),
    Effect.onExit((exit) => (Exit.isFailure(exit) ? close(entry) : Effect.void)),
    Deferred.into(entry.opened),
    Effect.forkIn(state.scope),
    Effect.asVoid
  )

/** Returns a session's or wire's connection. When the wire ends, all of its connections are closed once no task uses them. */
const ofWire = <E extends { readonly message: string }>(
  state: State<E>,
  client: DownstreamClient,
  wire: Scope.Scope
): Effect.Effect<Entry> =>
  Effect.suspend(() => {
    const { wires } = state
    const known = wires.get(wire)
    const entries = known ?? new Map<string, Entry>()
    const key = keyOf(client)
    const existing = entries.get(key)
    if (existing !== undefined) {
      existing.users++
      return Effect.succeed(existing)
    }
    const entry = entryOf(state, client, { exclusive: false, isOfWire: true }, (entry) => {
      if (entries.get(key) === entry) entries.delete(key)
    })
    entries.set(key, entry)
    wires.set(wire, entries)
    const opening = open(state, entry, client)
    const end = Effect.suspend(() => endWire(state, wire, entries))
    return Effect.as(Effect.andThen(known === undefined ? Scope.addFinalizer(wire, end) : Effect.void, opening), entry)
  })

/** Closes a wire's connections, except connections in use, because a task may outlive the session that created it. */
const endWire = (
  { wires }: State<unknown>,
  wire: Scope.Scope,
  entries: ReadonlyMap<string, Entry>
): Effect.Effect<void> => {
  wires.delete(wire)
  const all = [...entries.values()]
  for (const entry of all) entry.orphaned = entry.users > 0
  return closeAll(all.filter(({ orphaned }) => !orphaned))
}

/** Ends one use of a wire's connection. If the wire has ended, the last use closes the connection. */
const releaseOfWire = (entry: Entry): Effect.Effect<void> =>
  Effect.suspend(() => {
    entry.users--
    return entry.orphaned && entry.users === 0 ? close(entry) : Effect.void
  })

/** Returns a pooled connection that can serve one more request. Opens one if there is none. */
const take = <E extends { readonly message: string }>(
  state: State<E>,
  client: DownstreamClient,
  exclusive: boolean
): Effect.Effect<Entry> =>
  Effect.suspend(() => {
    const { pool } = state
    const key = keyOf(client)
    for (const entry of pool) {
      if (entry.key === key && entry.exclusive === exclusive && !(exclusive && entry.users > 0)) {
        entry.users++
        entry.expiry?.interruptUnsafe()
        return Effect.succeed(entry)
      }
    }
    const entry = entryOf(state, client, { exclusive, isOfWire: false }, (entry) => pool.delete(entry))
    pool.add(entry)
    return Effect.as(open(state, entry, client), entry)
  })

/** Ends one use of a pooled connection. After the last use it is closed with a delay. */
const release = ({ idle, pool, scope }: State<unknown>, entry: Entry): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (--entry.users > 0 || !pool.delete(entry)) return Effect.void
    // Moves it to the end, because the pool is in order of last use.
    pool.add(entry)
    const expire = Effect.andThen(Effect.sleep(idle), close(entry))
    return Effect.map(Effect.forkIn(expire, scope), (fiber) => {
      entry.expiry = fiber
    })
  })
