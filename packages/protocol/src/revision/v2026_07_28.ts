/**
 * 2026-07-28: the first revision without sessions.
 *
 * Every request declares its revision and capabilities in `_meta`. Adds discovery, subscriptions as one long-running request, and server
 * questions inside results. Results have types and caching hints, structured content can be any JSON value, and extensions are declared. A
 * missing capability has its own error, and an unknown resource is reported as -32602.
 *
 * Removes the handshake, ping, log level requests, per-resource subscriptions, polling, core tasks, and requests from server to client.
 */
import type * as Schema from "effect/Schema"
import { Declaration } from "../model/Declaration.ts"
import { InputRequiredResult } from "../model/Input.ts"
import type { Revision } from "./types.ts"
import { cacheable, complete } from "./Complete.ts"
import { methodCodecs } from "./MethodCodecs.ts"
import { lazyCodec, newest, perRevision } from "./PerRevision.ts"
import * as stateful from "./stateful.ts"

const version = "2026-07-28"

/** Codec for the declaration in `_meta`. A request without it is malformed. The params codecs don't check it. */
export const declaration: Schema.Codec<Declaration, unknown> = lazyCodec(perRevision(Declaration))
/** Codec for a `tools/call`, `prompts/get` or `resources/read` result that asks for input (`ResultType.isInputRequired`). */
export const inputRequired: Schema.Codec<InputRequiredResult, unknown> = lazyCodec(perRevision(InputRequiredResult))

/** Notifications a server sends before a revision is negotiated. They are decoded the same way in every revision. */
export const earlyNotifications: Revision["serverNotifications"] = methodCodecs(
  stateful.latest,
  newest
).serverNotifications

export const revision: Revision = {
  version,
  era: "stateless",
  ...methodCodecs(version, newest, (info, result) => (info.cacheable === true ? cacheable : complete)(result)),
  rules: {
    ...stateful.rules,
    resourceNotFound: -32602,
    polling: false,
    tasks: false,
    missingCapability: "error",
    anyStructuredContent: true,
    extensions: "extensions"
  }
}
