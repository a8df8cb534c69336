/**
 * The revisions with sessions, without their codecs: what a client knows of them that has not met one.
 *
 * Owns the rules of the newest one, which the others change.
 */
import type { Rules, Version } from "./types.ts"

/** Oldest first. */
export const versions: ReadonlyArray<Version> = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
/** The newest revision that `initialize` negotiates. */
export const latest: Version = "2025-11-25"

/** The rules of the newest one. */
export const rules: Rules = {
  batches: false,
  unreadableId: undefined,
  invalidToolArguments: "result",
  resourceNotFound: -32002,
  completionsDeclared: true,
  progressMessage: true,
  structuredOutput: true,
  elicitation: { form: true, url: true },
  samplingTools: true,
  samplingContextDeclared: true,
  polling: true,
  tasks: true,
  missingCapability: "result",
  anyStructuredContent: false,
  extensions: "experimental"
}
