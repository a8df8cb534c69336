/**
 * The SDK's low-level server: request handlers by method, capabilities, and one transport.
 *
 * Owns the definition that its actor reads, and sends the program's messages outside of requests.
 */
import type { RequestConnection } from "@effect-mcp/core/RequestContext"
import type { StandardSchemaV1 } from "@standard-schema/spec"
import * as Effect from "effect/Effect"
import { ProtocolError, ProtocolErrorCode, SdkError, SdkErrorCode } from "../model/errors.ts"
import { plain } from "../model/plain.ts"
import { errorOf, notify, report } from "../model/report.ts"
import type {
  ClientCapabilities,
  CreateMessageRequestParams,
  CreateMessageResult,
  ElicitRequestFormParams,
  ElicitRequestURLParams,
  ElicitResult,
  Implementation,
  JsonObject,
  ListRootsResult,
  LoggingLevel,
  Notification,
  Request,
  ServerCapabilities
} from "../model/types.ts"
import type { NotificationMethod, NotificationOf, RequestMethod, RequestOf, ResultOf } from "../model/requests.ts"
import { ask } from "../request/Context.ts"
import type { KnownClient } from "../request/KnownClient.ts"
import { currentClient, currentContext, heldContext } from "../request/current.ts"
import type { QuestionOptions, ServerContext } from "../request/ServerContext.ts"
import type { Announcer, CacheHint, Definition, Handler, List } from "../request/Definition.ts"
import { checkedAnswer } from "../request/elicitation.ts"
import { toSdk } from "../request/errors.ts"
import { checked, isSchema } from "../schema/resultOf.ts"
import { connectTo, type Connected } from "./connect.ts"
import type { CustomMethod, ServerOptions } from "./Options.ts"
import { merged } from "./capabilities.ts"
import { isOwn, type MethodOf, methodOf, type RequestSchema } from "./methods.ts"
import type { Transport } from "./Transport.ts"

export type { CustomMethod, ServerOptions } from "./Options.ts"

/** How a server that a factory created is served, by an actor that it shares with the factory's other servers. */
export interface Shared {
  readonly actor: Announcer
  /** Set if the server lives as long as a connection. */
  readonly connection?: RequestConnection | undefined
  readonly client?: KnownClient | undefined
  readonly era?: "legacy" | "modern" | undefined
}

type Async<A> = A | PromiseLike<A>

const invalid = (issues: string) => new ProtocolError(ProtocolErrorCode.InvalidParams, `Invalid params: ${issues}`)

export class Server implements Definition {
  readonly info: Implementation
  readonly instructions: string | undefined
  /** Called when the connection has ended. */
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  /**
   * Called once the client has completed its handshake. In 2026-07-28, which has no handshake, called before the first request of a
   * connected server.
   */
  oninitialized?: (() => void) | undefined
  readonly #options: ServerOptions
  /** Named as in the SDK, because programs wrap `McpServer`'s handlers in this map. */
  private readonly _requestHandlers = new Map<string, Handler>()
  readonly #notifications = new Map<string, (notification: Notification) => unknown>()
  #capabilities: ServerCapabilities
  #connected: Connected | undefined = undefined
  #shared: Shared | undefined = undefined
  /** Client of the first request without a handshake. */
  #first: KnownClient | undefined = undefined

  constructor(info: Implementation, options: ServerOptions = {}) {
    this.info = info
    this.instructions = options.instructions
    this.#options = options
    // Tasks of v1 run within the calls of their tools.
    const { tasks: _undeclared, ...capabilities } = options.capabilities ?? {}
    this.#capabilities = capabilities
  }

  capabilities(): ServerCapabilities {
    return this.#capabilities
  }

  handler(method: string): Handler | undefined {
    return this._requestHandlers.get(method)
  }

  cacheHint(method: string): CacheHint | undefined {
    return this.#options.cacheHints?.[method]
  }

  get verify(): Definition["verify"] {
    return this.#options.requestState?.verify
  }

  failed(error: Error): void {
    report(this.onerror, error)
  }

  /** Returns the error of a question or request, in the form that the program expects. */
  readonly errorOf = (error: unknown): unknown => this.failure(toSdk(error))

  /** Converts an error to the names of an older SDK version. */
  protected failure(error: unknown): unknown {
    return error
  }

  #call(callback: () => unknown): void {
    notify(callback, (error) => this.failed(errorOf(error)))
  }

  notified(method: string, params: JsonObject): void {
    if (method === "notifications/initialized") this.#call(() => this.oninitialized?.())
    const heard = this.#notifications.get(method)
    if (heard !== undefined) this.#call(() => heard({ method, params }))
  }

  /** Does nothing for servers that a factory created: the factory knows the client. */
  opened(client: () => KnownClient): void {
    if (this.#connected === undefined || this.#first !== undefined) return
    this.#first = client()
    if (this.#connected.client() === undefined) this.#call(() => this.oninitialized?.())
  }

  /** The transport, while it is connected. */
  get transport(): Transport | undefined {
    return this.#connected?.transport
  }

  /** Adds to the declared capabilities. Call it before connecting the server. */
  registerCapabilities(capabilities: ServerCapabilities): void {
    this.#capabilities = merged(this.#capabilities, capabilities)
  }

  /** Answers requests of a method from the features registered in `McpServer`. The method's codec checks the result. */
  answer(method: string, handler: Handler): void {
    this._requestHandlers.set(method, handler)
  }

  /** Answers requests for a list that has only one page. Rejects cursors, because it never returns one. */
  answerList(method: string, handler: Handler): void {
    this.answer(method, (request, context) => {
      const { cursor } = request.params
      if (cursor === undefined) return handler(request, context)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, "Invalid cursor. To start over, list without a cursor")
    })
  }

  /** Answers requests of a method. Pass its name, its schemas if it is a custom method, or as in v1 the schema of its requests. */
  setRequestHandler<M extends RequestMethod>(
    method: M,
    handler: (request: RequestOf<M>, context: ServerContext) => Async<ResultOf<M>>
  ): void
  setRequestHandler<P extends StandardSchemaV1>(
    method: string,
    schemas: CustomMethod<P>,
    handler: (params: StandardSchemaV1.InferOutput<P>, context: ServerContext) => unknown
  ): void
  setRequestHandler<S extends RequestSchema>(
    schema: S,
    handler: (request: StandardSchemaV1.InferOutput<S>, context: ServerContext) => Async<ResultOf<MethodOf<S>>>
  ): void
  setRequestHandler(
    method: string | RequestSchema,
    first: ((request: never, context: ServerContext) => unknown) | CustomMethod<StandardSchemaV1>,
    second?: (params: unknown, context: ServerContext) => unknown
  ): void {
    const name = methodOf(method)
    if (typeof first !== "function") {
      const { params } = first
      const handler: Handler = async (request, context) =>
        second?.(await checked(params, request.params, invalid), context)
      this._requestHandlers.set(name, handler)
      return
    }
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the request is of the method, or fits the schema
    const handle = first as (request: unknown, context: ServerContext) => unknown
    if (isOwn(method)) this._requestHandlers.set(name, handle)
    else
      this._requestHandlers.set(name, async (request, context) =>
        handle(await checked(method, request, invalid), context)
      )
  }

  removeRequestHandler(method: string): void {
    this._requestHandlers.delete(method)
  }

  /** Handles notifications for a method, identified by its name, a schema for its params, or (v1) a schema for its notifications. */
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
    first: ((notification: never) => unknown) | { params: StandardSchemaV1 },
    second?: (params: unknown) => unknown
  ): void {
    this.#notifications.set(methodOf(method), async (notification) => {
      if (typeof first !== "function") return second?.(await checked(first.params, notification.params, invalid))
      const heard: unknown = isOwn(method) ? notification : await checked(method, notification, invalid)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the notification is of the method, or fits the schema
      return first(heard as never)
    })
  }

  /** Serves the transport. Resolves once it is open. A server has one transport at a time. */
  async connect(transport: Transport): Promise<void> {
    if (this.#connected !== undefined) {
      throw new SdkError(
        SdkErrorCode.AlreadyConnected,
        "The server is already connected. Call close() first, or create another server"
      )
    }
    this.#first = undefined
    this.#connected = connectTo(this, transport, () => {
      this.#connected = undefined
      this.#call(() => this.onclose?.())
    })
    try {
      await this.#connected.ready
    } catch (error) {
      this.#connected = undefined
      throw error
    }
  }

  /** Ends the connection and aborts running requests. */
  async close(): Promise<void> {
    await this.#connected?.close()
  }

  /** Called for a definition that a factory created. */
  serveBy(shared: Shared): void {
    this.#shared = shared
  }

  get #connection(): RequestConnection | undefined {
    return this.#connected?.connection() ?? this.#shared?.connection
  }

  get #client(): KnownClient | undefined {
    return currentClient(this) ?? this.#connected?.client() ?? this.#shared?.client ?? this.#first
  }

  get #actor(): Announcer | undefined {
    return this.#connected?.actor ?? this.#shared?.actor
  }

  isConnected(): boolean {
    return this.#actor !== undefined
  }

  /** Announces that a list has changed. */
  announce(list: List): void {
    this.#actor?.changed(list)
  }

  async sendToolListChanged(): Promise<void> {
    this.announce("tools")
  }

  async sendPromptListChanged(): Promise<void> {
    this.announce("prompts")
  }

  async sendResourceListChanged(): Promise<void> {
    this.announce("resources")
  }

  /**
   * Tells the client to read a resource again. Up to 2025-11-25, if the program handles subscriptions itself, this works for every URI.
   * Otherwise it only reaches clients that are subscribed to the URI.
   */
  async sendResourceUpdated({ uri }: { uri: string }): Promise<void> {
    const hasHandshake =
      this.#connected === undefined ? this.#shared?.era === "legacy" : this.#connected.client() !== undefined
    const connection = hasHandshake && this.handler("resources/subscribe") !== undefined ? this.#connection : undefined
    if (connection === undefined) this.#actor?.updated(uri)
    else connection.notify("notifications/resources/updated", { uri })
  }

  /** Sends a log message with the request whose handler is running, or else to the client of the connection. */
  async sendLoggingMessage(
    { data, level, logger }: { level: LoggingLevel; data: unknown; logger?: string | undefined },
    _sessionId?: string
  ): Promise<void> {
    const context = currentContext(this)
    if (context !== undefined) return context.mcpReq.log(level, data, logger)
    this.#connection?.notify("notifications/message", { level, data, ...(logger && { logger }) })
  }

  /** Capabilities of the running request's client, or else of the connection's client. `undefined` before its first request. */
  getClientCapabilities(): ClientCapabilities | undefined {
    return this.#client?.capabilities
  }

  /** Revision of the running request, or else of the connection. `undefined` before the client's first request. */
  getNegotiatedProtocolVersion(): string | undefined {
    return this.#client?.version
  }

  getClientVersion(): Implementation | undefined {
    return this.#client?.info
  }

  /** Sends a notification with the request whose handler is running, or else to the client of the connection. */
  async notification({ method, params }: Notification): Promise<void> {
    const context = currentContext(this)
    if (context !== undefined) return context.mcpReq.notify({ method, params })
    this.#connection?.notify(method, params)
  }

  /** Asks the client, within the request whose handler is running or else over the connection. A schema, as in v1, is ignored. */
  async request(
    asked: Request,
    schema?: StandardSchemaV1 | QuestionOptions,
    last?: QuestionOptions
  ): Promise<JsonObject> {
    const options = schema === undefined || isSchema(schema) ? last : schema
    const context = currentContext(this)
    if (context !== undefined) return context.mcpReq.send(asked, options)
    const input = this.#connection?.input
    if (input === undefined) {
      const message = `Not connected: cannot send ${asked.method}. Send it from a handler, while the client's request is open`
      throw this.errorOf(new SdkError(SdkErrorCode.NotConnected, message))
    }
    try {
      return await Effect.runPromise(
        Effect.map(
          ask(input, asked, options, (error) => this.failed(error)),
          (answer) => ({ ...Object(answer) })
        )
      )
    } catch (error) {
      throw this.errorOf(error)
    }
  }

  /** Asks the user (spec: client/elicitation). Rejects an answer that does not fit the form. */
  async elicitInput(
    params: ElicitRequestFormParams | ElicitRequestURLParams,
    options?: QuestionOptions
  ): Promise<ElicitResult> {
    const answer = await this.#ask<ElicitResult>("elicitation/create", params, options)
    try {
      return await checkedAnswer(params, answer)
    } catch (error) {
      throw this.errorOf(error)
    }
  }

  /** Asks the client's model (spec: client/sampling). */
  createMessage(params: CreateMessageRequestParams, options?: QuestionOptions): Promise<CreateMessageResult> {
    return this.#ask("sampling/createMessage", params, options)
  }

  /** Requests the client's folders (spec: client/roots). */
  listRoots(_params?: object, options?: QuestionOptions): Promise<ListRootsResult> {
    return this.#ask("roots/list", {}, options)
  }

  async ping(): Promise<JsonObject> {
    return this.request({ method: "ping" })
  }

  /**
   * Returns a function that tells the client that a URL elicitation is complete. Called in a handler, it sends with that request, whatever
   * the options say.
   */
  createElicitationCompletionNotifier(elicitationId: string, _options?: object): () => Promise<void> {
    const held = heldContext(this)
    const notification = { method: "notifications/elicitation/complete", params: { elicitationId } }
    return () => held()?.mcpReq.notify(notification) ?? this.notification(notification)
  }

  async #ask<A>(method: string, params: object, options: QuestionOptions | undefined): Promise<A> {
    return plain<A>(await this.request({ method, params: { ...params } }, undefined, options))
  }
}
