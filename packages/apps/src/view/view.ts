/**
 * The program inside a view: receives the tool's data, calls tools, and talks to the host. For the page only. It is small and contains no
 * Effect.
 *
 * Works with every host that supports MCP Apps (SEP-1865).
 */
import type { ContentBlock } from "@effect-mcp/protocol/model/Content"
import { applyContext } from "./appearance.ts"
import { HostConnection, ViewError } from "./HostConnection.ts"
import { watchSize } from "./size.ts"
import type { ArgumentsOf, DisplayMode, Events, HostCapabilities, HostContext, ToolResult } from "./types.ts"

export { ViewError } from "./HostConnection.ts"
export type * from "./types.ts"

/** Options for a single request. */
export interface ViewRequestOptions {
  /** Cancels the request. */
  readonly signal?: AbortSignal
  /** How long to wait for the answer, in milliseconds. Default 60 seconds. */
  readonly timeout?: number
}

export interface Options {
  /** The view's name and version. Default: the page's title, and 1.0.0. */
  readonly name?: string
  readonly version?: string
  /** Display modes that the view supports. Default: unspecified. */
  readonly displayModes?: ReadonlyArray<DisplayMode>
  /** True to report changes to the page's size to the host. Default true. */
  readonly autoSize?: boolean
  /**
   * True to apply the host's theme to the page: `color-scheme`, the `data-theme` attribute, the host's CSS variables and fonts. Default
   * true.
   */
  readonly autoTheme?: boolean
  /** The host's window. Default: this window's parent. */
  readonly host?: Window
}

/** A file to download: its name and its text. */
export interface Download {
  readonly name: string
  readonly text: string
  readonly mimeType?: string
}

/** A view's connection to its host. `T` is the type of the Tool value that the view belongs to. */
export interface ConnectedView<T = unknown> {
  /** The host's name and version. */
  readonly host: { readonly name: string; readonly version: string }
  readonly capabilities: HostCapabilities
  /** The host's current context. */
  readonly context: HostContext
  /**
   * Calls the listener with each event, and right away if `input`, `result` or `cancelled` has already arrived. The returned function removes
   * the listener.
   */
  readonly on: <E extends keyof Events>(event: E, listener: (value: Events<T>[E]) => unknown) => () => void
  /**
   * Calls a tool on the view's server. Rejects with a `ViewError` if the host or the server rejects the call, or if the tool fails; in that
   * case the message is the tool's text. Pass the type of a Tool value for typed arguments and data: `view.call<typeof Refresh>("refresh",
   * {})`.
   */
  readonly call: <U = T>(name: string, args: ArgumentsOf<U>, options?: ViewRequestOptions) => Promise<ToolResult<U>>
  /** Reads a resource from the view's server and returns its text. */
  readonly read: (uri: string, options?: ViewRequestOptions) => Promise<string>
  /** Asks the host to open a page in the user's browser. Rejects if the host refuses. */
  readonly openLink: (url: string) => Promise<void>
  /** Adds a message from the user to the conversation. Rejects if the host refuses. */
  readonly sendMessage: (text: string) => Promise<void>
  /** Replaces the context about the view that the model receives in its next turns. */
  readonly updateContext: (context: {
    readonly content?: ReadonlyArray<ContentBlock>
    readonly structuredContent?: { readonly [key: string]: unknown }
  }) => Promise<void>
  /** Asks for a display mode that the host supports. Returns the mode that the view is in afterwards. */
  readonly requestMode: (mode: DisplayMode) => Promise<DisplayMode>
  /** Asks the host to save a file. Rejects if the host refuses. */
  readonly download: (file: Download) => Promise<void>
  /** Sends a log message to the host. */
  readonly log: (level: "debug" | "info" | "notice" | "warning" | "error", data: unknown) => void
  /** Reports the page's size to the host. Only needed without `autoSize`. */
  readonly resize: (size: { readonly width?: number; readonly height?: number }) => void
  /** Asks the host to remove the view. */
  readonly close: () => void
}

const isObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null

const resultOf = (wire: unknown): ToolResult => {
  const result = isObject(wire) ? wire : {}
  return {
    data: result["structuredContent"],
    // Not validated further, because a malformed result only affects this page.
    content: Array.isArray(result["content"]) ? result["content"] : [],
    isError: result["isError"] === true,
    meta: isObject(result["_meta"]) ? result["_meta"] : {}
  }
}

const textOf = ({ content }: ToolResult): string =>
  content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n")

/** Events whose latest value a late listener still receives. */
const kept = new Set<string>(["input", "result", "cancelled"])

/** The listeners of a view, and the values that late listeners receive. */
class Listeners {
  private readonly byEvent = new Map<string, Set<(value: unknown) => unknown>>()
  private readonly last = new Map<string, unknown>()

  on(event: string, listener: (value: unknown) => unknown): () => void {
    const all = this.byEvent.get(event) ?? new Set()
    this.byEvent.set(event, all.add(listener))
    if (this.last.has(event)) listener(this.last.get(event))
    return () => void all.delete(listener)
  }

  /** Calls all listeners, even if one throws, and waits for them. */
  async emit(event: string, value?: unknown): Promise<void> {
    if (kept.has(event)) this.last.set(event, value)
    const called = [...(this.byEvent.get(event) ?? [])].map(async (listener) => listener(value))
    for (const outcome of await Promise.allSettled(called)) {
      if (outcome.status === "rejected") reportError(outcome.reason)
    }
  }
}

const reasonOf = (params: { readonly [key: string]: unknown }): string | undefined =>
  typeof params["reason"] === "string" ? params["reason"] : undefined

/**
 * Connects the page to its host. Call it once, as early as possible. Rejects with a `ViewError` if the page has no host, or the host doesn't
 * answer within 60 seconds.
 *
 * @example
 * ```ts
 * import { connect } from "@effect-mcp/apps/view"
 * import { Tool } from "@effect-mcp/core"
 * import { Schema } from "effect"
 *
 * // The server's Tool values, of which the page only uses the types.
 * const Dice = Tool.make("dice", { description: "Rolls a die", output: { eyes: Schema.Int } })
 *
 * export const start = async () => {
 *   const view = await connect<typeof Dice>()
 *   view.on("result", ({ data }) => {
 *     document.body.textContent = `You rolled ${data.eyes}`
 *   })
 *   document.body.onclick = () => view.call("dice", {}).then(({ data }) => alert(data.eyes))
 * }
 * ```
 */
export const connect = async <T = unknown>(options: Options = {}): Promise<ConnectedView<T>> => {
  const { autoSize = true, autoTheme = true, displayModes, host = window.parent, name, version = "1.0.0" } = options
  const listeners = new Listeners()
  let context: HostContext = {}
  const setContext = (change: unknown): void => {
    context = { ...context, ...(isObject(change) ? change : {}) }
    if (autoTheme) applyContext(context)
  }
  const connection = new HostConnection(host, {
    notified: (method, params) => {
      if (method === "ui/notifications/tool-input") void listeners.emit("input", params["arguments"] ?? {})
      else if (method === "ui/notifications/tool-input-partial")
        void listeners.emit("partial", params["arguments"] ?? {})
      else if (method === "ui/notifications/tool-result") void listeners.emit("result", resultOf(params))
      else if (method === "ui/notifications/tool-cancelled") void listeners.emit("cancelled", reasonOf(params))
      else if (method === "notifications/tools/list_changed") void listeners.emit("toolsChanged")
      else if (method === "ui/notifications/host-context-changed") {
        setContext(params)
        void listeners.emit("context", context)
      }
    },
    asked: async (method, params) => {
      if (method === "ping") return {}
      if (method !== "ui/resource-teardown") return undefined
      await listeners.emit("teardown", reasonOf(params))
      stopSize()
      return {}
    }
  })
  let stopSize = (): void => {}
  const { notify, request } = connection
  const initialized = await request("ui/initialize", {
    protocolVersion: "2026-01-26",
    appInfo: { name: name ?? (document.title || "view"), version },
    appCapabilities: displayModes === undefined ? {} : { availableDisplayModes: displayModes }
  }).catch((error: unknown) => {
    connection.close()
    throw error
  })
  setContext(initialized["hostContext"])
  const info = isObject(initialized["hostInfo"]) ? initialized["hostInfo"] : {}
  notify("ui/notifications/initialized")
  const operations = operationsOf(connection)
  if (autoSize) stopSize = watchSize(operations.resize)
  return {
    ...operations,
    call: (tool, args, options) => callTool(connection, tool, args, options),
    host: { name: String(info["name"]), version: String(info["version"]) },
    capabilities: isObject(initialized["hostCapabilities"]) ? initialized["hostCapabilities"] : {},
    get context() {
      return context
    },
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server has validated the value with the tool's schemas
    on: (event, listener) => listeners.on(event, listener as (value: unknown) => unknown),
    requestMode: async (mode) => {
      // Don't ask for a mode that the host lacks.
      if (!(context.availableDisplayModes ?? []).includes(mode)) return context.displayMode ?? "inline"
      const answer = await request("ui/request-display-mode", { mode })
      return answer["mode"] === "fullscreen" || answer["mode"] === "pip" ? answer["mode"] : "inline"
    }
  }
}

const callTool = async <U>(
  { request }: HostConnection,
  name: string,
  args: ArgumentsOf<U>,
  options?: ViewRequestOptions
): Promise<ToolResult<U>> => {
  const result = resultOf(await request("tools/call", { name, arguments: args }, options))
  if (result.isError) throw new ViewError(textOf(result) || `${name} failed`, undefined, result)
  return result
}

/** Throws if the host responded that it refuses. */
const done = (answer: { readonly [key: string]: unknown }): void => {
  if (answer["isError"] === true) throw new ViewError("The host denied the request", -32000)
}

/** Operations that only need the connection. */
const operationsOf = ({
  notify,
  request
}: HostConnection): Omit<ConnectedView, "call" | "capabilities" | "context" | "host" | "on" | "requestMode"> => ({
  read: async (uri, options) => {
    const { contents } = await request("resources/read", { uri }, options)
    return (Array.isArray(contents) ? contents : [])
      .map((part: unknown) => (isObject(part) && typeof part["text"] === "string" ? part["text"] : ""))
      .join("\n")
  },
  openLink: async (url) => done(await request("ui/open-link", { url })),
  sendMessage: async (text) => done(await request("ui/message", { role: "user", content: [{ type: "text", text }] })),
  updateContext: async (context) => done(await request("ui/update-model-context", context)),
  download: async ({ mimeType = "text/plain", name, text }) =>
    done(
      await request("ui/download-file", {
        contents: [{ type: "resource", resource: { uri: `file:///${encodeURIComponent(name)}`, mimeType, text } }]
      })
    ),
  log: (level, data) => notify("notifications/message", { level, data }),
  resize: (size) => notify("ui/notifications/size-changed", size),
  close: () => notify("ui/notifications/request-teardown")
})
