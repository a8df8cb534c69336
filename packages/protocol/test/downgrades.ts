/** One value for each row of the downgrade table, the message that carries it, and its form in an older revision. */
import * as Schema from "effect/Schema"
import type * as Revision from "@effect-mcp/protocol/Revision"

type Fields = { readonly [key: string]: unknown }
export type Place = (fields: Fields) => {
  readonly write: (revision: Revision.Revision) => unknown
  readonly value: unknown
}

export interface Case {
  readonly row: string
  readonly since: Revision.Version
  readonly how: "drop" | "text" | "rewrite" | "error"
  readonly place: Place
  readonly say: Fields
  readonly gets?: Fields
  readonly refused?: string
}

const at =
  (
    codec: (revision: Revision.Revision) => Schema.Codec<unknown, unknown> | undefined,
    wrap: (fields: Fields) => Fields
  ): Place =>
  (fields) => {
    const value = wrap(fields)
    return { value, write: (revision) => Schema.encodeUnknownSync(codec(revision)!)(value) }
  }

// The smallest messages that can carry the values of a test.
const version = "2025-11-25"
const who = { name: "n", version: "1" }
export const client = at(
  (r) => r.clientRequests["initialize"]?.params,
  (f) => ({ protocolVersion: version, capabilities: f, clientInfo: who })
)
// 2026-07-28 sends declarations in another message.
const server = at(
  (r) => (r.clientRequests["initialize"] ?? r.clientRequests["server/discover"])?.result,
  (f) => ({ protocolVersion: version, supportedVersions: [version], capabilities: f, serverInfo: who })
)
const implementation = at(
  (r) => r.clientRequests["initialize"]?.params,
  (f) => ({
    protocolVersion: version,
    capabilities: {},
    clientInfo: { ...who, ...f }
  })
)
export const called = at(
  (r) => r.clientRequests["tools/call"]?.result,
  (f) => f
)
const block = at(
  (r) => r.clientRequests["tools/call"]?.result,
  (f) => ({ content: [f] })
)
const text: Place = (f) => block({ type: "text", text: "t", ...f })
const image: Place = (f) => block({ type: "image", data: "AAAA", mimeType: "image/png", ...f })
const embedded: Place = (f) => block({ type: "resource", resource: { uri: "a:b", text: "t" }, ...f })
const textContents: Place = (f) => block({ type: "resource", resource: { uri: "a:b", text: "t", ...f } })
const blobContents: Place = (f) => block({ type: "resource", resource: { uri: "a:b", blob: "AAAA", ...f } })
const annotations: Place = (f) => text({ annotations: { priority: 1, ...f } })
export const tool = at(
  (r) => r.clientRequests["tools/list"]?.result,
  (f) => ({ tools: [{ name: "t", inputSchema: { type: "object" }, ...f }] })
)
const tools = at(
  (r) => r.clientRequests["tools/list"]?.result,
  (f) => ({ tools: [], ...f })
)
const prompt = at(
  (r) => r.clientRequests["prompts/list"]?.result,
  (f) => ({ prompts: [{ name: "p", ...f }] })
)
const prompts = at(
  (r) => r.clientRequests["prompts/list"]?.result,
  (f) => ({ prompts: [], ...f })
)
const argument: Place = (f) => prompt({ arguments: [{ name: "a", ...f }] })
const resource = at(
  (r) => r.clientRequests["resources/list"]?.result,
  (f) => ({ resources: [{ uri: "a:b", name: "r", ...f }] })
)
const resources = at(
  (r) => r.clientRequests["resources/list"]?.result,
  (f) => ({ resources: [], ...f })
)
const templates = at(
  (r) => r.clientRequests["resources/templates/list"]?.result,
  (f) => ({ resourceTemplates: [], ...f })
)
const template: Place = (f) => templates({ resourceTemplates: [{ uriTemplate: "a:{b}", name: "r", ...f }] })
const read = at(
  (r) => r.clientRequests["resources/read"]?.result,
  (f) => ({ contents: [], ...f })
)
const progress = at(
  (r) => r.serverNotifications["notifications/progress"],
  (f) => ({ progressToken: 1, progress: 1, ...f })
)
const calling = at(
  (r) => r.clientRequests["tools/call"]?.params,
  (f) => ({ name: "t", ...f })
)
const getting = at(
  (r) => r.clientRequests["prompts/get"]?.params,
  (f) => ({ name: "p", ...f })
)
const reading = at(
  (r) => r.clientRequests["resources/read"]?.params,
  (f) => ({ uri: "a:b", ...f })
)
const cancelled = at(
  (r) => r.clientNotifications["notifications/cancelled"],
  (f) => f
)
const complete = at(
  (r) => r.clientRequests["completion/complete"]?.params,
  (f) => ({
    ref: { type: "ref/prompt", name: "p" },
    argument: { name: "a", value: "" },
    ...f
  })
)
const reference: Place = (f) => complete({ ref: { type: "ref/prompt", name: "p", ...f } })
const root = at(
  (r) => r.serverRequests["roots/list"]?.result,
  (f) => ({ roots: [{ uri: "file:///a", ...f }] })
)
export const ask = at(
  (r) => r.serverRequests["sampling/createMessage"]?.params,
  (f) => ({ messages: [], maxTokens: 1, ...f })
)
export const hello = { type: "text", text: "hello" }
const message: Place = (f) => ask({ messages: [{ role: "user", content: hello, ...f }] })
export const answer = at(
  (r) => r.serverRequests["sampling/createMessage"]?.result,
  (f) => ({ role: "assistant", model: "m", content: hello, ...f })
)
const form = at(
  (r) => r.serverRequests["elicitation/create"]?.params,
  (f) => ({
    message: "m",
    requestedSchema: { type: "object", properties: {} },
    ...f
  })
)
const schema: Place = (f) => form({ requestedSchema: { type: "object", properties: {}, ...f } })
const property: Place = (f) => schema({ properties: { p: f } })
const url = at(
  (r) => r.serverRequests["elicitation/create"]?.params,
  (f) => ({ mode: "url", message: "m", url: "https://a.b", ...f })
)
const reply = at(
  (r) => r.serverRequests["elicitation/create"]?.result,
  (f) => ({ action: "accept", ...f })
)

const drop = (row: string, since: Revision.Version, place: Place, say: Fields, gets: Fields = {}): Case => ({
  row,
  since,
  how: "drop",
  place,
  say,
  gets
})
const change = (
  how: "drop" | "text" | "rewrite",
  row: string,
  since: Revision.Version,
  place: Place,
  say: Fields,
  gets: Fields
): Case => ({ row, since, how, place, say, gets })
const refuse = (row: string, since: Revision.Version, place: Place, say: Fields, refused: string): Case => ({
  row,
  since,
  how: "error",
  place,
  say,
  refused
})

const meta = { _meta: { "a/b": 1 } }
const title = { title: "T" }
export const icons = { icons: [{ src: "https://a/i.png" }] }
export const toolUse = { type: "tool_use", id: "1", name: "add", input: {} }
const toolResult = { type: "tool_result", toolUseId: "1", content: [] }
const link = { type: "resource_link", uri: "a:b", name: "r" }
export const audio = { type: "audio", data: "AAECAw==", mimeType: "audio/wav" }
const choices = [
  { const: "a", title: "A" },
  { const: "b", title: "B" }
]

export const cases: ReadonlyArray<Case> = [
  drop("ClientCapabilities.elicitation", "2025-06-18", client, { elicitation: {} }),
  drop("ClientCapabilities.tasks", "2025-11-25", client, { tasks: {} }),
  change("rewrite", "ClientCapabilities.elicitation", "2025-11-25", client, { elicitation: { url: {} } }, {}),
  change("rewrite", "ClientCapabilities.sampling", "2025-11-25", client, { sampling: { tools: {} } }, { sampling: {} }),
  drop("ServerCapabilities.completions", "2025-03-26", server, { completions: {} }),
  drop("ServerCapabilities.tasks", "2025-11-25", server, { tasks: {} }),
  drop("Implementation.title", "2025-06-18", implementation, title),
  drop("Implementation.icons", "2025-11-25", implementation, icons),
  drop("Implementation.description", "2025-11-25", implementation, { description: "d" }),
  drop("Implementation.websiteUrl", "2025-11-25", implementation, { websiteUrl: "https://a" }),
  drop("ProgressParams.message", "2025-03-26", progress, { message: "m" }),
  refuse(
    "CancelledParams.requestId",
    "2025-11-25",
    cancelled,
    {},
    "MCP 2025-06-18 cannot express a cancellation without a request id"
  ),

  change("text", "AudioContent.*", "2025-03-26", block, audio, { type: "text", text: "[audio: audio/wav, 4 bytes]" }),
  change("text", "ResourceLink.*", "2025-06-18", block, link, { type: "text", text: "[resource: r, a:b]" }),
  drop("ResourceLink.icons", "2025-11-25", block, { ...link, ...icons }, link),
  drop("AudioContent._meta", "2025-06-18", block, { ...audio, ...meta }, audio),
  drop("TextContent._meta", "2025-06-18", text, meta),
  drop("ImageContent._meta", "2025-06-18", image, meta),
  drop("EmbeddedResource._meta", "2025-06-18", embedded, meta),
  drop("TextResourceContents._meta", "2025-06-18", textContents, meta),
  drop("BlobResourceContents._meta", "2025-06-18", blobContents, meta),
  drop("Annotations.lastModified", "2025-06-18", annotations, { lastModified: "2025-01-01T00:00:00Z" }),

  ...(
    [
      "ListResourcesResult",
      "ListResourceTemplatesResult",
      "ReadResourceResult",
      "ListPromptsResult",
      "ListToolsResult"
    ] as const
  ).flatMap((type, i) => [
    drop(`${type}.ttlMs`, "2026-07-28", [resources, templates, read, prompts, tools][i]!, { ttlMs: 1 }),
    drop(`${type}.cacheScope`, "2026-07-28", [resources, templates, read, prompts, tools][i]!, {
      cacheScope: "private"
    })
  ]),
  ...(["CallToolParams", "GetPromptParams", "ReadResourceParams"] as const).flatMap((type, i) => [
    drop(`${type}.inputResponses`, "2026-07-28", [calling, getting, reading][i]!, {
      inputResponses: { a: { action: "decline" } }
    }),
    drop(`${type}.requestState`, "2026-07-28", [calling, getting, reading][i]!, { requestState: "s" })
  ]),
  drop("Resource.title", "2025-06-18", resource, title),
  drop("Resource._meta", "2025-06-18", resource, meta),
  drop("Resource.icons", "2025-11-25", resource, icons),
  drop("ResourceTemplate.title", "2025-06-18", template, title),
  drop("ResourceTemplate._meta", "2025-06-18", template, meta),
  drop("ResourceTemplate.icons", "2025-11-25", template, icons),
  drop("Prompt.title", "2025-06-18", prompt, title),
  drop("Prompt._meta", "2025-06-18", prompt, meta),
  drop("Prompt.icons", "2025-11-25", prompt, icons),
  drop("PromptArgument.title", "2025-06-18", argument, title),
  drop("PromptReference.title", "2025-06-18", reference, title),
  drop("CompleteParams.context", "2025-06-18", complete, { context: { arguments: { a: "b" } } }),
  drop("Root._meta", "2025-06-18", root, meta),

  drop("Tool.annotations", "2025-03-26", tool, { annotations: { readOnlyHint: true } }),
  drop("Tool.title", "2025-06-18", tool, title),
  drop("Tool.outputSchema", "2025-06-18", tool, { outputSchema: { type: "object" } }),
  drop("Tool._meta", "2025-06-18", tool, meta),
  drop("Tool.icons", "2025-11-25", tool, icons),
  drop("Tool.execution", "2025-11-25", tool, { execution: { taskSupport: "optional" } }),
  drop("Tool.outputSchema", "2026-07-28", tool, { outputSchema: { type: "array" } }),
  change(
    "rewrite",
    "Tool.outputSchema",
    "2026-07-28",
    tool,
    { outputSchema: { type: "object", properties: { a: false } } },
    { outputSchema: { type: "object", properties: { a: { not: {} } } } }
  ),
  change(
    "rewrite",
    "Tool.inputSchema",
    "2026-07-28",
    tool,
    { inputSchema: { type: "object", properties: { a: true, b: { type: "string" } } } },
    { inputSchema: { type: "object", properties: { a: {}, b: { type: "string" } } } }
  ),
  change(
    "text",
    "CallToolResult.structuredContent",
    "2025-06-18",
    called,
    { content: [hello], structuredContent: { a: 1 } },
    { content: [hello] }
  ),
  change(
    "text",
    "CallToolResult.structuredContent",
    "2026-07-28",
    called,
    { content: [], structuredContent: [1] },
    { content: [{ type: "text", text: "[1]" }] }
  ),

  refuse(
    "CreateMessageParams.tools",
    "2025-11-25",
    ask,
    { tools: [] },
    "MCP 2025-06-18 cannot express sampling with tools"
  ),
  refuse(
    "CreateMessageParams.toolChoice",
    "2025-11-25",
    ask,
    { toolChoice: { mode: "auto" } },
    "MCP 2025-06-18 cannot express sampling with a tool choice"
  ),
  change(
    "rewrite",
    "CreateMessageParams.messages",
    "2025-11-25",
    ask,
    {
      messages: [
        { role: "user", content: [hello, audio] },
        { role: "assistant", content: hello }
      ]
    },
    {
      messages: [
        { role: "user", content: hello },
        { role: "user", content: audio },
        { role: "assistant", content: hello }
      ]
    }
  ),
  drop("SamplingMessage._meta", "2025-11-25", message, meta),
  change(
    "text",
    "CreateMessageResult.content",
    "2025-11-25",
    answer,
    { content: [hello, hello] },
    {
      content: { type: "text", text: "hello\nhello" }
    }
  ),
  refuse(
    "ToolUseContent.*",
    "2025-11-25",
    message,
    { content: toolUse },
    `MCP 2025-06-18 cannot express a call to tool "add" in a sampling message`
  ),
  refuse(
    "ToolResultContent.*",
    "2025-11-25",
    message,
    { content: toolResult },
    "MCP 2025-06-18 cannot express a tool result in a sampling message"
  ),
  change(
    "text",
    "ToolResultContent.structuredContent",
    "2026-07-28",
    message,
    { content: { ...toolResult, structuredContent: "a" } },
    { content: { ...toolResult, content: [{ type: "text", text: `"a"` }] } }
  ),

  drop("ElicitFormParams.mode", "2025-11-25", form, { mode: "form" }),
  drop("RequestedSchema.$schema", "2025-11-25", schema, { $schema: "https://json-schema.org/draft/2020-12/schema" }),
  drop("StringSchema.default", "2025-11-25", property, { type: "string", default: "a" }, { type: "string" }),
  drop("NumberSchema.default", "2025-11-25", property, { type: "integer", default: 1 }, { type: "integer" }),
  drop(
    "EnumSchema.default",
    "2025-11-25",
    property,
    { type: "string", enum: ["a"], default: "a" },
    { type: "string", enum: ["a"] }
  ),
  change(
    "rewrite",
    "TitledEnumSchema.*",
    "2025-11-25",
    property,
    { type: "string", title: "T", oneOf: choices, default: "a" },
    { type: "string", title: "T", enum: ["a", "b"], enumNames: ["A", "B"] }
  ),
  refuse(
    "MultiEnumSchema.*",
    "2025-11-25",
    property,
    { type: "array", title: "Toppings", items: { type: "string", enum: ["a"] } },
    'MCP 2025-06-18 cannot express a form in which the field "Toppings" takes several choices. Ask for a single choice, or for true or false per choice'
  ),
  refuse(
    "TitledMultiEnumSchema.*",
    "2025-11-25",
    property,
    { type: "array", items: { anyOf: choices } },
    "MCP 2025-06-18 cannot express a form in which a field takes several choices. Ask for a single choice, or for true or false per choice"
  ),
  refuse(
    "ElicitUrlParams.*",
    "2025-11-25",
    url,
    { elicitationId: "1" },
    "MCP 2025-06-18 cannot express elicitation by URL"
  ),
  refuse(
    "ElicitUrlParams.elicitationId",
    "2026-07-28",
    url,
    {},
    "MCP 2025-11-25 cannot express elicitation by URL without an elicitationId"
  ),
  refuse(
    "ElicitResult.content",
    "2025-11-25",
    reply,
    { content: { a: ["x", "y"] } },
    `MCP 2025-06-18 cannot express several answers to "a"`
  )
]
