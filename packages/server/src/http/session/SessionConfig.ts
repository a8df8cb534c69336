/** What the sessions of an endpoint have in common: where events are kept, how long clients may stay away, and what learns of an end. */
import type * as Duration from "effect/Duration"
import type { Passive } from "../../dispatch/SessionFactory.ts"
import type { EventStore } from "../../session/EventStore.ts"
import type { SharedSessions } from "./SharedSessions.ts"

/** What all sessions of an endpoint have in common. */
export interface SessionConfig<S> extends Passive {
  /** Where events are kept for clients that come back; undefined where nothing can be resumed. */
  readonly store: EventStore["Service"] | undefined
  /** Whether a session serves one POST, and ends with its answers. */
  readonly sessionless: boolean
  /** How long a client may stay away from a stream. */
  readonly window: Duration.Duration
  /** How long a request runs on whose client cannot come back. */
  readonly grace: Duration.Duration
  /** When a client that is sent away is told to come back. */
  readonly retry: Duration.Duration
  /** Called when a request runs on without its POST (1), and at its end (-1). `bytes`: of its body. */
  readonly leftBehind: (change: 1 | -1, caller: string, bytes: number) => void
  /** What the other nodes have to know of a session; undefined where there are none. */
  readonly shared: SharedSessions | undefined
  /** Called when a session is over, maybe more than once. */
  readonly ended: (session: S) => void
}
