/**
 * Which declaration of the server's a request needs (spec: basic/lifecycle, capability negotiation).
 */
import type { ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import type { Revision } from "@effect-mcp/protocol/Revision"

type Needed = (capabilities: ServerCapabilities, revision: Revision) => string | undefined

const needs =
  (feature: "tools" | "prompts" | "resources" | "logging"): Needed =>
  (capabilities) =>
    capabilities[feature] === undefined ? feature : undefined

const subscribe: Needed = ({ resources }) => (resources?.subscribe === true ? undefined : "resources.subscribe")

const table: { readonly [method: string]: Needed | undefined } = {
  "tools/list": needs("tools"),
  "tools/call": needs("tools"),
  "prompts/list": needs("prompts"),
  "prompts/get": needs("prompts"),
  "resources/list": needs("resources"),
  "resources/templates/list": needs("resources"),
  "resources/read": needs("resources"),
  "resources/subscribe": subscribe,
  "resources/unsubscribe": subscribe,
  "logging/setLevel": needs("logging"),
  // 2024-11-05 has no such declaration.
  "completion/complete": (capabilities, { rules }) =>
    rules.completionsDeclared && capabilities.completions === undefined ? "completions" : undefined
}

/** The declaration that is missing, dotted; nothing when the request may be sent. */
export const missingFor = (method: string, capabilities: ServerCapabilities, revision: Revision): string | undefined =>
  table[method]?.(capabilities, revision)
