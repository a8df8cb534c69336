/**
 * The type of a revision: its version, its era, a codec for each method, and general rules.
 *
 * This module only has types. The values are in one file per revision, and `Revision` lists them.
 */
import type * as Schema from "effect/Schema"
import type * as Method from "../model/Method.ts"
import type { OlderVersion, Version } from "../model/Version.ts"

export type { OlderVersion, Version }

/** `stateful`: `initialize` opens a session. `stateless`: every request carries its own context. */
export type Era = "stateful" | "stateless"

/** Codecs for one method, from wire format to canonical value. Encoding fails if the revision cannot express the value. */
export interface MethodCodec<P, R> {
  readonly params: Schema.Codec<P, unknown>
  readonly result: Schema.Codec<R, unknown>
}

/** A revision's requests. Unsupported methods are missing from the table, and calling one fails with -32601. */
export type RequestTable<T extends Method.Requests> = {
  readonly [M in keyof T]?: MethodCodec<T[M]["params"], T[M]["result"]>
}
export type NotificationTable<T extends Method.Notifications> = {
  readonly [M in keyof T]?: Schema.Codec<T[M], unknown>
}

/** Differences between revisions that aren't specific to one message type. */
export interface Rules {
  /** True if JSON-RPC batches are allowed (only in 2025-03-26). */
  readonly batches: boolean
  /** The `id` in the error for a request that could not be read. */
  readonly unreadableId: null | undefined
  /** How to report tool arguments that don't match the schema: a result with `isError` (since 2025-11-25), or -32602. */
  readonly invalidToolArguments: "result" | "error"
  /** Error code for an unknown resource: -32002 before 2026-07-28, -32602 since then. */
  readonly resourceNotFound: number
  /** True if `completion/complete` requires the `completions` capability (since 2025-03-26). */
  readonly completionsDeclared: boolean
  /** True if progress notifications may include a message (since 2025-03-26). */
  readonly progressMessage: boolean
  /** True if tools may have output schemas and results may have structured content (since 2025-06-18). */
  readonly structuredOutput: boolean
  /** True if content may link to resources (since 2025-06-18). */
  readonly resourceLinks: boolean
  readonly elicitation: { readonly form: boolean; readonly url: boolean }
  /** True if a server may close an SSE stream and let the client resume it (only in 2025-11-25). */
  readonly polling: boolean
  /** True if tasks are part of the core protocol, with a dedicated capability (only in 2025-11-25; they became an extension later). */
  readonly tasks: boolean
  /** True if sampling supports tools and arrays of content (since 2025-11-25). */
  readonly samplingTools: boolean
  /** True if clients declare whether sampling may include context (since 2025-11-25). */
  readonly samplingContextDeclared: boolean
  /**
   * How to report a tool call that fails because of an undeclared client capability: a result with `isError`, or -32021 (since 2026-07-28).
   */
  readonly missingCapability: "result" | "error"
  /**
   * True if structured content may be any JSON value and an output schema may have any root (since 2026-07-28). Before, both had to be
   * objects.
   */
  readonly anyStructuredContent: boolean
  /** The capabilities field that declares extensions: `experimental`, or `extensions` (since 2026-07-28). */
  readonly extensions: "experimental" | "extensions"
}

/** One revision of the specification. */
export interface Revision {
  readonly version: Version
  readonly era: Era
  /** Requests that clients send. */
  readonly clientRequests: RequestTable<Method.ClientRequests>
  /** Requests that servers send: as JSON-RPC requests (stateful), or inside results (stateless). */
  readonly serverRequests: RequestTable<Method.ServerRequests>
  readonly clientNotifications: NotificationTable<Method.ClientNotifications>
  readonly serverNotifications: NotificationTable<Method.ServerNotifications>
  readonly rules: Rules
}
