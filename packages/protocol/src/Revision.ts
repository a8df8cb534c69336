/**
 * One dated wire format: a table of codecs between the dated wire and the canonical model, and the dated rules.
 *
 * The canonical model holds what any revision can say. A codec's `Encoded` side is what travels; its `Type` side is what every other
 * module works with. Codecs that do not differ between revisions are the same object.
 */
import type * as Schema from "effect/Schema"
import type * as Method from "./Method.ts"
import * as v2024_11_05 from "./revision/v2024_11_05.ts"
import * as v2025_03_26 from "./revision/v2025_03_26.ts"
import * as v2025_06_18 from "./revision/v2025_06_18.ts"
import * as v2025_11_25 from "./revision/v2025_11_25.ts"
import * as v2026_07_28 from "./revision/v2026_07_28.ts"

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

/** The revisions with sessions, oldest first. */
export const stateful: ReadonlyArray<Revision> = [
  v2024_11_05.revision,
  v2025_03_26.revision,
  v2025_06_18.revision,
  v2025_11_25.revision
]
/** The revisions whose requests stand alone, oldest first. */
export const stateless: ReadonlyArray<Revision> = [v2026_07_28.revision]
/** Every revision this library speaks, oldest first. */
export const all: ReadonlyArray<Revision> = [...stateful, ...stateless]
/** The revisions in which a server may ask its user, oldest first. */
export const withElicitation: ReadonlyArray<Revision> = all.filter((revision) => revision.rules.elicitation.form)
/** The newest revision that `initialize` negotiates. */
export const latestStateful: Revision = v2025_11_25.revision

const byVersion = new Map<string, Revision>(all.map((revision) => [revision.version, revision]))
/** The revision of that name, of either era. */
export const get = (version: string): Revision | undefined => byVersion.get(version)
