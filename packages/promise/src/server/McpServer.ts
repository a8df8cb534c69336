/**
 * An MCP server with plain and async functions: features are registered by methods, and served over stdio, HTTP or in memory.
 */
import * as EffectServer from "@effect-mcp/server/McpServer"
import type { StandardSchemaV1 } from "@standard-schema/spec"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import type { HandlerContext } from "../handler/Context.ts"
import type { PromptOutput, ResourceOutput, ToolOutput } from "../handler/results.ts"
import { reportUnanswered } from "../handler/report.ts"
import type { Rules } from "../handler/run.ts"
import { checkedOptions, type Known, knownLimits, required } from "./checked.ts"
import { Changes } from "./changes.ts"
import { fetchHandler, listener } from "./http.ts"
import { hooksLayer } from "./hooks.ts"
import type { FetchHandler, HttpOptions, Listener } from "./HttpOptions.ts"
import type {
  Hooks,
  PromptOptions,
  ResourceOptions,
  ServerOptions,
  TemplateOptions,
  ToolOptions,
  Variables
} from "./Options.ts"
import { promptLayer, type PromptHandler } from "./prompt.ts"
import { resourceLayer, templateLayer } from "./resource.ts"
import { bind } from "./running.ts"
import { ServerRuntime } from "./runtime.ts"
import { onSignals } from "./signals.ts"
import { toolLayer, type ToolHandler } from "./tool.ts"

type Async<A> = A | PromiseLike<A>
type Parsed<I> = I extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<I> : {}
type Returned<O> = O extends StandardSchemaV1 ? StandardSchemaV1.InferInput<O> : ToolOutput

/** A feature that is on offer. */
export interface Registration {
  /** Removes the feature. Resolves when its running requests have ended. */
  readonly remove: () => Promise<void>
}

export interface StdioOptions {
  /** How long running requests may take to finish after stdin ends, in milliseconds. Default 1 second. */
  readonly grace?: number
  /** Whether SIGINT and SIGTERM close the server before they end the process. Default true. */
  readonly signals?: boolean
}

export interface ListenOptions extends HttpOptions {
  /** Port to listen on. Default: a free port. */
  readonly port?: number
  /** Address to listen on. Default `127.0.0.1`, which only this machine can reach. */
  readonly host?: string
  /** Whether SIGINT and SIGTERM close the server before they end the process. Default true. */
  readonly signals?: boolean
}

/** A server that listens. */
export interface Listening {
  readonly url: string
  readonly port: number
  /** Ends requests and sessions in order, then closes the HTTP server. */
  readonly close: () => Promise<void>
}

const known: Known<ServerOptions> = {
  name: "string",
  version: "string",
  title: "string",
  description: "string",
  websiteUrl: "string",
  icons: "array",
  instructions: "string",
  revisions: "array",
  dynamic: "boolean",
  pageSize: "number",
  askTimeout: "number",
  cancelGrace: "number",
  limits: "object",
  rateLimit: "any",
  onError: "function"
}

/** How long a cancelled handler may run on, in milliseconds. */
const defaultCancelGrace = 2000

/**
 * A server: register features, then serve it, also in several ways at once. All revisions of the protocol are served.
 *
 * What a handler throws reaches the other side by one rule: its message alone, as a failed result that the model reads (tools), else as
 * error -32603. A thrown `McpError` is answered as it is.
 *
 * @example
 * ```ts
 * import { McpClient, McpServer } from "@effect-mcp/promise"
 * import { z } from "zod"
 *
 * const server = new McpServer({ name: "weather", version: "1.0.0" })
 *
 * server.tool("weather", { description: "The weather of a city", input: z.object({ city: z.string() }) }, async ({ city }) => {
 *   if (city === "") throw new Error("Name a city")
 *   return `Sunny in ${city}`
 * })
 *
 * await using client = await McpClient.connect(server)
 * const { content } = await client.callTool("weather", { city: "Oslo" })
 * console.log(JSON.stringify(content)) // => [{"type":"text","text":"Sunny in Oslo"}]
 * await server.close()
 * ```
 */
export class McpServer {
  readonly #runtime: ServerRuntime
  readonly #rules: Rules
  readonly #changes = new Changes()
  readonly #names = new Set<string>()
  #hooks = 0

  constructor(options: ServerOptions) {
    checkedOptions("McpServer", options, known)
    required("McpServer", "a name", options.name, "string")
    required("McpServer", "a version", options.version, "string")
    if (options.limits !== undefined) checkedOptions("McpServer, limits", options.limits, knownLimits)
    this.#runtime = new ServerRuntime(options)
    this.#rules = { cancelGrace: options.cancelGrace ?? defaultCancelGrace, onError: options.onError }
    bind(this, this.#runtime)
  }

  /**
   * Offers a tool (spec: server/tools). `input` and `output` are Standard Schemas with a JSON Schema: zod 4.2, arktype, valibot by
   * `toStandardJsonSchema`, Effect by `Schema.toStandardSchemaV1`. Throws for a schema without one, and for a name that is taken.
   */
  tool<
    const I extends StandardSchemaV1 | undefined = undefined,
    const O extends StandardSchemaV1 | undefined = undefined
  >(
    name: string,
    options: ToolOptions<I, O>,
    handler: (input: Parsed<I>, context: HandlerContext) => Async<Returned<O>>
  ): Registration {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema that `Parsed` is of decodes the input
    const untyped = handler as ToolHandler
    return this.#add(`tool ${name}`, () => toolLayer(name, options, untyped, this.#rules))
  }

  /** Offers one resource (spec: server/resources). It can be subscribed to: call `updated` when it changes. */
  resource(
    uri: string,
    options: ResourceOptions,
    read: (uri: string, context: HandlerContext) => Async<ResourceOutput>
  ): Registration {
    return this.#add(`resource ${uri}`, () => resourceLayer(uri, options, read, this.#rules, this.#changes))
  }

  /**
   * Offers a family of resources (RFC 6570). `{name}` stays within a path segment; `{+path}` crosses slashes and may climb: check it.
   * `read` gives `undefined` where there is no such resource.
   *
   * @example
   * ```ts
   * import { McpServer } from "@effect-mcp/promise"
   *
   * const users = new Map([["ada", "Ada Lovelace"]])
   * export const server = new McpServer({ name: "users", version: "1.0.0" })
   *
   * server.template("users://{id}/profile", { name: "profile", complete: { id: () => [...users.keys()] } }, ({ id }) => users.get(id))
   * ```
   */
  template<const T extends string>(
    uriTemplate: T,
    options: TemplateOptions<T>,
    read: (variables: Variables<T>, context: HandlerContext & { readonly uri: string }) => Async<ResourceOutput>
  ): Registration {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the variables of the template are those that its text names
    const untyped = read as Parameters<typeof templateLayer>[2]
    return this.#add(`template ${uriTemplate}`, () =>
      templateLayer(uriTemplate, options, untyped, this.#rules, this.#changes)
    )
  }

  /** Tells the clients that are subscribed to a resource, or to a template's member, to read it again. */
  updated(uri: string): void {
    this.#changes.announce(uri)
  }

  /**
   * Offers a prompt (spec: server/prompts). Its arguments are strings on the wire: their schema reads strings.
   *
   * @example
   * ```ts
   * import { McpServer } from "@effect-mcp/promise"
   * import { z } from "zod"
   *
   * export const server = new McpServer({ name: "review", version: "1.0.0" })
   *
   * server.prompt("review", { arguments: z.object({ file: z.string() }) }, ({ file }) => `Review the file ${file}`)
   * ```
   */
  prompt<const A extends StandardSchemaV1 | undefined = undefined>(
    name: string,
    options: PromptOptions<A>,
    handler: (args: Parsed<A>, context: HandlerContext) => Async<PromptOutput>
  ): Registration {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema that `Parsed` is of decodes the arguments
    const untyped = handler as PromptHandler
    return this.#add(`prompt ${name}`, () => promptLayer(name, options, untyped, this.#rules))
  }

  /**
   * Adds code before and after every request: access control, audit. Of several the first is the outermost.
   *
   * @example
   * ```ts
   * import { McpClient, McpError, McpServer } from "@effect-mcp/promise"
   *
   * const server = new McpServer({ name: "counters", version: "1.0.0" })
   * server.tool("reset", { description: "Resets the counters." }, () => "Done")
   *
   * server.use({
   *   before: ({ method }, { principal }) => {
   *     if (method === "tools/call" && principal.subject === undefined) throw new McpError(-32600, "Log in first")
   *   }
   * })
   *
   * await using client = await McpClient.connect(server)
   * await client.callTool("reset").catch(({ message }) => console.log(message)) // => Log in first
   * ```
   */
  use(hooks: Hooks): Registration {
    return this.#add(`hook ${++this.#hooks}`, () => hooksLayer(hooks, this.#rules))
  }

  #add(name: string, feature: () => Parameters<ServerRuntime["add"]>[0]): Registration {
    if (this.#names.has(name)) throw new Error(`There is a ${name} already; remove it first`)
    const remove = this.#runtime.add(feature())
    this.#names.add(name)
    return {
      remove: () => {
        this.#names.delete(name)
        return remove()
      }
    }
  }

  /**
   * Serves over stdin and stdout until stdin ends or the server closes. From then on, anything else printed to stdout goes to stderr.
   * Rejects if stdout breaks.
   */
  async stdio(options: StdioOptions = {}): Promise<void> {
    const { grace = 1000, signals = true } = checkedOptions("stdio", options, { grace: "number", signals: "boolean" })
    this.#runtime.assertOpen()
    const off = signals ? onSignals(() => this.close()) : undefined
    const exit = await this.#runtime.run(EffectServer.runStdio(this.#runtime.layer, { grace }))
    off?.()
    if (Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)) throw Cause.squash(exit.cause)
    await this.close()
  }

  /** Serves Streamable HTTP, for clients of every revision, at `/mcp` of an HTTP server of its own. */
  async listen({ host = "127.0.0.1", port = 0, signals = true, ...options }: ListenOptions = {}): Promise<Listening> {
    this.#runtime.assertOpen()
    const { createServer } = await import("node:http")
    const path = options.path ?? "/mcp"
    const { dispose, listener } = this.#listener({ ...options, path })
    const http = createServer(listener)
    await new Promise<void>((resolve, reject) => {
      http.once("error", reject).listen(port, host, () => resolve(void http.off("error", reject)))
    })
    const close = async (): Promise<void> => {
      off?.()
      taken()
      await dispose()
      await new Promise((resolve) => {
        http.close(resolve)
        http.closeAllConnections()
      })
    }
    const taken = this.#runtime.onClose(close)
    const off = signals ? onSignals(() => this.close()) : undefined
    const address = http.address()
    const bound = typeof address === "object" && address !== null ? address.port : port
    return { url: `http://${host.includes(":") ? `[${host}]` : host}:${bound}${path}`, port: bound, close }
  }

  /**
   * A listener for `node:http`, and for frameworks that hand out Node's own requests: `app.use("/mcp", server.toListener())` of Express.
   * Bodies may be parsed before it.
   */
  toListener(options: HttpOptions = {}): Listener {
    this.#runtime.assertOpen()
    const { dispose, listener } = this.#listener(options)
    this.#runtime.onClose(dispose)
    return listener
  }

  #listener(options: HttpOptions) {
    return listener(this.#runtime, options, (error) => this.#failed(error))
  }

  /** A `fetch` handler: for Hono (`app.all("/mcp", (c) => handler(c.req.raw))`), Deno, Bun, Workers and Next. */
  toFetch(options: HttpOptions = {}): FetchHandler {
    this.#runtime.assertOpen()
    const { dispose, handler } = fetchHandler(this.#runtime, options, (error) => this.#failed(error))
    this.#runtime.onClose(dispose)
    return handler
  }

  #failed(error: unknown): void {
    reportUnanswered(this.#rules.onError, error, { kind: "auth", name: "verify" })
  }

  /** Closes the server. Running requests have `drain` to finish, then their signals abort. */
  close(): Promise<void> {
    return this.#runtime.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
