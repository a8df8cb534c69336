/**
 * The rules that decide which hosts and model providers can use a tool, as data.
 *
 * Each row cites the reports it is based on, with their dates. A host that has since been fixed still has users of
 * older versions, so a row is only removed once nobody is affected by it anymore.
 */

/**
 * A company whose API receives tool schemas. A host that offers several models must follow the rules of all their
 * providers.
 */
export type ProviderId = "anthropic" | "openai" | "gemini"

/** A program that people use MCP servers with. */
export type HostId =
  | "claude-code"
  | "claude-desktop"
  | "codex"
  | "cursor"
  | "vscode"
  | "chatgpt"
  | "gemini-cli"
  | "goose"
  | "zed"

/**
 * How a host or provider reacts. `refused`: the tool is missing, or every request of the conversation fails. `misread`: the model sees
 * something else. `ignored`: the keyword has no effect, and only the server checks it.
 */
export type Severity = "refused" | "misread" | "ignored"

/** A report of how a host or provider reacts. */
export interface Evidence {
  readonly on: HostId | ProviderId
  readonly severity: Severity
  readonly source: string
  /** Date of the report, as `YYYY-MM-DD`. */
  readonly seen: string
}

/** A property of a tool that some host or provider cannot handle. */
export interface PortabilityRule {
  /** The part of a tool that breaks the rule, phrased as the subject of a sentence. */
  readonly subject: string
  /** How an author avoids it. */
  readonly mend: string
  /** True if `project` can rewrite the schema so that every value keeps its meaning. */
  readonly projectable: boolean
  readonly evidence: ReadonlyArray<Evidence>
}

const on =
  (severity: Severity) =>
  (subject: Evidence["on"], source: string, seen: string): Evidence => ({ on: subject, severity, source, seen })
const refused = on("refused")
const misread = on("misread")
const ignored = on("ignored")
const issue = (repository: string, number: number): string => `https://github.com/${repository}/issues/${number}`
const pull = (repository: string, number: number): string => `https://github.com/${repository}/pull/${number}`

const openAiRoot = issue("Dicklesworthstone/flywheel_connectors", 49)
const strictOpenAi = issue("openai/openai-java", 732)
const effectOpenAi = "https://effect.website/docs/v4/api/effect/unstable/ai/OpenAiStructuredOutput"
const codexSchema =
  "https://github.com/openai/codex/blob/996aa23e4ce900468047ed3ec57d1e7271f8d6de/codex-rs/tools/src/json_schema.rs"

const rows = {
  "root-type": {
    subject: 'A root without `type: "object"`',
    mend: 'Give the root `type: "object"`',
    projectable: true,
    evidence: [refused("claude-code", issue("anthropics/claude-code", 88049), "2026-08-19")]
  },
  "root-union": {
    subject: "`anyOf` or `oneOf` at the root",
    mend: "Describe one object with a tag and optional properties",
    projectable: true,
    evidence: [
      refused("anthropic", issue("makenotion/notion-mcp-server", 341), "2026-08-05"),
      refused("claude-code", issue("moira-mcp/moira", 177), "2026-09-09"),
      refused("openai", openAiRoot, "2026-05-20"),
      misread("codex", issue("openai/codex", 42283), "2026-09-02")
    ]
  },
  "root-intersection": {
    subject: "`allOf` at the root",
    mend: "Merge the parts into one object",
    projectable: true,
    evidence: [
      refused("claude-code", issue("anthropics/claude-code", 95504), "2026-09-19"),
      refused("anthropic", issue("PostHog/posthog", 61359), "2026-06-03"),
      refused("openai", openAiRoot, "2026-05-20")
    ]
  },
  "root-condition": {
    subject: "A condition at the root (`if`, `not`, `enum`, `const` or `dependent...`)",
    mend: "Explain it in the description, and check it in the handler",
    projectable: true,
    evidence: [
      refused("claude-code", issue("anthropics/claude-code", 95504), "2026-09-19"),
      refused("openai", openAiRoot, "2026-05-20")
    ]
  },
  "root-properties": {
    subject: "A root without `properties`",
    mend: "Give the root `properties: {}`",
    projectable: true,
    evidence: [refused("openai", issue("inboxapi/cli", 106), "2026-05-06")]
  },
  reference: {
    subject: "A reference into `$defs`",
    mend: "Inline the definition",
    projectable: true,
    evidence: [
      misread("vscode", pull("PrefectHQ/fastmcp", 2808), "2026-01-07"),
      misread("claude-desktop", pull("PrefectHQ/fastmcp", 2861), "2026-01-13"),
      refused("claude-code", issue("Goldziher/basemind", 50), "2026-08-24")
    ]
  },
  recursion: {
    subject: "A schema that contains itself",
    mend: "Allow a fixed depth, or pass the value as JSON text",
    projectable: true,
    evidence: [
      refused("gemini-cli", issue("google-gemini/gemini-cli", 14945), "2025-12-11"),
      refused("claude-code", issue("anthropics/claude-code", 77106), "2026-07-13"),
      misread("vscode", pull("PrefectHQ/fastmcp", 2808), "2026-01-07"),
      misread("claude-desktop", pull("PrefectHQ/fastmcp", 2861), "2026-01-13")
    ]
  },
  "broken-reference": {
    subject: "A reference to a missing definition",
    mend: "Put the definition into `$defs` of the same schema",
    projectable: false,
    evidence: [
      refused("claude-code", issue("anthropics/claude-code", 76881), "2026-07-12"),
      refused("cursor", issue("davideast/stitch-mcp", 184), "2026-05-14")
    ]
  },
  dialect: {
    subject: "A `$schema` dialect other than 2020-12",
    mend: "Generate the schema for JSON Schema 2020-12",
    projectable: true,
    evidence: [
      refused("claude-code", issue("anthropics/claude-code", 88882), "2026-08-22"),
      refused("claude-desktop", issue("marianfoo/sap-mcp-servers", 52), "2026-08-27"),
      refused("anthropic", issue("anthropics/claude-code", 586), "2025-07-08")
    ]
  },
  "old-tuple": {
    subject: "A list as `items`",
    mend: "Use one schema as `items`",
    projectable: true,
    evidence: [
      refused("anthropic", pull("hyperdxio/hyperdx", 2925), "2026-08-17"),
      refused("claude-desktop", issue("kintone/mcp-server", 553), "2026-08-18")
    ]
  },
  "old-bound": {
    subject: "A boolean `exclusiveMinimum` or `exclusiveMaximum`",
    mend: "Use a number, as in JSON Schema 2020-12",
    projectable: true,
    evidence: [refused("anthropic", issue("Dokploy/mcp", 74), "2026-08-16")]
  },
  tuple: {
    subject: "`prefixItems`",
    mend: "Use `items`, `minItems` and `maxItems`, or an object with named properties",
    projectable: true,
    evidence: [
      refused("vscode", issue("microsoft/vscode", 244467), "2025-03-24"),
      refused("openai", pull("NousResearch/hermes-agent", 54290), "2026-06-28")
    ]
  },
  "array-items": {
    subject: "An array without `items`",
    mend: "Describe the array's items",
    projectable: true,
    evidence: [
      refused("openai", issue("digitalocean-labs/mcp-digitalocean", 265), "2026-02-14"),
      refused("vscode", issue("agentscope-ai/ReMe", 84), "2026-01-26")
    ]
  },
  "type-list": {
    subject: "A list as `type`",
    mend: "Use `anyOf` with one type in each branch",
    projectable: true,
    evidence: [
      refused("gemini", issue("rikkahub/rikkahub", 1435), "2026-07-03"),
      refused("zed", issue("zed-industries/zed", 44875), "2026-02-14")
    ]
  },
  const: {
    subject: "`const`",
    mend: "Use an `enum` with one value",
    projectable: true,
    evidence: [refused("gemini", issue("taylorwilsdon/google_workspace_mcp", 1099), "2026-09-06")]
  },
  "enum-value": {
    subject: "An `enum` with values other than strings",
    mend: "Use strings, or bounds for numbers",
    projectable: true,
    evidence: [
      refused("gemini", pull("weave-os/router", 65), "2026-05-12"),
      refused("gemini", pull("reposkein/reposkein", 14), "2026-06-24")
    ]
  },
  "exclusive-bound": {
    subject: "`exclusiveMinimum` or `exclusiveMaximum`",
    mend: "Use `minimum` and `maximum`",
    projectable: true,
    evidence: [refused("gemini", issue("pizza-bot-app/pizza-bot", 62), "2026-09-07")]
  },
  "one-of": {
    subject: "`oneOf` below the root",
    mend: "Use `anyOf`",
    projectable: true,
    evidence: [
      refused("gemini", issue("taylorwilsdon/google_workspace_mcp", 1099), "2026-09-06"),
      ignored("codex", codexSchema, "2026-11-28")
    ]
  },
  "all-of": {
    subject: "`allOf` below the root",
    mend: "Merge the parts into one schema",
    projectable: true,
    evidence: [
      refused("openai", issue("makenotion/notion-mcp-server", 102), "2025-08-07"),
      ignored("codex", codexSchema, "2026-11-28")
    ]
  },
  "boolean-schema": {
    subject: "`true` or `false` as a schema",
    mend: "List the allowed values",
    projectable: true,
    evidence: [misread("codex", codexSchema, "2026-11-28")]
  },
  untyped: {
    subject: "A value of any type",
    mend: "Give it a type, or pass it as JSON text",
    projectable: false,
    evidence: [misread("codex", codexSchema, "2026-11-28")]
  },
  "unknown-keyword": {
    subject: "A keyword that Gemini does not support",
    mend: "Explain it in the description, and check it in the handler",
    projectable: true,
    evidence: [
      refused("gemini", pull("zendev-sh/goai", 108), "2026-06-20"),
      refused("gemini", pull("weave-os/router", 65), "2026-05-12"),
      refused("gemini", issue("ahmadrosid/nakama", 292), "2026-08-17")
    ]
  },
  format: {
    subject: "A `format` other than `date-time`",
    mend: "Explain it in the description",
    projectable: true,
    evidence: [refused("gemini", issue("hideya/langchain-mcp-tools-ts", 36), "2025-06-17")]
  },
  condition: {
    subject: "A condition below the root (`if`, `not` or `dependent...`)",
    mend: "Explain it in the description, and check it in the handler",
    projectable: false,
    evidence: [ignored("openai", effectOpenAi, "2026-11-28"), ignored("codex", codexSchema, "2026-11-28")]
  },
  pattern: {
    subject: "A `pattern` with lookaround, a back reference or a named group",
    mend: "Use a simpler pattern, and describe the rest in the description",
    projectable: true,
    evidence: [
      refused("openai", issue("Dokploy/mcp", 45), "2026-05-25"),
      refused("codex", issue("can1357/oh-my-pi", 2784), "2026-06-16")
    ]
  },
  depth: {
    subject: "A schema with more than ten levels",
    mend: "Flatten the input, or pass a part as JSON text",
    projectable: false,
    evidence: [ignored("openai", strictOpenAi, "2026-04-30")]
  },
  "property-name": {
    subject:
      "A property name longer than 64 characters, or with characters other than letters, digits, `_`, `.` and `-`",
    mend: "Rename the property",
    projectable: true,
    evidence: [
      refused("anthropic", issue("twilio-labs/mcp", 56), "2026-02-12"),
      refused("claude-code", issue("IBM-Cloud/ibm-cloud-cli-release", 226), "2026-04-08")
    ]
  },
  "tool-name": {
    subject: "A tool name longer than 64 characters, or with characters other than letters, digits, `_` and `-`",
    mend: "Rename the tool",
    projectable: false,
    evidence: [
      refused("claude-desktop", issue("hostinger/api-mcp-server", 51), "2026-07-09"),
      refused("anthropic", issue("github/copilot-cli", 1879), "2026-03-06"),
      refused("claude-code", issue("cloudflare/skills", 11), "2026-01-29"),
      refused("cursor", issue("sparfenyuk/mcp-proxy", 45), "2025-04-08")
    ]
  },
  description: {
    subject: "A tool description longer than 1024 characters",
    mend: "Shorten it, and move details into the properties' descriptions",
    projectable: false,
    evidence: [
      refused("openai", issue("getsentry/sentry-mcp", 106), "2025-04-25"),
      misread("claude-code", issue("anthropics/claude-code", 41593), "2026-03-31")
    ]
  }
} satisfies { readonly [id: string]: PortabilityRule }

export type RuleId = keyof typeof rows

/** Every rule by its id. */
export const rules: { readonly [Id in RuleId]: PortabilityRule } = rows
