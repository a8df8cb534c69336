/**
 * An MCP server built from plain and async functions. Register features with its methods, then serve them over stdio, HTTP or in memory.
 */
import * as EffectServer from "@effect-mcp/server/McpServer"
import type { StandardSchemaV1 } from "@standard-schema/spec"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import type { Layer } from "effect/Layer"
import type { HandlerContext } from "../handler/Context.ts"
import type { PromptOutput, ResourceOutput, ToolOutput } from "../handler/results.ts"
import { reportUnanswered } from "../handler/report.ts"
import type { Rules } from "../handler/run.ts"
import { checkedLimits, checkedOptions, type Known, oneOf, required } from "./checked.ts"
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
type Returned<O> = O extends StandardSchemaV1 ? ReadonlyDeep<StandardSchemaV1.InferInput<O>> : ToolOutput
/** Arrays in a `const` type parameter are readonly. */
type ReadonlyDeep<T> = T extends object ? { readonly [K in keyof T]: ReadonlyDeep<T[K]> } : T

/** A feature that another package offers: a layer that registers with the server, and cannot fail. */
export interface ServerFeature {
  readonly "~effect/Layer": { readonly _E: (_: never) => never }
}

/** A registered feature. */
export interface Registration {
  /** Removes the feature. Resolves once its running requests have finished. */
  readonly remove: () => Promise<void>
}

export interface StdioOptions {
  /** How long running requests may take to finish after stdin closes, in milliseconds. Default 1 second. */
  readonly grace?: number
  /** Whether to close the server on SIGINT and SIGTERM before the process exits. Default true. */
  readonly signals?: boolean
}

export interface ListenOptions extends HttpOptions {
  /** Port to listen on. Default: any free port. */
  readonly port?: number
  /** Address to listen on. Default `127.0.0.1`, which is reachable only from this machine. */
  readonly host?: string
  /**
   * How long the server keeps accepting requests after it starts closing, so that load balancers can move on. Meanwhile, each response
   * closes its connection. `drain` starts afterwards. Default 0.
   */
  readonly lameDuck?: number
  /** Whether to close the server on SIGINT and SIGTERM before the process exits. Default true. */
  readonly signals?: boolean
}

/** A listening server. */
export interface Listening {
  readonly url: string
  readonly port: number
  /**
   * Stops listening, lets running requests finish within `drain`, and ends sessions and streams. If the server is already closing, waits
   * for it to finish.
   */
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
  drain: "number",
  cancelGrace: "number",
  limits: "object",
  portability: "string",
  rateLimit: "any",
  onError: "function"
}

/** How long a handler may keep running after its request is cancelled, in milliseconds. */
const defaultCancelGrace = 2000

/**
 * An MCP server. Register features, then serve them, over several transports at once if you like. Supports every protocol revision.
 *
 * If a handler throws, only the error's message is sent to the client. A tool error becomes a failed result that the model can read; any
 * other error becomes a JSON-RPC error with code -32603. A thrown `McpError` is sent as it is.
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
  #features = 0

  constructor(options: ServerOptions) {
    checkedOptions("McpServer", options, known)
    required("McpServer", "a name", options.name, "string")
    required("McpServer", "a version", options.version, "string")
    oneOf("McpServer", "portability", options.portability, ["project", "strict", "off"])
    if (options.limits !== undefined) checkedLimits(options.limits)
    this.#runtime = new ServerRuntime(options)
    this.#rules = { cancelGrace: options.cancelGrace ?? defaultCancelGrace, onError: options.onError }
    bind(this, this.#runtime)
  }

  /**
   * Registers a tool (spec: server/tools). `input` and `output` must be Standard Schemas that can produce a JSON Schema: zod 4.2, arktype,
   * valibot with `toStandardJsonSchema`, or Effect with `Schema.toStandardSchemaV1`. Throws if a schema can't produce one or the name is
   * already taken.
   */
  tool<
    const I extends StandardSchemaV1 | undefined = undefined,
    const O extends StandardSchemaV1 | undefined = undefined,
    // Infers literals: TypeScript would widen them in a handler that is checked before its schema.
    const R extends Returned<O> = Returned<O>
  >(
    name: string,
    options: ToolOptions<I, O>,
    handler: (input: Parsed<I>, context: HandlerContext) => Async<R>
  ): Registration {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the schema that `Parsed` is of decodes the input
    const untyped = handler as ToolHandler
    return this.#add(`tool ${name}`, () => toolLayer(name, options, untyped, this.#rules))
  }

  /** Registers a single resource (spec: server/resources). Clients can subscribe to it; call `updated` when it changes. */
  resource(
    uri: string,
    options: ResourceOptions,
    read: (uri: string, context: HandlerContext) => Async<ResourceOutput>
  ): Registration {
    return this.#add(`resource ${uri}`, () => resourceLayer(uri, options, read, this.#rules, this.#changes))
  }

  /**
   * Registers a family of resources by URI template (RFC 6570). `{name}` matches a single path segment. `{+path}` can span segments and may
   * contain `..`, so check it. If there is no such resource, return `undefined` from `read`.
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

  /** Notifies clients subscribed to this URI (a resource or a member of a template) that they should read it again. */
  updated(uri: string): void {
    this.#changes.announce(uri)
  }

  /**
   * Registers a prompt (spec: server/prompts). Arguments are sent as strings, so their schema must accept strings.
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
   * Adds code that runs before and after every request, for example for access control or auditing. Hooks added first wrap the ones added
   * later.
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

  /**
   * Adds a feature that another package offers as a layer, such as a view for a tool, or tasks.
   *
   * @example
   * ```ts
   * import { App } from "@effect-mcp/apps"
   * import { McpServer } from "@effect-mcp/promise"
   *
   * const server = new McpServer({ name: "dice", version: "1.0.0" })
   * server.tool("dice", { description: "Rolls a die" }, () => "4")
   * server.add(App.layer("dice", { html: "<!doctype html><title>Dice</title>" }))
   * ```
   */
  add(feature: ServerFeature): Registration {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- packages make their features for these registries
    const layer = feature as Layer<never, never, EffectServer.Registries>
    return this.#add(`feature ${++this.#features}`, () => layer)
  }

  #add(name: string, feature: () => Parameters<ServerRuntime["add"]>[0]): Registration {
    if (this.#names.has(name))
      throw new Error(`Cannot add the ${name}: it already exists. Remove the existing one first`)
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
   * Serves over stdin and stdout until stdin closes or the server closes. From this call on, anything else printed to stdout is redirected
   * to stderr. Rejects if stdout breaks.
   */
  async stdio(options: StdioOptions = {}): Promise<void> {
    const { grace = 1000, signals = true } = checkedOptions("stdio", options, { grace: "number", signals: "boolean" })
    this.#runtime.assertOpen()
    const off = signals ? onSignals(() => this.close()) : undefined
    const exit = await this.#runtime.run(
      EffectServer.runStdio(this.#runtime.layer, { grace, drain: this.#runtime.drain })
    )
    off?.()
    if (Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)) throw Cause.squash(exit.cause)
    await this.close()
  }

  /** Starts an HTTP server that serves Streamable HTTP at `/mcp`, for clients of every revision. */
  async listen({
    host = "127.0.0.1",
    lameDuck,
    port = 0,
    signals = true,
    ...options
  }: ListenOptions = {}): Promise<Listening> {
    this.#runtime.assertOpen()
    const { createServer } = await import("node:http")
    const path = options.path ?? "/mcp"
    const served = this.#listener({ ...options, path }, lameDuck)
    const http = createServer(served.listener)
    await new Promise<void>((resolve, reject) => {
      http.once("error", reject).listen(port, host, () => resolve(void http.off("error", reject)))
    })
    const closed = new Promise<void>((resolve) => http.once("close", resolve))
    const end = async (): Promise<void> => {
      off?.()
      taken()
      await served.close(http)
      http.closeAllConnections()
      await closed
    }
    let closing: Promise<void> | undefined
    const close = (): Promise<void> => (closing ??= end())
    const taken = this.#runtime.onClose(close)
    const off = signals ? onSignals(() => this.close()) : undefined
    const address = http.address()
    const bound = typeof address === "object" && address !== null ? address.port : port
    return { url: `http://${host.includes(":") ? `[${host}]` : host}:${bound}${path}`, port: bound, close }
  }

  /**
   * Returns a listener for `node:http` and for frameworks that expose Node's request objects, such as Express: `app.use("/mcp",
   * server.toListener())`. It also works behind a body parser.
   */
  toListener(options: HttpOptions = {}): Listener {
    this.#runtime.assertOpen()
    const { dispose, listener } = this.#listener(options)
    this.#runtime.onClose(dispose)
    return listener
  }

  #listener(options: HttpOptions, lameDuck?: number) {
    return listener(this.#runtime, options, (error) => this.#failed(error), lameDuck)
  }

  /** Returns a `fetch` handler, for Hono (`app.all("/mcp", (c) => handler(c.req.raw))`), Deno, Bun, Workers and Next. */
  toFetch(options: HttpOptions = {}): FetchHandler {
    this.#runtime.assertOpen()
    const { dispose, handler } = fetchHandler(this.#runtime, options, (error) => this.#failed(error))
    this.#runtime.onClose(dispose)
    return handler
  }

  #failed(error: unknown): void {
    reportUnanswered(this.#rules.onError, error, { kind: "auth", name: "verify" })
  }

  /** Closes the server. Running requests may take up to `drain` to finish; after that, their signals abort. */
  close(): Promise<void> {
    return this.#runtime.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
