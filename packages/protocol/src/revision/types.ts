/**
 * The shape of a revision: its name, its era, a codec per method, and the dated rules that are not a matter of one message.
 *
 * Pure types, below the files that fill them in; `Revision` lists the revisions.
 */
import type * as Schema from "effect/Schema"
import type * as Method from "../model/Method.ts"

/** The dated name of a revision, newest last. */
export type Version = "2024-11-05" | "2025-03-26" | "2025-06-18" | "2025-11-25" | "2026-07-28"

/** `stateful`: a session opened by `initialize`. `stateless`: every request carries its own context. */
export type Era = "stateful" | "stateless"

/** Params or a result of one method: wire <-> canonical. Encoding fails where the revision cannot say the value. */
export interface MethodCodec<P, R> {
  readonly params: Schema.Codec<P, unknown>
  readonly result: Schema.Codec<R, unknown>
}

/** The methods a revision has; a method it lacks is absent, and answers -32601. */
export type RequestTable<T extends Method.Requests> = {
  readonly [M in keyof T]?: MethodCodec<T[M]["params"], T[M]["result"]>
}
export type NotificationTable<T extends Method.Notifications> = {
  readonly [M in keyof T]?: Schema.Codec<T[M], unknown>
}

/** What differs by date and is not a matter of one message's shape. */
export interface Rules {
  /** JSON-RPC batches are received (2025-03-26 only). */
  readonly batches: boolean
  /** The `id` of an error answer whose request could not be read. */
  readonly unreadableId: null | undefined
  /** Arguments that do not fit a tool's schema: a result with `isError` (2025-11-25 on), or -32602. */
  readonly invalidToolArguments: "result" | "error"
  /** The code for an unknown resource: -32002 before 2026-07-28, -32602 from then on. */
  readonly resourceNotFound: number
  /** `completion/complete` needs the `completions` capability (2025-03-26 on). */
  readonly completionsDeclared: boolean
  /** Progress notifications may carry a message (2025-03-26 on). */
  readonly progressMessage: boolean
  /** Tools may have an output schema and results structured content (2025-06-18 on). */
  readonly structuredOutput: boolean
  readonly elicitation: { readonly form: boolean; readonly url: boolean }
  /** A server may end the connection of a stream of events, for its client to come back to (2025-11-25 only). */
  readonly polling: boolean
  /** Sampling with tools, and arrays of content (2025-11-25 on). */
  readonly samplingTools: boolean
  /** The capability to include context is declared (2025-11-25 on). */
  readonly samplingContextDeclared: boolean
  /** A tool that asks for what the client did not declare, and lets that pass: a result with `isError`, or -32021 (2026-07-28 on). */
  readonly missingCapability: "result" | "error"
  /** Structured content may be any JSON value and an output schema have any root (2026-07-28 on), not only objects. */
  readonly anyStructuredContent: boolean
}

export interface Revision {
  readonly version: Version
  readonly era: Era
  /** What a client may ask a server. */
  readonly requests: RequestTable<Method.ClientRequests>
  /** What a server may ask a client: by requests of its own, or inside a result (stateless). */
  readonly clientRequests: RequestTable<Method.ServerRequests>
  readonly clientNotifications: NotificationTable<Method.ClientNotifications>
  readonly serverNotifications: NotificationTable<Method.ServerNotifications>
  readonly rules: Rules
}
