/**
 * The revisions with sessions, without their codecs. This is all a client needs to know before it connects to one of
 * them.
 *
 * The rules are the newest revision's. Older revisions override some of them.
 */
import type { Rules, Version } from "./types.ts"

/** Oldest first. */
export const versions: ReadonlyArray<Version> = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
/** The newest revision that can be negotiated with `initialize`. */
export const latest: Version = "2025-11-25"

/** Rules of the newest revision with sessions. */
export const rules: Rules = {
  batches: false,
  unreadableId: undefined,
  invalidToolArguments: "result",
  resourceNotFound: -32002,
  completionsDeclared: true,
  progressMessage: true,
  structuredOutput: true,
  resourceLinks: true,
  elicitation: { form: true, url: true },
  samplingTools: true,
  samplingContextDeclared: true,
  polling: true,
  tasks: true,
  missingCapability: "result",
  anyStructuredContent: false,
  extensions: "experimental"
}
