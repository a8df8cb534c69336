/** The SDK's `Client`, built on a client of effect-mcp: requests by method, and handlers for questions and notifications. */
import type * as Effective from "@effect-mcp/client/Client"
import * as EffectClient from "@effect-mcp/client/McpClient"
import type { CallOptions } from "@effect-mcp/client/McpClient"
import type { ClientRequests } from "@effect-mcp/protocol/Method"
import type { StandardSchemaV1 } from "@standard-schema/spec"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { SdkError, SdkErrorCode } from "../model/errors.ts"
import { plain } from "../model/plain.ts"
import { notify, report } from "../model/report.ts"
import type {
  CallToolResult,
  CompleteResult,
  DiscoverResult,
  EmptyResult,
  GetPromptResult,
  Implementation,
  JsonObject,
  ListPromptsResult,
  ListResourcesResult,
  ListResourceTemplatesResult,
  ListToolsResult,
  LoggingLevel,
  Notification,
  ReadResourceResult,
  Request,
  ServerCapabilities
} from "../model/types.ts"
import type {
  CompleteRequestParams,
  NotificationMethod,
  NotificationOf,
  RequestMethod,
  RequestOf,
  ResultOf
} from "../model/requests.ts"
import { toSdk } from "../request/errors.ts"
import { checked, isSchema } from "../schema/resultOf.ts"
import type { MethodOf, RequestSchema } from "../server/methods.ts"
import { opened } from "../server/messages.ts"
import type { Transport } from "../server/Transport.ts"
import { answering } from "./answering.ts"
import { type AnyHandler, type ClientContext, Handlers, type NotificationHandler } from "./Handlers.ts"
import { Outputs } from "./Outputs.ts"
import { callOptions } from "./callOptions.ts"
import type { ClientOptions, ConnectOptions, ListParams, RequestOptions } from "./Options.ts"
import { answeringProbe, checkedPrior, discoverResultOf } from "./prior.ts"
import { marked } from "./resumption.ts"
import { type Running, runWith } from "./runWith.ts"
import { settingsOf } from "./settings.ts"
import type { McpSubscription, SubscriptionFilter } from "./Subscription.ts"
import { listen, watchLists } from "./subscriptions.ts"
import { type Opening, openingOf } from "./openings.ts"
import { readOn } from "./pages.ts"

type Async<A> = A | PromiseLike<A>
type Method = keyof ClientRequests

/**
 * A client of one server. Set a handler for each capability that it declares, then connect it to a transport.
 *
 * @example
 * ```ts
 * import { Client, InMemoryTransport } from "@effect-mcp/compat/client"
 * import { McpServer } from "@effect-mcp/compat/server"
 *
 * const server = new McpServer({ name: "hello", version: "1.0.0" })
 * server.registerTool("hello", { description: "Says hello" }, () => ({ content: [{ type: "text", text: "Hello" }] }))
 *
 * const client = new Client({ name: "example", version: "1.0.0" })
 * const [near, far] = InMemoryTransport.createLinkedPair()
 * await Promise.all([server.connect(far), client.connect(near)])
 * const { tools } = await client.listTools()
 * console.log(tools[0]?.name, client.getServerVersion()?.name) // => hello hello
 * await client.close()
 * ```
 */
export class Client {
  /** Called when the connection has ended. */
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  readonly #info: Implementation
  #options: ClientOptions
  #outputs = new Outputs()
  readonly #handlers = new Handlers((error) => report(this.onerror, error))
  #running: Running | undefined = undefined
  /** The subscription that `listChanged` opened. Only revisions with subscriptions have one. */
  autoOpenedSubscription: McpSubscription | undefined = undefined

  constructor(info: Implementation, options: ClientOptions = {}) {
    this.#info = info
    this.#options = options
  }

  /** Called with notifications that have no handler. */
  get fallbackNotificationHandler(): NotificationHandler | undefined {
    return this.#handlers.fallback
  }
  set fallbackNotificationHandler(handler: NotificationHandler | undefined) {
    this.#handlers.fallback = handler
  }

  /** The transport, while it is connected. */
  get transport(): Transport | undefined {
    return this.#running?.transport
  }

  /** Returns the error that the program receives when a request fails. */
  protected failure(error: unknown): unknown {
    return toSdk(error)
  }

  #run<A>(effect: Effect.Effect<A, unknown>, signal?: AbortSignal): Promise<A> {
    return runWith(effect, signal, (error) => this.failure(error))
  }

  /** Sends a request with its options. */
  async #asked<A>(options: RequestOptions | undefined, request: (options: CallOptions) => Effect.Effect<A, unknown>) {
    const { end, headers } = marked(options?.onresumptiontoken)
    try {
      return await this.#run(request({ ...callOptions(options, this.onerror), headers }), options?.signal)
    } finally {
      end()
    }
  }

  /** Sets the revisions that the client supports. Throws once the client is connected. */
  setVersionNegotiation(versionNegotiation: ClientOptions["versionNegotiation"]): void {
    if (this.#running !== undefined)
      throw new Error("The client is already connected. Call setVersionNegotiation before connect")
    this.#options = { ...this.#options, versionNegotiation }
  }

  /** Connects, and resolves once the server is known. A client has one connection at a time. */
  async connect(transport: Transport, options: ConnectOptions = {}): Promise<void> {
    if (this.#running !== undefined) {
      throw new SdkError(
        SdkErrorCode.AlreadyConnected,
        "The client is already connected. Call close() first, or create another client"
      )
    }
    const { capabilities = {} } = this.#options
    this.#outputs = new Outputs()
    checkedPrior(options.prior)
    const settings = settingsOf(this.#info, this.#options, options, this.#handlers)
    const opening = openingOf(transport)
    const client = opening
      ? EffectClient.open(opening.open(), settings)
      : Effect.flatMap(opened(transport, "client"), ({ core }) => EffectClient.connect(core, settings))
    const scope = Scope.makeUnsafe()
    const services = answering(capabilities, this.#handlers, answeringProbe(options.prior))
    const connecting = Effect.provide(Scope.provide(client, scope), services)
    try {
      this.#start(await this.#run(connecting, options.signal), transport, scope, opening)
    } catch (error) {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      throw error
    }
    // With a saved probe, nothing is sent before the client's first request.
    if (options.prior?.kind === "modern") return
    this.autoOpenedSubscription = await watchLists(this, this.#options.listChanged)
  }

  #start(client: Effective.Client, transport: Transport, scope: Scope.Closeable, opening: Opening | undefined): void {
    let closing: Promise<void> | undefined
    const close = (): Promise<void> =>
      (closing ??= Effect.runPromise(Scope.close(scope, Exit.void)).then(() => {
        this.#running = undefined
        const failed = (error: unknown) => report(this.onerror, error)
        notify(() => this.onclose?.(), failed)
        if (opening !== undefined) notify(() => transport.onclose?.(), failed)
      }))
    this.#running = { client, close, transport }
    opening?.opened(close)
    void Effect.runPromiseExit(client.awaitClosed).then(close)
  }

  get #client(): Effective.Client {
    if (this.#running !== undefined) return this.#running.client
    throw new SdkError(SdkErrorCode.NotConnected, "The client is not connected. Call connect(transport) first")
  }

  /** Ends requests, subscriptions and the connection. */
  async close(): Promise<void> {
    await this.#running?.close()
  }

  /** Answers the server's questions for a method, which `capabilities` must declare. */
  setRequestHandler<M extends RequestMethod>(
    method: M,
    handler: (request: RequestOf<M>, context: ClientContext) => Async<ResultOf<M>>
  ): void
  setRequestHandler<S extends RequestSchema>(
    schema: S,
    handler: (request: StandardSchemaV1.InferOutput<S>, context: ClientContext) => Async<ResultOf<MethodOf<S>>>
  ): void
  setRequestHandler(method: string | RequestSchema, handler: AnyHandler): void {
    this.#handlers.answer(method, handler)
  }

  /**
   * Handles notifications for a method, identified by its name, by a schema for its params, or as in v1 by a schema for its notifications.
   */
  setNotificationHandler<M extends NotificationMethod>(
    method: M,
    handler: (notification: NotificationOf<M>) => unknown
  ): void
  setNotificationHandler<P extends StandardSchemaV1>(
    method: string,
    schemas: { params: P },
    handler: (params: StandardSchemaV1.InferOutput<P>) => unknown
  ): void
  setNotificationHandler<S extends RequestSchema>(
    schema: S,
    handler: (notification: StandardSchemaV1.InferOutput<S>) => unknown
  ): void
  setNotificationHandler(
    method: string | RequestSchema,
    first: AnyHandler | { params: StandardSchemaV1 },
    second?: (params: unknown) => unknown
  ): void {
    this.#handlers.hear(method, first, second)
  }

  removeNotificationHandler(method: string): void {
    this.#handlers.notifications.delete(method)
  }

  /** Sends a request with any method. If you pass a schema, it validates the result. */
  request(request: Request, options?: RequestOptions): Promise<JsonObject>
  request<S extends StandardSchemaV1>(
    request: Request,
    schema: S,
    options?: RequestOptions
  ): Promise<StandardSchemaV1.InferOutput<S>>
  async request(
    { method, params }: Request,
    first?: StandardSchemaV1 | RequestOptions,
    second?: RequestOptions
  ): Promise<unknown> {
    const options = isSchema(first) ? second : first
    const questions = options?.allowInputRequired === true ? ("returned" as const) : ("answered" as const)
    const { raw } = this.#client
    const result = await this.#asked(options, (call) => raw.request(method, params, { ...call, questions }))
    if (!isSchema(first)) return result
    const unfit = (why: string) =>
      new SdkError(SdkErrorCode.InvalidResult, `The result of ${method} does not match its schema: ${why}`)
    return checked(first, result, unfit)
  }

  async #send<A>(method: Method, params: object, options: RequestOptions | undefined): Promise<A> {
    const untyped: unknown = params
    const client = this.#client
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the codec of the method encodes the params, and rejects invalid ones
    const sent = (call: CallOptions): Effect.Effect<unknown, unknown> => client.request(method, untyped as never, call)
    return plain<A>(await this.#asked(options, sent))
  }

  /** Calls a tool. A tool that fails returns a result with `isError`. A schema as the second argument, as in v1, is ignored. */
  async callTool(
    {
      _meta,
      arguments: args,
      name
    }: { name: string; arguments?: JsonObject | undefined; _meta?: JsonObject | undefined },
    first?: StandardSchemaV1 | RequestOptions,
    second?: RequestOptions
  ): Promise<CallToolResult> {
    const options: RequestOptions = second ?? (first === undefined || isSchema(first) ? {} : first)
    const client = this.#client
    const meta = _meta && { meta: _meta }
    const called = (call: CallOptions) => client.callToolByName(name, args, { ...call, ...meta })
    const result = plain<CallToolResult>(await this.#asked(options, called))
    try {
      return this.#outputs.checked(name, result)
    } catch (error) {
      throw this.failure(error)
    }
  }

  /** Whether to read a list to its end when it is requested without a cursor. */
  protected get readsAllPages(): boolean {
    return true
  }

  async #listed<A extends { nextCursor?: string | undefined }>(
    method: Method,
    itemsOf: (page: A) => Array<unknown>,
    { cursor: first, ...params }: ListParams = {},
    options?: RequestOptions
  ): Promise<A> {
    const send = (cursor: string | undefined) =>
      this.#send<A>(method, cursor === undefined ? params : { ...params, cursor }, options)
    const page = await send(first)
    if (this.readsAllPages && first === undefined) await readOn(page, itemsOf, send)
    return page
  }

  async listTools(params?: ListParams, options?: RequestOptions): Promise<ListToolsResult> {
    const listed = await this.#listed<ListToolsResult>("tools/list", ({ tools }) => tools, params, options)
    this.#outputs.learn(listed.tools)
    return listed
  }

  listPrompts(params?: ListParams, options?: RequestOptions): Promise<ListPromptsResult> {
    return this.#listed<ListPromptsResult>("prompts/list", ({ prompts }) => prompts, params, options)
  }

  listResources(params?: ListParams, options?: RequestOptions): Promise<ListResourcesResult> {
    return this.#listed<ListResourcesResult>("resources/list", ({ resources }) => resources, params, options)
  }

  listResourceTemplates(params?: ListParams, options?: RequestOptions): Promise<ListResourceTemplatesResult> {
    const method = "resources/templates/list"
    return this.#listed<ListResourceTemplatesResult>(method, (page) => page.resourceTemplates, params, options)
  }

  readResource(params: { uri: string; _meta?: JsonObject }, options?: RequestOptions): Promise<ReadResourceResult> {
    return this.#send("resources/read", params, options)
  }

  getPrompt(
    params: { name: string; arguments?: { [name: string]: string } | undefined; _meta?: JsonObject },
    options?: RequestOptions
  ): Promise<GetPromptResult> {
    return this.#send("prompts/get", params, options)
  }

  /** Returns suggestions for a prompt argument or a template variable. */
  complete(params: CompleteRequestParams, options?: RequestOptions): Promise<CompleteResult> {
    return this.#send("completion/complete", params, options)
  }

  async subscribeResource({ uri }: { uri: string }, options?: RequestOptions): Promise<EmptyResult> {
    await this.#run(this.#client.subscribeResource(uri), options?.signal)
    return {}
  }

  async unsubscribeResource({ uri }: { uri: string }, options?: RequestOptions): Promise<EmptyResult> {
    await this.#run(this.#client.unsubscribeResource(uri), options?.signal)
    return {}
  }

  /** Asks for log messages of at least this level. */
  async setLoggingLevel(level: LoggingLevel, options?: RequestOptions): Promise<EmptyResult> {
    await this.#run(this.#client.setLogLevel(level), options?.signal)
    return {}
  }

  async ping(options?: RequestOptions): Promise<EmptyResult> {
    await this.#run(this.#client.ping, options?.signal)
    return {}
  }

  /** Subscribes to announcements (2026-07-28). Resolves once the server has agreed. */
  listen(filter: SubscriptionFilter): Promise<McpSubscription> {
    const notified = (method: string, params: object) => this.#handlers.notified(method, params)
    return listen(this.#client.raw.listen(plain(filter)), notified)
  }

  async notification({ method, params }: Notification): Promise<void> {
    await this.#run(this.#client.raw.notify(method, params))
  }

  async sendRootsListChanged(): Promise<void> {
    await this.notification({ method: "notifications/roots/list_changed" })
  }

  /** Capabilities that the server declared. This and the following are `undefined` until the client is connected. */
  getServerCapabilities(): ServerCapabilities | undefined {
    return this.#running && plain(this.#running.client.serverCapabilities)
  }

  getServerVersion(): Implementation | undefined {
    return this.#running && plain(this.#running.client.serverInfo)
  }

  getInstructions(): string | undefined {
    return this.#running?.client.instructions
  }

  getNegotiatedProtocolVersion(): string | undefined {
    return this.#running?.client.revision.version
  }

  /** The server's description of itself in 2026-07-28, or `undefined` in older revisions. */
  getDiscoverResult(): DiscoverResult | undefined {
    return this.#running && discoverResultOf(this.#running.client)
  }

  getProtocolEra(): "legacy" | "modern" | undefined {
    const version = this.getNegotiatedProtocolVersion()
    return version === undefined ? undefined : version === "2026-07-28" ? "modern" : "legacy"
  }
}
