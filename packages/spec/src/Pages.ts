/**
 * The pages of the specification in each revision, and links to their sections.
 *
 * Contains the table of sections that moved between revisions. Requirements name a section as in the newest stateful revision, or as in
 * 2026-07-28 if it is new there. This module finds it in the others.
 */
import type { Requirement, Revision } from "./Requirement.ts"

const common = [
  "",
  "architecture",
  "basic",
  "client/roots",
  "client/sampling",
  "server",
  "server/prompts",
  "server/resources",
  "server/tools",
  "server/utilities/completion",
  "server/utilities/logging",
  "server/utilities/pagination"
]

const handshake = [
  ...common,
  "basic/lifecycle",
  "basic/transports",
  "basic/utilities/cancellation",
  "basic/utilities/ping",
  "basic/utilities/progress"
]

const bestPractices = "tutorials/security/security_best_practices"
/** Pages of extensions, which are the same for all revisions. */
const extensions = ["extensions/auth/enterprise-managed-authorization", "extensions/auth/oauth-client-credentials"]

/** The normative pages of every revision, without changelogs and the rendered schema. */
export const pages: Readonly<Record<Revision, ReadonlyArray<string>>> = {
  "2024-11-05": [...handshake, "basic/messages"],
  "2025-03-26": [...handshake, "basic/authorization"],
  "2025-06-18": [...handshake, "basic/authorization", "client/elicitation", bestPractices],
  "2025-11-25": [
    ...handshake,
    ...extensions,
    "basic/authorization",
    "basic/utilities/tasks",
    "client/elicitation",
    bestPractices
  ],
  "2026-07-28": [
    ...common,
    "basic/authorization",
    "basic/authorization/authorization-server-discovery",
    "basic/authorization/client-registration",
    "basic/authorization/security-considerations",
    "basic/patterns",
    "basic/patterns/cancellation",
    "basic/patterns/mrtr",
    "basic/patterns/progress",
    "basic/patterns/subscriptions",
    "basic/transports",
    "basic/transports/stdio",
    "basic/transports/streamable-http",
    "basic/versioning",
    "client/elicitation",
    "deprecated",
    "server/discover",
    "server/utilities/caching",
    ...extensions,
    "extensions/apps",
    "extensions/skills",
    "extensions/tasks",
    bestPractices
  ]
}

const moved: { readonly [R in Revision]?: Readonly<Record<string, string>> } = {
  "2024-11-05": {
    "basic#messages": "basic/messages",
    "basic#requests": "basic/messages#requests",
    "basic#responses": "basic/messages#responses",
    "basic#notifications": "basic/messages#notifications",
    "basic/lifecycle#timeouts": "basic/lifecycle#error-handling"
  },
  "2025-03-26": {
    "basic/authorization#authorization-code-protection": "basic/authorization#implementation-requirements",
    "basic/authorization#token-theft": "basic/authorization#implementation-requirements"
  },
  "2026-07-28": {
    "basic/lifecycle#stdio": "basic/transports/stdio#shutdown",
    "basic/lifecycle#timeouts": "basic/patterns/cancellation#timeouts",
    "basic/transports#stdio": "basic/transports/stdio",
    "basic/transports#security-warning": "basic/transports/streamable-http#security-endpoint",
    "basic/transports#sending-messages-to-the-server": "basic/transports/streamable-http#sending-messages",
    "basic/transports#protocol-version-header": "basic/transports/streamable-http#protocol-version-header",
    "basic/transports#backwards-compatibility": "basic/transports/streamable-http#http-sse-transport-2024-11-05",
    "basic/utilities/cancellation#behavior-requirements": "basic/patterns/cancellation#behavior-requirements",
    "basic/utilities/cancellation#timing-considerations": "basic/patterns/cancellation#timing-considerations",
    "basic/utilities/cancellation#implementation-notes": "basic/patterns/cancellation#implementation-notes",
    "basic/utilities/cancellation#error-handling": "basic/patterns/cancellation#error-handling",
    "basic/utilities/progress#progress-flow": "basic/patterns/progress#progress-flow",
    "basic/utilities/progress#behavior-requirements": "basic/patterns/progress#behavior-requirements",
    "basic/utilities/progress#implementation-notes": "basic/patterns/progress#implementation-notes",
    "basic/authorization#protected-resource-metadata-discovery-requirements":
      "basic/authorization/authorization-server-discovery#protected-resource-metadata-discovery-requirements",
    "basic/authorization#authorization-server-metadata-discovery":
      "basic/authorization/authorization-server-discovery#authorization-server-metadata-discovery",
    "basic/authorization#authorization-server-location":
      "basic/authorization/authorization-server-discovery#authorization-server-location",
    "basic/authorization#client-registration-approaches": "basic/authorization/client-registration",
    "basic/authorization#client-id-metadata-documents":
      "basic/authorization/client-registration#client-id-metadata-documents",
    "basic/authorization#implementation-requirements":
      "basic/authorization/client-registration#implementation-requirements",
    "basic/authorization#discovery": "basic/authorization/client-registration#advertising-cimd-support",
    "basic/authorization#preregistration": "basic/authorization/client-registration#pre-registration",
    "basic/authorization#communication-security": "basic/authorization/security-considerations#communication-security",
    "basic/authorization#authorization-code-protection":
      "basic/authorization/security-considerations#authorization-code-protection",
    "basic/authorization#open-redirection": "basic/authorization/security-considerations#open-redirection",
    "basic/authorization#token-theft": "basic/authorization/security-considerations#token-theft",
    "basic/authorization#access-token-privilege-restriction":
      "basic/authorization/security-considerations#access-token-privilege-restriction",
    "basic/authorization#confused-deputy-problem":
      "basic/authorization/security-considerations#confused-deputy-problem",
    "basic/authorization#localhost-redirect-uri-risks":
      "basic/authorization/security-considerations#localhost-redirect-uri-risks"
  }
}

/** Returns a requirement's section in the given revision. */
export const sectionIn = (requirement: Requirement, revision: Revision): string =>
  moved[revision]?.[requirement.section] ?? requirement.section

/** Returns the URL of a requirement in the specification. */
export const link = (requirement: Requirement, revision: Revision): string => {
  const section = sectionIn(requirement, revision)
  const site = "https://modelcontextprotocol.io"
  if (section.startsWith("extensions/")) return `${site}/${section}`
  if (section.startsWith("tutorials/")) return `${site}/docs/${revision}/${section}`
  const separator = section === "" || section.startsWith("#") ? "" : "/"
  return `${site}/specification/${revision}${separator}${section}`
}
