/**
 * What observes a server: metrics, audit trails. Without one nothing is measured, and no call is made.
 *
 * Owns the services that hand observers to a server. Refuses to answer: middleware does that.
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

/** A request of a client that has ended: answered, refused or cancelled. All of it is text of the client. */
export interface RequestEnd extends ReceivedEnd {
  readonly principal: Principal["Service"]
  /** Undefined for a POST without one. */
  readonly session: Session | undefined
  readonly transport: string | undefined
  /** The version of the protocol: agreed on, or as the request names it. */
  readonly revision: string | undefined
  /** How long it took, in milliseconds, its wait included. */
  readonly duration: number
  /** The operator's reason, or `undefined` if the operator did not interrupt it (`Requests`). */
  readonly interrupted: string | undefined
}

/** A question to a client that has ended. */
export interface QuestionEnd extends SentEnd {
  readonly session: Session
  readonly duration: number
}

/** An HTTP request that the endpoint refused by its status, before any session or server saw it. */
export interface RefusedRequest {
  readonly status: number
  /** The HTTP method. */
  readonly method: string
  readonly principal: Principal["Service"] | undefined
  readonly address: string | undefined
}

/** What became of a task. */
export interface TaskEvent {
  /** The names of the wire; `expired`: it did not end within its time to live. */
  readonly state: "created" | "completed" | "failed" | "cancelled" | "expired"
  readonly id: string
  /** Undefined where this process does not know it. */
  readonly tool: string | undefined
  readonly principal: Pick<Principal["Service"], "claims" | "subject"> | undefined
  /** The reason if the server or its operator cancelled it, or `undefined` if its client did. */
  readonly reason?: string | undefined
  /** Since its creation, in milliseconds. */
  readonly age: number | undefined
}

/** A run of a task that is over: a task runs again where its process ended, or after it was parked. */
export interface TaskRunEnd {
  readonly id: string
  readonly tool: string
  readonly revision: string
  /** From 1; grows with each run that recorded nothing new. */
  readonly attempt: number
  /** `parked`: it only waited. `stopped`: cancelled, expired, taken over, or the server ends. */
  readonly end: "ended" | "parked" | "stopped"
  /** In milliseconds. */
  readonly duration: number
}

/** What runs at a server, for gauges. */
export interface Observed {
  /** Those that are open. */
  readonly sessions: ReadonlySet<Session>
  /** Requests without a session that wait. */
  readonly stateless: Iterable<StatelessRequest>
  readonly tasks: TaskSources
  /** The other nodes of the server, or `undefined` if it has one node. */
  readonly nodes: Nodes["Service"] | undefined
}

/**
 * Called with what happens at a server. The calls are in the path of the messages: they must neither block nor throw, and must not keep what
 * they are given. What is left out costs nothing.
 */
export interface Observer {
  /**
   * What requests have to wait for before they are handled, where what observes has no room for more; undefined where they need not. The
   * one call that may hold up a request.
   */
  readonly admit?: (() => Effect.Effect<void> | undefined) | undefined
  /** Called after the answer has left. An exit of interruption alone is a request that was cancelled or interrupted. */
  readonly request?: (end: RequestEnd, exit: Exit.Exit<unknown, McpError>) => void
  readonly question?: (end: QuestionEnd, exit: Exit.Exit<unknown, RequestError>) => void
  /** Called with a notification of a session before it is handled. Cancels and progress belong to requests. */
  readonly notification?: (notification: JsonRpc.Notification, session: Session, envelope: Envelope) => void
  readonly opened?: (session: Session) => void
  readonly closed?: (session: Session) => void
  readonly task?: (event: TaskEvent) => void
  readonly taskRun?: (end: TaskRunEnd, exit: Exit.Exit<unknown, McpError>) => void
  /** Called when an operator begins to drain the server. */
  readonly drains?: () => void
  readonly refused?: (refusal: RefusedRequest) => void
  /** Called with the bytes of each body of HTTP, and of each write of an event stream. */
  readonly carried?: (received: number, sent: number) => void
  /** Runs when the server is built; what it acquires lives as long as the server. */
  readonly serves?: (observed: Observed) => Effect.Effect<void, never, Scope.Scope>
}

const prefix = "@effect-mcp/server/Observer/"
let made = 0

/**
 * An observer of servers that are built in this context. Each has a key of its own: side by side, no layer with an observer replaces that
 * of another.
 */
export class Observers extends Context.Service<Observers, Observer>()(prefix) {}

/** The observer as a service. */
export const service = (observer: Observer): Context.Context<Observers> =>
  Context.makeUnsafe(new Map([[`${prefix}${++made}`, observer]]))

/** The servers that are given this layer have the observer, beside those of other layers. */
export const layer = <E, R>(make: Effect.Effect<Observer, E, R>): Layer.Layer<Observers, E, Exclude<R, Scope.Scope>> =>
  Layer.effectContext(Effect.map(make, service))

/** The observers of the context. */
export const given: Effect.Effect<ReadonlyArray<Observer>> = Effect.map(Effect.context<never>(), ({ mapUnsafe }) =>
  // Only `service` makes services with this prefix.
  [...mapUnsafe].flatMap(([key, observer]): ReadonlyArray<Observer> => (key.startsWith(prefix) ? [observer] : []))
)

/** Milliseconds of the monotonic clock. The clock of the platform is read directly: a bigint of it costs more than the rest. */
export const timeOf = (clock: Clock.Clock): (() => number) => {
  if (clock !== Context.get(Context.empty(), Clock.Clock)) return () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6
  // Node's global is a getter.
  const platform = performance
  return () => platform.now()
}
