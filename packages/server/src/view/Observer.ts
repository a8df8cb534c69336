/**
 * Observes a server, for metrics and audit trails. Without an observer, nothing is measured or called.
 *
 * Owns the services that pass observers to a server. Observers can't answer requests; use middleware for that.
 */
import type { ReceivedEnd, RequestError, SentEnd } from "@effect-mcp/core/Peer"
import type { Nodes } from "../session/Nodes.ts"
import type { Principal } from "@effect-mcp/core/Principal"
import type { Envelope } from "@effect-mcp/core/Transport"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { McpError } from "@effect-mcp/protocol/McpError"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { TaskSources } from "../request/TaskSource.ts"
import type { Session } from "../session/Session.ts"
import type { StatelessRequest } from "./StatelessRequest.ts"

/** A client request that was answered, rejected or cancelled. All of its text is under the client's control. */
export interface RequestEnd extends ReceivedEnd {
  readonly principal: Principal["Service"]
  /** The session, or `undefined` for a POST without one. */
  readonly session: Session | undefined
  readonly transport: string | undefined
  /** The protocol version that was negotiated, or that the request named. */
  readonly revision: string | undefined
  /** Duration in milliseconds, including the time spent waiting. */
  readonly duration: number
  /** The operator's reason for interrupting the request (`Requests`), or `undefined` if no operator did. */
  readonly interrupted: string | undefined
}

/** A completed question to a client. */
export interface QuestionEnd extends SentEnd {
  readonly session: Session
  readonly duration: number
}

/** An HTTP request that the endpoint rejected before it reached a session or server. */
export interface RefusedRequest {
  readonly status: number
  /** HTTP method. */
  readonly method: string
  readonly principal: Principal["Service"] | undefined
  readonly address: string | undefined
}

/** A change in a task's state. */
export interface TaskEvent {
  /** State names as in the protocol, plus `expired` for a task that did not finish within its time to live. */
  readonly state: "created" | "completed" | "failed" | "cancelled" | "expired"
  readonly id: string
  /** The tool's name, or `undefined` if this process doesn't know it. */
  readonly tool: string | undefined
  readonly principal: Pick<Principal["Service"], "claims" | "subject"> | undefined
  /** The reason, if the server or its operator cancelled the task, or `undefined` if the client did. */
  readonly reason?: string | undefined
  /** Time since the task was created, in milliseconds. */
  readonly age: number | undefined
}

/** A finished run of a task. A task runs again if its process ended, or after it was parked. */
export interface TaskRunEnd {
  readonly id: string
  readonly tool: string
  readonly revision: string
  /** Starts at 1, and increases with each run that recorded nothing new. */
  readonly attempt: number
  /** `parked` means the task was only waiting. `stopped` means it was cancelled, expired or taken over, or the server is stopping. */
  readonly end: "ended" | "parked" | "stopped"
  /** Duration in milliseconds. */
  readonly duration: number
}

/** A server's current sessions and requests, for gauges. */
export interface Observed {
  /** Open sessions. */
  readonly sessions: ReadonlySet<Session>
  /** Pending requests without a session. */
  readonly stateless: Iterable<StatelessRequest>
  readonly tasks: TaskSources
  /** The server's other nodes, or `undefined` if it runs on a single node. */
  readonly nodes: Nodes["Service"] | undefined
}

/**
 * Receives a server's events. Its functions are called while messages are being processed, so they must not block or throw, and must not
 * hold on to their arguments. Functions that you leave out cost nothing.
 */
export interface Observer {
  /**
   * Called before a request is handled. If the observer is full, return an effect that the request must wait for; otherwise return
   * `undefined`. This is the only function that can delay a request.
   */
  readonly admit?: (() => Effect.Effect<void> | undefined) | undefined
  /** Called after the response was sent. If the exit contains only interruptions, the request was cancelled or interrupted. */
  readonly request?: (end: RequestEnd, exit: Exit.Exit<unknown, McpError>) => void
  readonly question?: (end: QuestionEnd, exit: Exit.Exit<unknown, RequestError>) => void
  /** Called with each session notification before it is handled, except cancellations and progress, which belong to requests. */
  readonly notification?: (notification: JsonRpc.Notification, session: Session, envelope: Envelope) => void
  readonly opened?: (session: Session) => void
  readonly closed?: (session: Session) => void
  readonly task?: (event: TaskEvent) => void
  readonly taskRun?: (end: TaskRunEnd, exit: Exit.Exit<unknown, McpError>) => void
  /** Called when an operator begins to drain the server. */
  readonly drains?: () => void
  readonly refused?: (refusal: RefusedRequest) => void
  /** Called with the size of each HTTP body, and of each write to an event stream. */
  readonly carried?: (received: number, sent: number) => void
  /** Runs when the server is built. Resources that it acquires are released when the server closes. */
  readonly serves?: (observed: Observed) => Effect.Effect<void, never, Scope.Scope>
}

const prefix = "@effect-mcp/server/Observer/"
let made = 0

/**
 * An observer for servers built in this context. Each observer has its own key, so that one layer doesn't replace another layer's observer.
 */
export class Observers extends Context.Service<Observers, Observer>()(prefix) {}

/** Wraps an observer in a context. */
export const service = (observer: Observer): Context.Context<Observers> =>
  Context.makeUnsafe(new Map([[`${prefix}${++made}`, observer]]))

/** Adds an observer to the servers that this layer is provided to, in addition to any observers from other layers. */
export const layer = <E, R>(make: Effect.Effect<Observer, E, R>): Layer.Layer<Observers, E, Exclude<R, Scope.Scope>> =>
  Layer.effectContext(Effect.map(make, service))

/** All observers in the context. */
export const given: Effect.Effect<ReadonlyArray<Observer>> = Effect.map(Effect.context<never>(), ({ mapUnsafe }) =>
  // Only `service` creates services with this prefix.
  [...mapUnsafe].flatMap(([key, observer]): ReadonlyArray<Observer> => (key.startsWith(prefix) ? [observer] : []))
)

/**
 * Returns a function that reads the monotonic clock in milliseconds. It reads the platform's clock directly, because a Clock's bigint costs
 * more than everything else here.
 */
export const timeOf = (clock: Clock.Clock): (() => number) => {
  if (clock !== Context.get(Context.empty(), Clock.Clock)) return () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
  // Node's global is a getter.
  const platform = performance
  return () => platform.now()
}
