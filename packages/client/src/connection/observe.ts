/** Calls the observers of a client: with what its connections send and are asked, and when they open, end and are replaced. */
import { callback } from "@effect-mcp/core/internal/callback"
import { callEach } from "@effect-mcp/core/internal/callEach"
import type { Observer as PeerObserver, Peer } from "@effect-mcp/core/Peer"
import type { Transport } from "@effect-mcp/core/Transport"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ClientObserver, ObservedConnection } from "./ClientObserver.ts"
import type { ObservedOpening } from "./ClientHost.ts"
import type { Negotiated } from "./Negotiation.ts"

/** A connection for observers, which learns its server and its peer. */
class Opened implements ObservedOpening, ObservedConnection {
  readonly address: string | undefined
  readonly traffic: Transport["traffic"]
  readonly observer: PeerObserver
  negotiated: Negotiated | undefined = undefined
  peer: Peer | undefined = undefined
  private readonly all: ReadonlyArray<ClientObserver>

  constructor(all: ReadonlyArray<ClientObserver>, { address, traffic }: Transport, clock: Clock.Clock) {
    this.all = all
    this.address = address
    this.traffic = traffic
    this.observer = ofPeer(all, this, clock)
  }

  get revision(): string | undefined {
    return this.negotiated?.revision.version
  }

  get server(): Negotiated["serverInfo"] | undefined {
    return this.negotiated?.serverInfo
  }

  readonly outstanding = (): number => this.peer?.outstanding() ?? 0

  get opened(): Effect.Effect<void, never, Scope.Scope> {
    return opened(this.all, this)
  }
}

/** Observes a connection that is being opened; undefined where there is no observer. */
export const observed = (
  all: ReadonlyArray<ClientObserver>,
  transport: Transport,
  clock: Clock.Clock
): ObservedOpening | undefined => (all.length === 0 ? undefined : new Opened(all, transport, clock))

/** Milliseconds of the monotonic clock; that of the platform is read directly. */
const timeOf = (clock: Clock.Clock): (() => number) =>
  clock === Context.get(Context.empty(), Clock.Clock)
    ? () => performance.now()
    : () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6

/** Observes the peer of a connection. */
const ofPeer = (
  all: ReadonlyArray<ClientObserver>,
  connection: ObservedConnection,
  clock: Clock.Clock
): PeerObserver => {
  const now = timeOf(clock)
  return {
    now,
    sent: (end, exit) => {
      const duration = now() - end.began
      return callEach(all, (one) => one.request?.({ ...end, duration }, exit, connection))
    },
    received: ({ arrived, envelope, request, waited }, exit) => {
      const end = { arrived, envelope, request, waited, duration: now() - arrived }
      return callEach(all, (one) => one.question?.(end, exit, connection))
    }
  }
}

/** Calls the observers, and logs what one throws: the connection is as good without it. */
const logged = (tell: () => unknown): Effect.Effect<void> =>
  Effect.contextWith((context) => Effect.sync(() => callback("A client observer", Effect.runForkWith(context), tell)))

/** Says that the connection is open, and that it has ended once the scope closes. */
const opened = (
  all: ReadonlyArray<ClientObserver>,
  connection: ObservedConnection
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.flatMap(Clock.Clock, (clock) => {
    const now = timeOf(clock)
    const began = now()
    const closed = logged(() => callEach(all, (one) => one.closed?.(connection, now() - began)))
    // Before the calls: one that throws leaves no observer with a connection that never ends.
    return Effect.uninterruptible(
      Effect.andThen(
        Effect.addFinalizer(() => closed),
        logged(() => callEach(all, (one) => one.opened?.(connection)))
      )
    )
  })

/** Says of every success of `open` but the first that a connection was replaced. */
export const repeated = <A, E, R>(
  all: ReadonlyArray<ClientObserver>,
  open: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  if (all.length === 0) return open
  let before = false
  return Effect.tap(open, () =>
    logged(() => {
      if (before) return callEach(all, (one) => one.reconnected?.())
      before = true
      return undefined
    })
  )
}
