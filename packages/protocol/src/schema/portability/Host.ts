/**
 * The hosts that people use MCP servers with, as data: what each one supports, with sources and dates.
 *
 * Capabilities are negotiated, so a server needs none of this to be correct. It helps to decide what to build, and to explain why a feature
 * is not used.
 */
import type { HostId, ProviderId } from "./PortabilityRule.ts"

/** A feature of the protocol that a host may support. */
export type Feature =
  | "tools"
  | "resources"
  | "prompts"
  | "list changes"
  | "instructions"
  | "elicitation"
  | "sampling"
  | "roots"
  | "tasks"
  | "login"

/** How a host reaches a server. */
export type HostTransport = "stdio" | "Streamable HTTP" | "HTTP+SSE"

/** A statement about a host. */
export interface Fact {
  readonly text: string
  readonly source: string
  /** Date of the source, or else the date it was read, as `YYYY-MM-DD`. */
  readonly seen: string
}

/** A host. */
export interface KnownHost {
  readonly id: HostId
  readonly title: string
  /** Providers whose models the host offers. Each receives the tools' schemas. */
  readonly providers: ReadonlyArray<ProviderId>
  /** Prefixes of the `name` in the host's `clientInfo`, in lower case with hyphens instead of spaces. */
  readonly clientNames: ReadonlyArray<string>
  readonly features: ReadonlyArray<Feature>
  readonly wires: ReadonlyArray<HostTransport>
  /** Limits of time and size. */
  readonly limits: ReadonlyArray<Fact>
  /** Source of `features`: the protocol's own list of clients. */
  readonly source: string
  /** Date of `source`, as `YYYY-MM-DD`. */
  readonly seen: string
  /** Source of `wires`. */
  readonly wireSource: string
}

/** All features, in the same order as on the page about hosts. */
export const features: ReadonlyArray<Feature> = [
  "tools",
  "resources",
  "prompts",
  "list changes",
  "instructions",
  "elicitation",
  "sampling",
  "roots",
  "tasks",
  "login"
]

const every: ReadonlyArray<ProviderId> = ["anthropic", "openai", "gemini"]
const clients =
  "https://github.com/modelcontextprotocol/modelcontextprotocol/blob/0dfb7b627031f94891a80241285a4ae5b8879609/docs/clients.mdx"
const listed = { source: clients, seen: "2026-05-26" }
const matrix = "https://www.developersdigest.tech/mcp-servers/clients"
const all3: ReadonlyArray<HostTransport> = ["stdio", "Streamable HTTP", "HTTP+SSE"]

const rows: { readonly [Id in HostId]: Omit<KnownHost, "id"> } = {
  "claude-code": {
    ...listed,
    title: "Claude Code",
    providers: ["anthropic"],
    clientNames: ["claude-code"],
    features: ["tools", "resources", "prompts", "list changes", "instructions", "elicitation", "roots", "login"],
    wires: all3,
    wireSource: "https://canimcp.dev/client/claude-code",
    limits: [
      {
        text: "Truncates tool descriptions after 2048 characters",
        source: "https://github.com/anthropics/claude-code/issues/41593",
        seen: "2026-03-31"
      },
      {
        text: "One tool whose input schema is not an object hides every tool of its server",
        source: "https://github.com/anthropics/claude-code/issues/88049",
        seen: "2026-08-19"
      }
    ]
  },
  "claude-desktop": {
    ...listed,
    title: "Claude Desktop",
    providers: ["anthropic"],
    clientNames: ["claude-ai", "claude-desktop"],
    features: ["tools", "resources", "prompts", "roots", "login"],
    wires: all3,
    wireSource: matrix,
    limits: [
      {
        text: "Tool names have at most 64 letters, digits, `_` and `-`",
        source: "https://github.com/hostinger/api-mcp-server/issues/51",
        seen: "2026-07-09"
      }
    ]
  },
  codex: {
    ...listed,
    title: "Codex",
    providers: ["openai"],
    clientNames: ["codex"],
    features: ["tools", "resources", "instructions", "elicitation", "login"],
    wires: ["stdio", "Streamable HTTP"],
    wireSource: "https://www.developersdigest.tech/mcp-servers/clients/openai-codex-cli",
    limits: [
      {
        text: "A server has 10 seconds to start (`startup_timeout_sec`)",
        source: "https://github.com/openai/codex/issues/11851",
        seen: "2026-11-28"
      }
    ]
  },
  cursor: {
    ...listed,
    title: "Cursor",
    providers: every,
    clientNames: ["cursor"],
    features: ["tools", "prompts", "elicitation", "roots", "login"],
    wires: all3,
    wireSource: "https://www.developersdigest.tech/mcp-servers/clients/cursor",
    limits: [
      {
        text: "The names of server and tool together have at most 60 characters",
        source: "https://github.com/sparfenyuk/mcp-proxy/issues/45",
        seen: "2025-04-08"
      }
    ]
  },
  vscode: {
    ...listed,
    title: "VS Code",
    providers: every,
    clientNames: ["visual-studio-code", "vscode"],
    features: [...features],
    wires: all3,
    wireSource: "https://canimcp.dev/client/visual-studio-code",
    limits: [
      {
        text: "At most 128 tools of all servers together",
        source: "https://github.com/postmanlabs/postman-mcp-server/pull/26",
        seen: "2026-11-28"
      }
    ]
  },
  chatgpt: {
    ...listed,
    title: "ChatGPT",
    providers: ["openai"],
    clientNames: ["openai-mcp", "chatgpt"],
    features: ["tools", "instructions", "login"],
    wires: ["Streamable HTTP"],
    wireSource: "https://zuplo.com/learn/mcp/compatibility/clients",
    limits: []
  },
  "gemini-cli": {
    ...listed,
    title: "Gemini CLI",
    providers: ["gemini"],
    clientNames: ["gemini-cli"],
    features: ["tools", "prompts", "instructions", "login"],
    wires: all3,
    wireSource: "https://github.com/google-gemini/gemini-cli/blob/main/docs/tools/mcp-server.md",
    limits: [
      {
        text: "A tool whose schema contains itself fails every request",
        source: "https://github.com/google-gemini/gemini-cli/issues/14945",
        seen: "2025-12-11"
      }
    ]
  },
  goose: {
    ...listed,
    title: "Goose",
    providers: every,
    clientNames: ["goose"],
    features: [
      "tools",
      "resources",
      "prompts",
      "list changes",
      "instructions",
      "elicitation",
      "sampling",
      "roots",
      "login"
    ],
    wires: ["stdio", "Streamable HTTP"],
    wireSource: "https://www.developersdigest.tech/mcp-servers/clients/goose",
    limits: []
  },
  zed: {
    ...listed,
    title: "Zed",
    providers: every,
    clientNames: ["zed"],
    features: ["tools", "prompts"],
    wires: ["stdio"],
    wireSource: "https://zed.dev/docs/ai/mcp",
    limits: [
      {
        text: "With a Gemini model, a list as `type` fails every request",
        source: "https://github.com/zed-industries/zed/issues/44875",
        seen: "2026-02-14"
      }
    ]
  }
}

const isId = (id: string): id is HostId => Object.hasOwn(rows, id)

/** All hosts, in the same order as on the page about hosts. */
export const all: ReadonlyArray<KnownHost> = Object.entries(rows).flatMap(([id, row]) =>
  isId(id) ? [{ id, ...row }] : []
)

/** Returns the host with this id, or `undefined` if the table has no such host. */
export const get = (id: string): KnownHost | undefined => (isId(id) ? { id, ...rows[id] } : undefined)

/**
 * Returns the host that sent this `clientInfo`, or `undefined` if the table has no such host. A client chooses its own
 * name, so use the result to serve it better, but never to decide whether to trust it.
 *
 * @example
 * ```ts
 * import { Host } from "@effect-mcp/protocol"
 *
 * console.log(Host.of({ name: "claude-code" })?.title) // => Claude Code
 * ```
 */
export const of = (clientInfo: { readonly name: string }): KnownHost | undefined => {
  const name = clientInfo.name.toLowerCase().replaceAll(" ", "-")
  return all.find(({ clientNames }) => clientNames.some((start) => name === start || name.startsWith(`${start}-`)))
}
