/**
 * The running server of definitions: an actor of effect-mcp that asks the definition of each request for its answer.
 *
 * Owns what is between the two: which methods a definition has, what is declared, announcements of changed lists and resources.
 */
import { EncodedResult } from "@effect-mcp/core/EncodedResult"
import { PromptRegistry } from "@effect-mcp/core/Prompts"
import { RequestContext, type RequestServices } from "@effect-mcp/core/RequestContext"
import { ResourceRegistry } from "@effect-mcp/core/Resources"
import { ToolRegistry } from "@effect-mcp/core/Tools"
import { Changes } from "@effect-mcp/promise/internal/changes"
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

/** What a message waits for; undefined for nothing. Its failure is the answer. */
export type Arrival = Effect.Effect<void, Wire.McpError> | undefined

export interface ActorOptions {
  /** Called with the session of each message; undefined where it has none. The message waits for what it gives. */
  readonly arrived?: (session: McpServer.Session | undefined) => Arrival
  /** Default: all. */
  readonly revisions?: ServerOptions["revisions"]
}

type ServerOptions = McpServer.Options<never, McpServer.Registries>

const noParams: JsonObject = {}
const nothing = Effect.succeed([])

/** Whether a method changes the session, whose state is the actor's: a handler of the program hears of it. */
const isHeard = (method: string): boolean => MethodInfo.ofRequest(method)?.needsSession === true

/** A definition's capabilities, in the place of those of the actor, which could do everything. */
const declared = <A extends object>(result: A, definition: Definition) => ({
  ...result,
  capabilities: plain<ServerCapabilities>(definition.capabilities()),
  ...(definition.instructions === undefined ? undefined : { instructions: definition.instructions })
})

/** The era of a notification: a session's, and without one that of the header. */
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
  /** Called when the actor closes, before its end. */
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
      // Programs of the SDK expect every level until a client asks for another.
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

  /** Sources without members, which announce: what they list, the middleware answers. */
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
        // Every URI can be subscribed to: what a program knows of, it says when it is read.
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
      // The server refuses the method where there is no session: then the program's handler alone answers.
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
        return Effect.fail(Wire.internalError(`The handler of ${method} gave ${typeof result}; expected an object`))
      }
      if (MethodInfo.ofRequest(method) === undefined) return Effect.succeed(EncodedResult.core("complete", result))
      const whole = method === "tools/call" ? withContent(result) : result
      // Handlers give members that are undefined, and values with `toJSON`. The codec of the method refuses what is none of its results.
      return Effect.succeed(plain<Middleware.Result>({ ...definition.cacheHint(method), ...whole }))
    })
  }

  /** Sees what no middleware sees: notifications, and the first request of a session. */
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

  /** The server, which is built if it is not there yet. */
  get server(): Effect.Effect<McpServer.Server> {
    return Effect.map(this.#runtime.contextEffect, (context) => Context.get(context, McpServer.McpServer))
  }

  /** The server as a layer: what is built of it shares one server. */
  get layer(): Layer.Layer<McpServer.McpServer> {
    return Layer.effectContext(this.#runtime.contextEffect)
  }

  /** Tells clients that a list has changed. */
  changed(list: List): void {
    this.#lists.announce(list)
  }

  /** Tells clients that are subscribed to a resource to read it again. */
  updated(uri: string): void {
    this.#updates.announce(uri)
  }

  /** Runs an effect with the server until it ends or the server closes. */
  run<A, E>(effect: Effect.Effect<A, E, McpServer.McpServer>) {
    return this.#runtime.runPromiseExit(effect)
  }

  /** Calls `close` when the server closes, before its end; the function takes that back. */
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

/** A result of a tool, whose content a handler may leave out. */
const withContent = (result: JsonObject): JsonObject =>
  result["content"] !== undefined || isInputRequiredResult(result) ? result : { ...result, content: [] }

/** The part of a subscription that a definition declares: the actor could do everything. */
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

/** Whether a definition declares what a method of the actor needs. */
const isOffered = (definition: Definition, method: string): boolean => {
  const { logging, resources } = definition.capabilities()
  if (method === "logging/setLevel") return logging !== undefined
  return resources?.subscribe === true || definition.handler(method) !== undefined
}
