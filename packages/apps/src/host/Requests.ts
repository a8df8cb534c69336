/** The requests that a view may send. Each is decoded first. Tool calls, links, messages and files need consent. */
import { ConsentDenied } from "@effect-mcp/client/ClientError"
import * as Consent from "@effect-mcp/client/Consent"
import type * as McpClient from "@effect-mcp/client/McpClient"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { ContentBlock } from "@effect-mcp/protocol/model/Content"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Tool } from "@effect-mcp/protocol/model/Tool"
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { isFor } from "../contract/UiExtension.ts"
import type { DisplayMode } from "../view/types.ts"
import type { ViewLimits } from "./Bounds.ts"
import { called, type Options, type SavedFile } from "./Handlers.ts"
import * as Messages from "./Messages.ts"

/** Error code for a request that the user or the host denied. */
export const refusedCode = -32000

export const refused = (message: string): McpError.McpError => new McpError.McpError({ code: refusedCode, message })

/** The parts of a host and a session that requests use. */
export interface RequestHost {
  readonly client: McpClient.McpClient["Service"]
  readonly consent: Consent.Policy
  readonly options: Options
  readonly limits: ViewLimits
  /** The server's tools. */
  readonly tools: Effect.Effect<ReadonlyArray<Tool>, unknown>
  /** URI of the view. */
  readonly view: string
  /** Answers `ui/initialize`. */
  readonly initialize: (params: typeof Messages.Initialize.Type) => JsonObject
  /** The view's display mode, and the modes that both sides support. */
  readonly mode: () => { readonly current: DisplayMode; readonly supported: ReadonlyArray<DisplayMode> }
  /** Tells the view that its display mode has changed. */
  readonly modeChanged: (mode: DisplayMode) => Effect.Effect<void>
}

/** Answers a request. The view only sees failures that are an `McpError`. */
export type RequestAnswer = (params: unknown, host: RequestHost) => Effect.Effect<JsonObject, unknown>

const answer = <S extends Schema.Codec<unknown, unknown>>(
  schema: S,
  run: (params: S["Type"], host: RequestHost) => Effect.Effect<JsonObject, unknown>
): RequestAnswer => {
  const decode = Schema.decodeUnknownEffect(schema)
  return (params, host) =>
    Effect.flatMap(
      Effect.mapError(decode(params), ({ message }) => McpError.invalidParams(message)),
      (params) => run(params, host)
    )
}

const Anything = Schema.Unknown

/** Fails if the host lacks the ability. */
const able = <H>(handler: H | undefined, ability: string): Effect.Effect<H, McpError.McpError> =>
  handler === undefined ? Effect.fail(refused(`This host cannot ${ability}`)) : Effect.succeed(handler)

type Without<A, K extends PropertyKey> = A extends A ? Omit<A, K> : never

/** Runs one of the host's handlers if the policy consents. Its failures are not shown to the view. */
const consented = (
  { client, consent, view }: RequestHost,
  wish: Without<Consent.ViewAction, "server" | "view">,
  run: () => Effect.Effect<void, unknown>
): Effect.Effect<JsonObject, unknown> =>
  Effect.as(Consent.guard(consent, { ...wish, server: client.serverInfo, view }, called(run)), {})

const callTool = answer(Messages.CallTool, ({ arguments: args = {}, name }, { client, tools, view }) =>
  Effect.gen(function* () {
    const tool = (yield* tools).find((tool) => tool.name === name)
    if (tool === undefined) return yield* McpError.unknownTool(name)
    if (!isFor("app", tool)) return yield* refused(`Views may not call the tool ${name}`)
    return { ...(yield* client.callToolByName(name, args, { view })) }
  })
)

const listTools = answer(Anything, (_, { tools }) =>
  Effect.map(tools, (tools) => ({ tools: tools.filter((tool) => isFor("app", tool)) }))
)

const readResource = answer(Messages.ReadResource, ({ uri }, { client }) =>
  Effect.map(client.readResource(uri), (result) => ({ ...result }))
)

const listResources = answer(Anything, (_, { client }) =>
  Effect.map(Stream.runCollect(client.listResources), (resources) => ({ resources }))
)

const openLink = answer(Messages.OpenLink, ({ url }, host) =>
  Effect.gen(function* () {
    const open = yield* able(host.options.openLink, "open links")
    const { href = "", protocol = "" } = URL.parse(url) ?? {}
    if (protocol !== "https:" && protocol !== "http:") return yield* refused("Only http and https links can be opened")
    return yield* consented(host, { _tag: "OpenLink", url: href }, () => open(href, host.view))
  })
)

const isBlocks = (content: ContentBlock | ReadonlyArray<ContentBlock>): content is ReadonlyArray<ContentBlock> =>
  Array.isArray(content)

const message = answer(Messages.UserMessage, ({ content }, host) =>
  Effect.gen(function* () {
    const send = yield* able(host.options.sendMessage, "receive messages")
    const blocks = isBlocks(content) ? content : [content]
    return yield* consented(host, { _tag: "SendMessage", content: blocks }, () => send(blocks, host.view))
  })
)

const updateModelContext = answer(Messages.ModelContext, (context, host) =>
  Effect.gen(function* () {
    const update = yield* able(host.options.updateModelContext, "receive context for the model")
    const { modelContextLength } = host.limits
    if (JSON.stringify(context).length > modelContextLength) {
      return yield* refused(`The context is longer than ${modelContextLength} characters`)
    }
    return yield* Effect.as(
      called(() => update(context, host.view)),
      {}
    )
  })
)

const requestDisplayMode = answer(Messages.RequestDisplayMode, ({ mode }, host) =>
  Effect.gen(function* () {
    const { current, supported } = host.mode()
    const { changeMode } = host.options
    if (changeMode === undefined || mode === current || !supported.includes(mode)) return { mode: current }
    const changed = yield* called(() => changeMode(mode, host.view))
    if (changed !== current) yield* host.modeChanged(changed)
    return { mode: changed }
  })
)

/** Names that Windows reserves for devices, with any extension. */
const device = /^(?:con|prn|aux|nul|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3])(?:\.|$)/i

/**
 * Returns a file name without folders, control characters, invisible characters, leading dots, or dots and spaces at the end, which Windows
 * drops. The name is never a device's.
 */
export const fileName = (uri: string): string => {
  const [last = ""] = (uri.split(/[?#]/)[0] ?? "").split("/").toReversed()
  const decoded = Result.getOrElse(
    Result.try(() => decodeURIComponent(last)),
    () => last
  )
  // oxlint-disable-next-line no-control-regex -- names with control characters deceive the user
  const name = decoded.replaceAll(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069/\\:*?"<>|]/g, "_")
  const kept = name
    .replaceAll(/[\u{e0000}-\u{e007f}]/gu, "")
    .replace(/^[.\s]+/, "")
    .slice(0, 120)
    .toWellFormed()
    .replace(/[.\s]+$/, "")
  return device.test(kept) ? `_${kept}` : kept || "download"
}

const fileOf = (block: ContentBlock): SavedFile | undefined => {
  if (block.type !== "resource") return undefined
  const { resource } = block
  const name = fileName(resource.uri)
  if ("text" in resource) return { name, mimeType: resource.mimeType, data: resource.text }
  const bytes = Base64.decode(resource.blob)
  return Result.isSuccess(bytes) ? { name, mimeType: resource.mimeType, data: bytes.success } : undefined
}

const encoder = new TextEncoder()
/** Maximum number of files in a request. The policy may ask the user about each one. */
const maxFiles = 16

const download = answer(Messages.DownloadFile, ({ contents }, host) =>
  Effect.gen(function* () {
    const save = yield* able(host.options.download, "save files")
    if (contents.length > maxFiles) return yield* refused(`At most ${maxFiles} files can be saved at once`)
    const files = contents.map(fileOf).filter((file) => file !== undefined)
    if (files.length < contents.length) return yield* refused("Only embedded files can be saved")
    for (const file of files) {
      const bytes = typeof file.data === "string" ? encoder.encode(file.data).length : file.data.length
      const action = { _tag: "Download", file: file.name, bytes } as const
      yield* consented(host, action, () => save(file, host.view))
    }
    return {}
  })
)

/** The requests by method. */
export const requests: ReadonlyMap<string, RequestAnswer> = new Map<string, RequestAnswer>([
  ["ping", answer(Anything, () => Effect.succeed({}))],
  ["ui/initialize", answer(Messages.Initialize, (params, { initialize }) => Effect.sync(() => initialize(params)))],
  ["tools/call", callTool],
  ["tools/list", listTools],
  ["resources/read", readResource],
  ["resources/list", listResources],
  ["ui/open-link", openLink],
  ["ui/message", message],
  ["ui/update-model-context", updateModelContext],
  ["ui/request-display-mode", requestDisplayMode],
  ["ui/download-file", download]
])

/** Returns the JSON-RPC error for a failure. The message of an unexpected failure is not sent. */
export const errorOf = (
  error: unknown
): { readonly code: number; readonly message: string; readonly data?: unknown } => {
  if (error instanceof McpError.McpError) {
    const { code, data, message } = error
    return { code, message, ...(data === undefined ? undefined : { data }) }
  }
  if (error instanceof ConsentDenied)
    return { code: refusedCode, message: "The user or the host's policy denied the request" }
  return { code: McpError.InternalError, message: "The host failed to handle the request" }
}
