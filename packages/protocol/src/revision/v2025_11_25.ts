/**
 * 2025-11-25: the newest revision with sessions.
 *
 * New in it: icons, elicitation by URL, sampling with tools and arrays of content, richer enums and defaults in forms, core tasks.
 * Tools have `execution`, clients may poll streams, and the context of sampling is declared. Arguments of a tool that do not fit are a
 * failed result, and an error without a readable id has none. The fields are dated in `Downgrade`.
 */
import type { Revision } from "./types.ts"
import { methodCodecs } from "./MethodCodecs.ts"

export const revision: Revision = {
  version: "2025-11-25",
  era: "stateful",
  ...methodCodecs("2025-11-25"),
  rules: {
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
}
