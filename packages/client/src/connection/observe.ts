/** Calls a client's observers when requests are sent, questions are answered, and connections open, close or are replaced. */
import { callback, callEach } from "@effect-mcp/core/internal/calling"
import type { Observer as PeerObserver, Peer } from "@effect-mcp/core/Peer"
import type { Transport } from "@effect-mcp/core/Transport"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ClientObserver, ObservedConnection } from "./ClientObserver.ts"
import type { ObservedOpening } from "./ClientHost.ts"
import type { Negotiated } from "./Negotiation.ts"

/** A connection as observers see it. Its server and peer are filled in when they become known. */
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

/** Observes a connection that is being opened. Returns `undefined` if there are no observers. */
export const observed = (
  all: ReadonlyArray<ClientObserver>,
  transport: Transport,
  clock: Clock.Clock
): ObservedOpening | undefined => (all.length === 0 ? undefined : new Opened(all, transport, clock))

/** Returns a function for reading the monotonic clock in milliseconds. The platform's own clock is read directly. */
const timeOf = (clock: Clock.Clock): (() => number) =>
  clock === Context.get(Context.empty(), Clock.Clock)
    ? () => performance.now()
    : () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6

/** Observes a connection's peer. */
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

/** Calls an observer. If it throws, only logs the error, because the connection doesn't depend on observers. */
const logged = (tell: () => unknown): Effect.Effect<void> =>
  Effect.contextWith((context) => Effect.sync(() => callback("A client observer", Effect.runForkWith(context), tell)))

/** Reports that the connection has opened and, when the scope closes, that it has ended. */
const opened = (
  all: ReadonlyArray<ClientObserver>,
  connection: ObservedConnection
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.flatMap(Clock.Clock, (clock) => {
    const now = timeOf(clock)
    const began = now()
    const closed = logged(() => callEach(all, (one) => one.closed?.(connection, now() - began)))
    // Registered before the calls, so that even if an observer throws, every observer is told that the connection ended.
    return Effect.uninterruptible(
      Effect.andThen(
        Effect.addFinalizer(() => closed),
        logged(() => callEach(all, (one) => one.opened?.(connection)))
      )
    )
  })

/** Reports a replaced connection each time `open` succeeds, except the first. */
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
