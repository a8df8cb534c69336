/**
 * Runs the server of one or more definitions: an actor of effect-mcp that asks a request's definition for the answer.
 *
 * Owns the glue between the two: the methods of a definition, its declared capabilities, and the announcements of changed lists and
 * resources.
 */
import { EncodedResult } from "@effect-mcp/core/EncodedResult"
import { PromptRegistry } from "@effect-mcp/core/Prompts"
import { RequestContext, type RequestServices } from "@effect-mcp/core/RequestContext"
import { ResourceRegistry } from "@effect-mcp/core/Resources"
import { ToolRegistry } from "@effect-mcp/core/Tools"
import { Changes } from "@effect-mcp/promise/internal/compat"
import * as Wire from "@effect-mcp/protocol/McpError"
import type { ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { ListenParams } from "@effect-mcp/protocol/model/Subscriptions"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Middleware from "@effect-mcp/server/Middleware"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { answer } from "../request/answer.ts"
import { type Choose, knownClient } from "../request/Choose.ts"
import type { Announcer, Definition, List } from "../request/Definition.ts"
import { isInputRequiredResult } from "../model/inputRequired.ts"
import { plain } from "../model/plain.ts"
import { errorOf, messageOf } from "../model/report.ts"

type Declared = Pick<ServerOptions, "experimental" | "extensions">

/** An effect that a message waits for, or `undefined` if it need not wait. If it fails, its error is the answer. */
export type Arrival = Effect.Effect<void, Wire.McpError> | undefined

export interface ActorOptions {
  /** Called for each message with its session, if it has one. The message waits for the effect that it returns. */
  readonly arrived?: (session: McpServer.Session | undefined) => Arrival
  /** Default: all. */
  readonly revisions?: ServerOptions["revisions"]
}

type ServerOptions = McpServer.Options<never, McpServer.Registries>

const noParams: JsonObject = {}
const nothing = Effect.succeed([])

/** True if a method changes the session's state, which the actor owns. A handler of the program is called as well. */
const isHeard = (method: string): boolean => MethodInfo.ofRequest(method)?.needsSession === true

/** Replaces the actor's capabilities, which cover everything, with the definition's capabilities. */
const declared = <A extends object>(result: A, definition: Definition) => ({
  ...result,
  capabilities: plain<ServerCapabilities>(definition.capabilities()),
  ...(definition.instructions === undefined ? undefined : { instructions: definition.instructions })
})

/** Returns the era of a notification: from its session, or from its header if there is no session. */
const eraOf = (
  { headers }: Parameters<Choose>[0]["envelope"],
  session: McpServer.Session | undefined
): "legacy" | "modern" => {
  const isModern =
    session === undefined ? headers?.["mcp-protocol-version"] === "2026-07-28" : session.negotiated === undefined
  return isModern ? "modern" : "legacy"
}

export class Actor implements Announcer {
  readonly #lists = new Changes()
  readonly #updates = new Changes()
  readonly #runtime: ManagedRuntime.ManagedRuntime<McpServer.McpServer, never>
  readonly #choose: (request: Parameters<Choose>[0]) => Effect.Effect<Definition, Wire.McpError>
  readonly #arrived: NonNullable<ActorOptions["arrived"]>
  readonly #failed: (error: Error) => void
  #closing: Promise<void> | undefined = undefined
  /** Called when the actor starts to close. */
  readonly #closers = new Set<() => Promise<void>>()

  constructor(first: Definition, choose: Choose, { arrived = () => undefined, revisions }: ActorOptions = {}) {
    this.#arrived = arrived
    this.#failed = (error) => first.failed(error)
    this.#choose = (request) =>
      Effect.tryPromise({
        try: async () => choose(request),
        catch: (thrown) => Wire.internalError(messageOf(thrown))
      })
    const { experimental, extensions } = first.capabilities()
    const options: ServerOptions = {
      ...plain<Implementation>(first.info),
      instructions: first.instructions,
      ...plain<Declared>({ experimental, extensions }),
      revisions,
      dynamic: true,
      unknownMethods: "middleware",
      sessionMethods: "middleware",
      // Programs of the SDK expect messages of every level until a client asks for another.
      logging: { level: "debug" },
      features: Layer.mergeAll(this.#announcements, this.#middleware, this.#hook(choose, first)),
      onInitialize: (result, { connection, ...client }) =>
        Effect.map(this.#choose({ envelope: {}, outbound: { connection }, era: "legacy", client }), (definition) =>
          declared(result, definition)
        )
    }
    this.#runtime = ManagedRuntime.make(
      Layer.provideMerge(McpServer.layer(options), Layer.succeed(Logger.LogToStderr, true))
    )
  }

  /** Registers empty sources, which announce changes. The middleware answers the list requests. */
  get #announcements(): Layer.Layer<never, never, McpServer.Registries> {
    return Layer.effectDiscard(
      Effect.gen({ self: this }, function* () {
        const changes = (list: List) => this.#lists.of(list)
        yield* (yield* ToolRegistry).mount({ list: nothing, call: () => undefined, changes: changes("tools") })
        yield* (yield* PromptRegistry).mount({ list: nothing, get: () => undefined, changes: changes("prompts") })
        const resources = yield* ResourceRegistry
        yield* resources.mount({
          list: nothing,
          templates: nothing,
          read: () => undefined,
          watch: () => undefined,
          matches: () => false,
          changes: changes("resources")
        })
        // Clients can subscribe to every URI, because the program's resources are only known when they are read.
        yield* resources.registerTemplate({
          template: { name: "any", uriTemplate: "{+uri}" },
          variables: ["uri"],
          read: () => Effect.fail(Wire.internalError("The middleware answers reads")),
          watch: (uri) => this.#updates.of(uri),
          watchable: true,
          complete: {}
        })
      })
    )
  }

  get #middleware() {
    return Middleware.layer<RequestServices>((request, next, proceed) =>
      Effect.flatMap(RequestContext, (info) =>
        Effect.flatMap(
          this.#choose({ ...info, client: info, era: info.revision.era === "stateless" ? "modern" : "legacy" }),
          (definition) => {
            const { method } = request
            const isProbe = method === "server/discover"
            if (info.revision.era === "stateless" && !isProbe) definition.opened(() => knownClient(info))
            return method === "subscriptions/listen"
              ? proceed({ ...request, params: heardFrom(definition, request.params) })
              : this.#answer(definition, request, next)
          }
        )
      )
    )
  }

  #answer(
    definition: Definition,
    request: Middleware.Request,
    next: Effect.Effect<Middleware.Result, Wire.McpError, RequestServices>
  ): Effect.Effect<Middleware.Result, Wire.McpError, RequestServices> {
    const { method } = request
    if (method === "server/discover") {
      return Effect.map(next, (result) => ("capabilities" in result ? declared(result, definition) : result))
    }
    const untyped: unknown = request.params
    const params = isJsonObject(untyped) ? { ...untyped } : { ...noParams }
    const handler = definition.handler(method)
    if (isHeard(method)) {
      if (!isOffered(definition, method)) return Effect.fail(Wire.methodNotFound(method))
      if (handler === undefined) return next
      // The server rejects the method if there is no session. The program's handler then answers alone.
      const kept = Effect.catchIf(
        next,
        ({ code }) => code === Wire.MethodNotFound,
        () => Effect.succeed({})
      )
      return Effect.andThen(answer(definition, handler, { method, params }), kept)
    }
    if (handler === undefined) return Effect.fail(Wire.methodNotFound(method))
    return Effect.flatMap(answer(definition, handler, { method, params }), (result) => {
      if (!isJsonObject(result)) {
        return Effect.fail(
          Wire.internalError(`The ${method} handler returned a value of type ${typeof result}; expected an object`)
        )
      }
      if (MethodInfo.ofRequest(method) === undefined) return Effect.succeed(EncodedResult.core("complete", result))
      const whole = method === "tools/call" ? withContent(result) : result
      // Handlers return undefined members and values with `toJSON`. The method's codec rejects anything that is not a valid result.
      return Effect.succeed(plain<Middleware.Result>({ ...definition.cacheHint(method), ...whole }))
    })
  }

  /** Handles messages that do not reach the middleware: notifications, and the first request of a session. */
  #hook(choose: Choose, first: Definition) {
    const notify = async (chosen: Parameters<Choose>[0], method: string, params: JsonObject) => {
      try {
        const definition = await choose(chosen)
        definition.notified(method, params)
      } catch (error) {
        first.failed(errorOf(error))
      }
    }
    return Middleware.inbound(({ envelope, message, outbound, session }, next) => {
      const { method, params = noParams } = message
      const arrival = this.#arrived(session)
      if (!("id" in message)) void notify({ envelope, outbound, era: eraOf(envelope, session) }, method, { ...params })
      return arrival === undefined ? next : Effect.andThen(arrival, next)
    })
  }

  /** Returns the server. Builds it on first use. */
  get server(): Effect.Effect<McpServer.Server> {
    return Effect.map(this.#runtime.contextEffect, (context) => Context.get(context, McpServer.McpServer))
  }

  /** The server as a layer. Everything built from it shares one server. */
  get layer(): Layer.Layer<McpServer.McpServer> {
    return Layer.effectContext(this.#runtime.contextEffect)
  }

  /** Announces that a list has changed. */
  changed(list: List): void {
    this.#lists.announce(list)
  }

  /** Announces a changed resource to the clients that are subscribed to it. */
  updated(uri: string): void {
    this.#updates.announce(uri)
  }

  /** Runs an effect with the server until the effect ends or the server closes. */
  run<A, E>(effect: Effect.Effect<A, E, McpServer.McpServer>) {
    return this.#runtime.runPromiseExit(effect)
  }

  /** Registers `close` to be called when the server starts to close. Returns a function that unregisters it. */
  onClose(close: () => Promise<void>): () => void {
    if (this.#closing !== undefined) throw new Error("The server is closed")
    this.#closers.add(close)
    return () => this.#closers.delete(close)
  }

  close(): Promise<void> {
    return (this.#closing ??= (async () => {
      const ended = await Promise.allSettled([...this.#closers].map((close) => close()))
      await this.#runtime.dispose()
      for (const end of ended) {
        if (end.status === "rejected") this.#failed(errorOf(end.reason))
      }
    })())
  }
}

/** Adds empty content to a tool result without content, which a handler may omit. */
const withContent = (result: JsonObject): JsonObject =>
  result["content"] !== undefined || isInputRequiredResult(result) ? result : { ...result, content: [] }

/** Reduces a subscription to the parts that the definition declares, because the actor supports everything. */
const heardFrom = (definition: Definition, { notifications, ...params }: ListenParams): ListenParams => {
  const { prompts, resources, tools } = definition.capabilities()
  const { promptsListChanged, resourceSubscriptions, resourcesListChanged, toolsListChanged, ...others } = notifications
  return {
    ...params,
    notifications: {
      ...others,
      ...(tools?.listChanged === true && toolsListChanged === true && { toolsListChanged }),
      ...(prompts?.listChanged === true && promptsListChanged === true && { promptsListChanged }),
      ...(resources?.listChanged === true && resourcesListChanged === true && { resourcesListChanged }),
      ...(resources?.subscribe === true && resourceSubscriptions !== undefined && { resourceSubscriptions })
    }
  }
}

/** True if a definition declares the capability that a method of the actor needs. */
const isOffered = (definition: Definition, method: string): boolean => {
  const { logging, resources } = definition.capabilities()
  if (method === "logging/setLevel") return logging !== undefined
  return resources?.subscribe === true || definition.handler(method) !== undefined
}
