/** What the sessions of an endpoint have in common. */
import type * as Duration from "effect/Duration"
import type { Passive } from "../../dispatch/SessionFactory.ts"
import type { EventStore } from "../../session/EventStore.ts"
import type { SessionManager } from "./SessionManager.ts"

export interface SessionConfig extends Passive {
  /** Where events are kept for clients that come back, or `undefined` if nothing can be resumed. */
  readonly store: EventStore["Service"] | undefined
  /** Whether a session serves one POST, and ends with its answers. */
  readonly sessionless: boolean
  /** How long a client may stay away from a stream. */
  readonly window: Duration.Duration
  /** How long a request runs on if its client cannot come back. */
  readonly grace: Duration.Duration
  /** When a client that is sent away is told to come back. */
  readonly retry: Duration.Duration
  /** Called when a request runs on without its POST (1), and at its end (-1). `bytes`: of its body. */
  readonly leftBehind: (change: 1 | -1, caller: string, bytes: number) => void
  /** Shares the sessions with other nodes, or `undefined` if there are none. */
  readonly manager: SessionManager | undefined
}
