/**
 * A local page that shows a view, for development and tests. It shows the view in its sandbox, with a log of its messages, in light and dark
 * mode and in phone and desktop width.
 *
 * It listens on two loopback ports, one for the page and one for the sandbox, so that they have different origins. Every path starts with a
 * random token, which differs between the ports. Requests for other host names are rejected.
 */
import type { ClientError } from "@effect-mcp/client/ClientError"
import type * as McpClient from "@effect-mcp/client/McpClient"
import { beginning } from "@effect-mcp/protocol/Excerpt"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { CallToolResult, Tool } from "@effect-mcp/protocol/model/Tool"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { randomBytes } from "node:crypto"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { viewUri } from "../contract/UiExtension.ts"
import { show } from "../frame/frame.ts"
import * as AppHost from "../host/AppHost.ts"
import * as Sandbox from "../sandbox/Sandbox.ts"
import { css, html } from "./html.ts"
import { type PageEvent, type PageView, program } from "./program.ts"

/** The page cannot listen on the port, for example because another program does. */
export class PortUnavailable extends Data.TaggedError("PortUnavailable")<{ readonly message: string }> {}

/** The view to show, and the tool call that it belongs to. */
export interface Options {
  /** The tool with the view. Default: the first one with the view at `uri`. */
  readonly tool?: string | undefined
  /** URI of the view. Default: the tool's. */
  readonly uri?: string | undefined
  /** The call's arguments. Default: none. */
  readonly arguments?: JsonObject | undefined
  /** Result of a call that has ended already. Default: the page calls the tool. */
  readonly result?: CallToolResult | undefined
  /** Origin of a page that shows this one in a frame. A frame has no buttons and no log. Default: no page may. */
  readonly embedder?: string | undefined
  /** The host's options. Views cannot ask for links, messages and so on if `openLink`, `sendMessage` and the like are missing. */
  readonly host?: AppHost.Options | undefined
  /** The page's port. Default: any free port. */
  readonly port?: number | undefined
}

/** A page that is being served. */
export interface ServedPage {
  /** URL of the page, which contains its token. */
  readonly url: string
  readonly view: AppHost.ViewResource
  /** The called tool and its result, or `undefined` if no tool has the view. */
  readonly call: { readonly tool: Tool; readonly result: CallToolResult } | undefined
  /** The currently shown views, one for each browser tab. */
  readonly sessions: () => ReadonlyArray<AppHost.ViewSession>
}

/** An open tab. */
interface Tab {
  readonly session: AppHost.ViewSession
  readonly incoming: Queue.Queue<string>
  readonly closed: Deferred.Deferred<string>
}

/** Returns a path that cannot be guessed. */
const token = (): string => `/${randomBytes(24).toString("base64url")}`

const loopback = "127.0.0.1"
const maxBody = 16 * 1024 * 1024
/** Maximum number of queued messages from a view. The page sends them one after the other, so there are usually few. */
const capacity = 1000
/** Maximum length of a message in the page's log, in characters. */
const maxShown = 20_000
/** Maximum number of unread bytes. A tab that exceeds it is closed. */
const maxUnread = 32 * 1024 * 1024

const policy = (sandbox: string, embedder: string): string =>
  `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; frame-src ${sandbox}; base-uri 'none'; form-action 'none'; frame-ancestors ${embedder}`

const headersOf = (contentType: string, sandbox: string, embedder = "'none'") => ({
  "cache-control": "no-store",
  "content-security-policy": policy(sandbox, embedder),
  "content-type": contentType,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff"
})

type Handle = (request: IncomingMessage, response: ServerResponse, url: URL) => void

/** Listens until the scope closes. Rejects requests for any other host name, so that no other site can reach the page through DNS. */
const listen = (port: number, handle: Handle): Effect.Effect<string, PortUnavailable, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.tryPromise({
        try: () =>
          new Promise<Server>((resolve, reject) => {
            const server = createServer((request, response) => {
              const url = URL.parse(`http://${request.headers.host ?? ""}${request.url ?? ""}`)
              if (url === null || url.host !== hostOf(server)) response.writeHead(403).end()
              else handle(request, response, url)
            })
            server.once("error", reject).listen(port, loopback, () => resolve(server))
          }),
        catch: (error) =>
          new PortUnavailable({
            message: `Cannot serve the page on port ${port}: ${error instanceof Error ? error.message : String(error)}`
          })
      }),
      (server) =>
        Effect.promise(
          () =>
            new Promise<void>((resolve) => {
              server.close(() => resolve())
              server.closeAllConnections()
            })
        )
    ),
    (server) => `http://${hostOf(server)}`
  )

const hostOf = (server: Server): string => {
  const address = server.address()
  return `${loopback}:${typeof address === "object" && address !== null ? address.port : 0}`
}

/** Reads a body, or returns `undefined` if it is too long or the request fails. */
const bodyOf = async (request: IncomingMessage): Promise<string | undefined> => {
  const chunks: Array<Buffer> = []
  let size = 0
  try {
    for await (const chunk of request) {
      const bytes: Buffer = chunk
      size += bytes.length
      if (size > maxBody) return undefined
      chunks.push(bytes)
    }
  } catch {
    return undefined
  }
  return Buffer.concat(chunks).toString("utf8")
}

const labelOf = (message: unknown): string => {
  if (typeof message !== "object" || message === null) return "unreadable"
  if ("method" in message) return String(message.method)
  return "error" in message ? "error" : "result"
}

/** Calls the tool with the view, if there is one. */
const calling = Effect.fnUntraced(function* (client: McpClient.McpClient["Service"], options: Options) {
  const tools = yield* Stream.runCollect(client.listTools)
  const tool = tools.find((tool) =>
    options.tool === undefined ? viewUri(tool) === options.uri : tool.name === options.tool
  )
  if (tool === undefined) return undefined
  return { tool, result: options.result ?? (yield* client.callToolByName(tool.name, options.arguments ?? {})) }
})

type Listener = (event: PageEvent) => void

/** Extends the host's options so that the page receives messages and sizes. */
const reporting = (own: AppHost.Options, tell: Listener): AppHost.Options => ({
  ...own,
  context: {
    theme: "light",
    availableDisplayModes: ["inline"],
    displayMode: "inline",
    platform: "web",
    ...own.context
  },
  observe: (passed) => {
    const { from, message, refused } = passed
    tell({ type: "log", from, label: labelOf(message), text: beginning(JSON.stringify(message), maxShown), refused })
    own.observe?.(passed)
  },
  resized: (size, view) => {
    tell({ type: "size", height: size.height })
    return own.resized?.(size, view) ?? Effect.void
  }
})

/** A page's view, in each of its tabs. */
class LocalView {
  readonly tabs = new Map<string, Tab>()
  readonly listeners = new Set<Listener>()
  private readonly host: AppHost.ViewHost
  private readonly facts: PageView
  private readonly call: ServedPage["call"]
  private readonly options: Options
  private readonly uri: string

  constructor(host: AppHost.ViewHost, uri: string, facts: PageView, call: ServedPage["call"], options: Options) {
    this.host = host
    this.uri = uri
    this.facts = facts
    this.call = call
    this.options = options
  }

  /** Shows the view in a tab, until the view ends or the tab is closed. Returns the reason, or `undefined` if there is no tab left. */
  private readonly shown = Effect.fnUntraced(
    { self: this },
    function* (this: LocalView, write: Listener, gone: Effect.Effect<void>) {
      const { call, host, options, tabs } = this
      const id = randomBytes(12).toString("base64url")
      const incoming = yield* Queue.bounded<string>(capacity)
      const closed = yield* Deferred.make<string>()
      // The tab still accepts messages while the view prepares for its removal.
      yield* Effect.addFinalizer(() => Effect.sync(() => tabs.delete(id)))
      const session = yield* host.open({
        uri: this.uri,
        tool: call?.tool,
        wire: {
          incoming: Stream.fromQueue(incoming),
          send: (text) => Effect.sync(() => write({ type: "message", text }))
        }
      })
      tabs.set(id, { session, incoming, closed })
      write({ type: "view", session: id, view: this.facts })
      if (call !== undefined) {
        yield* session.sendInput(options.arguments ?? {})
        yield* session.sendResult(call.result)
      }
      return yield* Effect.raceAllFirst([session.ended, Deferred.await(closed), Effect.as(gone, undefined)])
    }
  )

  /** Sends events to a tab until it is closed. */
  follow(response: ServerResponse): Effect.Effect<void> {
    return Effect.suspend(() => {
      const write: Listener = (event) => {
        if (response.destroyed) return
        response.write(`${JSON.stringify(event)}\n`)
        if (response.writableLength > maxUnread) response.destroy()
      }
      const gone = Effect.callback<void>((resume) => {
        if (response.closed) resume(Effect.void)
        else response.once("close", () => resume(Effect.void))
      })
      this.listeners.add(write)
      return Effect.scoped(this.shown(write, gone)).pipe(
        Effect.flatMap((reason) => {
          if (reason === undefined) return Effect.void
          write({ type: "ended", reason })
          return gone
        }),
        Effect.ensuring(Effect.sync(() => this.listeners.delete(write)))
      )
    })
  }

  /** Handles a message from a tab. Returns false if the kind of message is unknown. */
  async posted(what: string, { closed, incoming, session }: Tab, body: string): Promise<boolean> {
    if (what === "messages") await Effect.runPromise(Queue.offer(incoming, body))
    else if (what === "context") {
      await Effect.runPromise(session.changeContext({ theme: body.includes("dark") ? "dark" : "light" }))
    } else if (what === "close") await Effect.runPromise(Deferred.succeed(closed, "The view was closed"))
    else return false
    return true
  }
}

/** The page's files, by their paths below the token. */
const files = (
  base: string,
  embedder: string | null
): { readonly [path: string]: readonly [contentType: string, text: string] } => ({
  "": ["text/html; charset=utf-8", html(base, embedder !== null)],
  "/style.css": ["text/css; charset=utf-8", css],
  "/page.js": [
    "text/javascript; charset=utf-8",
    `(${program.toString()})(${JSON.stringify(base)}, ${JSON.stringify(embedder)}, ${show.toString()})\n`
  ]
})

/** Calls the tool and serves the page until the scope closes. `Consent` is read from the context, as by `AppHost.make`. */
export const serve = Effect.fnUntraced(function* (
  client: McpClient.McpClient["Service"],
  options: Options
): Effect.fn.Return<ServedPage, AppHost.ViewUnavailable | PortUnavailable | ClientError, Scope.Scope> {
  const tell: Listener = (event) => local.listeners.forEach((listener) => listener(event))
  const host = yield* AppHost.make(client, reporting(options.host ?? {}, tell))
  const call = yield* calling(client, options)
  const view = yield* host.read(options.uri ?? call?.tool ?? options.tool ?? "")
  const { html, permissions, prefersBorder = false, uri } = view
  const base = token()
  // A separate token, because the view can read the path of its sandbox and must not find the page.
  const sandboxPath = token()
  const scope = yield* Effect.scope
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const allow = Sandbox.allowOf(permissions)
  const { embedder } = options
  let origin = ""
  const sandboxed = (): Sandbox.Options => ({ hostOrigin: origin, embedder, csp: view.csp, allow })
  const sandbox = yield* listen(0, (request, response, { pathname }) => {
    if (request.method !== "GET" || pathname !== sandboxPath) response.writeHead(404).end()
    else response.writeHead(200, Sandbox.headersOf(sandboxed())).end(Sandbox.pageOf(sandboxed()))
  })
  const title = call?.tool.title ?? call?.tool.name ?? uri
  const facts = { title, html, allow, sandbox: `${sandbox}${sandboxPath}`, prefersBorder }
  const local = new LocalView(host, uri, facts, call, options)
  const known = files(base, embedder ?? null)
  const post = async (request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> => {
    const tab = local.tabs.get(url.searchParams.get("session") ?? "")
    const body = await bodyOf(request)
    if (body === undefined) return void response.writeHead(413).end()
    const isKnown = tab !== undefined && (await local.posted(url.pathname.slice(base.length + 1), tab, body))
    response.writeHead(isKnown ? 204 : 404).end()
  }
  origin = yield* listen(options.port ?? 0, (request, response, url) => {
    const path = url.pathname.slice(base.length)
    const isHere = url.pathname.startsWith(base) && (path === "" || path.startsWith("/"))
    const file = Object.hasOwn(known, path) ? known[path] : undefined
    if (!isHere) response.writeHead(404).end()
    else if (request.method === "POST") {
      // Only the page itself may send messages. Other origins don't know the token and are rejected anyway.
      if (request.headers.origin === origin) void post(request, response, url)
      else response.writeHead(403).end()
    } else if (path === "/events") {
      response.writeHead(200, headersOf("application/x-ndjson", sandbox, embedder))
      runFork(Effect.forkIn(local.follow(response), scope))
    } else if (file === undefined) response.writeHead(404).end()
    else response.writeHead(200, headersOf(file[0], sandbox, embedder)).end(file[1])
  })
  return { url: `${origin}${base}`, view, call, sessions: () => [...local.tabs.values()].map(({ session }) => session) }
})
