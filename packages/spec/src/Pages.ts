/**
 * The pages of the specification: which exist in which revision, and how a section is linked.
 *
 * Owns the table of sections that moved between revisions. A section is written once, as the newest stateful revision
 * names it; here it is found again in the others.
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

/** The normative pages of every revision, without changelogs and the rendered schema. */
export const pages: Readonly<Record<Revision, ReadonlyArray<string>>> = {
  "2024-11-05": [...handshake, "basic/messages"],
  "2025-03-26": [...handshake, "basic/authorization"],
  "2025-06-18": [...handshake, "basic/authorization", "client/elicitation"],
  "2025-11-25": [...handshake, "basic/authorization", "basic/utilities/tasks", "client/elicitation"],
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
    "server/utilities/caching"
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
  }
}

/** The section of a requirement as the given revision names it. */
export const sectionIn = (requirement: Requirement, revision: Revision): string =>
  moved[revision]?.[requirement.section] ?? requirement.section

/** The address of a requirement in the specification. */
export const link = (requirement: Requirement, revision: Revision): string => {
  const section = sectionIn(requirement, revision)
  const separator = section === "" || section.startsWith("#") ? "" : "/"
  return `https://modelcontextprotocol.io/specification/${revision}${separator}${section}`
}
