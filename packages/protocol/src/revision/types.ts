/**
 * The type of a revision: its version, its era, a codec per method, and the rules that concern no single message.
 *
 * Types only; the files of the revisions have the values, and `Revision` lists them.
 */
import type * as Schema from "effect/Schema"
import type * as Method from "../model/Method.ts"

/** The version of a revision, its date; newest last. */
export type Version = "2024-11-05" | "2025-03-26" | "2025-06-18" | "2025-11-25" | "2026-07-28"

/** The version of a revision with sessions. */
export type OlderVersion = Exclude<Version, "2026-07-28">

/** `stateful`: a session opened by `initialize`. `stateless`: every request carries its own context. */
export type Era = "stateful" | "stateless"

/** The codecs of one method, between wire and canonical value. Encoding fails where the revision cannot express the value. */
export interface MethodCodec<P, R> {
  readonly params: Schema.Codec<P, unknown>
  readonly result: Schema.Codec<R, unknown>
}

/** The requests of a revision. A method that it lacks is absent, and answered with -32601. */
export type RequestTable<T extends Method.Requests> = {
  readonly [M in keyof T]?: MethodCodec<T[M]["params"], T[M]["result"]>
}
export type NotificationTable<T extends Method.Notifications> = {
  readonly [M in keyof T]?: Schema.Codec<T[M], unknown>
}

/** Differences between revisions that concern no single message. */
export interface Rules {
  /** JSON-RPC batches are received (2025-03-26 only). */
  readonly batches: boolean
  /** The `id` of the error for a request that could not be read. */
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
  /** A server may close an SSE stream that its client then resumes (2025-11-25 only). */
  readonly polling: boolean
  /** Tasks are a part of the protocol, with a capability of their own; later they are an extension (2025-11-25 only). */
  readonly tasks: boolean
  /** Sampling with tools, and arrays of content (2025-11-25 on). */
  readonly samplingTools: boolean
  /** The capability to include context is declared (2025-11-25 on). */
  readonly samplingContextDeclared: boolean
  /** A tool that fails for a capability that the client did not declare: a result with `isError`, or -32021 (2026-07-28 on). */
  readonly missingCapability: "result" | "error"
  /** Structured content may be any JSON value and an output schema have any root (2026-07-28 on), not only objects. */
  readonly anyStructuredContent: boolean
  /** The member of the capabilities that declares extensions: `experimental`, or `extensions` (2026-07-28 on). */
  readonly extensions: "experimental" | "extensions"
}

/** One revision of the specification. */
export interface Revision {
  readonly version: Version
  readonly era: Era
  /** Requests of a client. */
  readonly clientRequests: RequestTable<Method.ClientRequests>
  /** Requests of a server: sent as such (stateful), or inside a result (stateless). */
  readonly serverRequests: RequestTable<Method.ServerRequests>
  readonly clientNotifications: NotificationTable<Method.ClientNotifications>
  readonly serverNotifications: NotificationTable<Method.ServerNotifications>
  readonly rules: Rules
}
