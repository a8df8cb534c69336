/**
 * Extensions on a server. `Extensions.layer` registers an extension for the lifetime of the layer. Its handlers reach the client through
 * `declared`, `ask` and `notify`.
 *
 * Extension methods are ordinary requests: they are supervised and cancellable, report progress, and go through the server's middleware and
 * limits.
 */
import * as McpError from "@effect-mcp/protocol/McpError"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { EncodedResult, isEncodedResult } from "../contract/EncodedResult.ts"
import {
  type Any,
  failureKey,
  type Identity,
  type MetaKey,
  type Notification,
  type Request,
  type Subscription
} from "../contract/Extension.ts"
import { codecSchema } from "../contract/codecSchema.ts"
import type { InvalidValue } from "../contract/ValueCodec.ts"
import { exitOf } from "../internal/eager.ts"
import { askErrorToMcp } from "../request/askErrorToMcp.ts"
import { type AskError, CapabilityMissing, Declined } from "../request/ClientInput.ts"
import { objectOf } from "../request/ExtensionMessages.ts"
import type { RequestContext, RequestServices } from "../request/RequestContext.ts"
import { Closed, Timeout } from "../peer/Peer.ts"
import type {
  ExtensionCaller,
  Granted,
  Handlers,
  SubscriptionMessage,
  NoOthers,
  ServicesOf
} from "./ExtensionHandlers.ts"
import { deferred, HandlerContext, type HandledRequest } from "./HandlerContext.ts"
import { registrationLayer } from "./registration.ts"

export type {
  ExtensionCaller as Caller,
  Granted,
  HandlerError,
  Handlers,
  SubscriptionMessage as Message
} from "./ExtensionHandlers.ts"
export { ask, declared, notify, type NotifyOptions } from "../request/ExtensionMessages.ts"

/** A registered extension method. */
export interface MethodEntry {
  readonly request: Request<any, any, any, "client">
  /** Handles a request. Params (without `_meta`) and result are in wire form. */
  readonly call: (
    params: JsonObject,
    request: HandledRequest
  ) => Effect.Effect<EncodedResult, McpError.McpError, RequestServices>
}

/** A registered notification that clients send. */
export interface NotificationEntry {
  readonly notification: Notification<any, "client">
  readonly receive: (params: JsonObject) => Effect.Effect<void, McpError.McpError, RequestServices>
}

/** A registered kind of subscription. */
export interface SubscriptionEntry {
  readonly subscription: Subscription<any>
  /** Opens a subscription. Returns `undefined` if the server doesn't grant it. `granted` is in wire form. */
  readonly listen: (
    filter: unknown
  ) => Effect.Effect<Granted<unknown, never> | undefined, McpError.McpError, RequestServices>
}

/** A registered extension. */
export interface ExtensionEntry extends Identity {
  readonly contract: Any
  /** True if the extension is available to a caller. */
  readonly offered: (caller: ExtensionCaller) => boolean
  /** True if the extension is the same for every caller. */
  readonly isSameForAll: boolean
  /** Returns the settings declared to a caller, or `undefined` if the extension isn't available to the caller. */
  readonly settings: (caller: ExtensionCaller) => Effect.Effect<JsonObject | undefined>
  /** Maximum requests per second and caller for each method, or `undefined` for no limit. The server may override it. */
  readonly rateLimit?: number | undefined
  readonly methods: ReadonlyArray<MethodEntry>
  readonly notifications: ReadonlyArray<NotificationEntry>
  readonly subscriptions: ReadonlyArray<SubscriptionEntry>
}

/** The extension registry. Registering an ID, a method or a kind of subscription twice is a defect. */
export class ExtensionRegistry extends Context.Service<
  ExtensionRegistry,
  { readonly register: (entry: ExtensionEntry) => Effect.Effect<void, never, Scope.Scope> }
>()("@effect-mcp/core/ExtensionRegistry") {}

/** Creates a notification to send to a subscription's stream. */
export const message = <P>(notification: Notification<P, "server">, params: NoInfer<P>): SubscriptionMessage => ({
  notification,
  params
})

/**
 * Offers `extension` for the lifetime of the layer. When the layer closes, requests in flight are allowed to finish before the
 * subscriptions are closed. Services that the handlers need remain in the layer's requirements, except for the ones that each request
 * provides (`RequestServices`).
 *
 * `settings` are the settings the server declares, or a function that computes them for each caller. If the function returns `undefined`,
 * the extension and its methods don't exist for that caller. Registering two extensions with the same ID or method is a defect that names
 * both places. A schema that JSON Schema cannot express is also a defect.
 *
 * A handler may fail with its method's declared failure, a failed question, or `McpError`. An `EncodedResult` is sent unchanged.
 * Notification handlers run one at a time for each connection.
 *
 * @example
 * ```ts
 * import { Extension, Extensions } from "@effect-mcp/core"
 * import { McpServer } from "@effect-mcp/server"
 * import { Effect, Schema } from "effect"
 *
 * const Clock = Extension.make("com.example/clock", {
 *   serverSettings: { zone: Schema.String },
 *   requests: { now: Extension.request("com.example/clock/now", { result: { time: Schema.String } }) }
 * })
 *
 * const clock = Extensions.layer(Clock, {
 *   settings: { zone: "UTC" },
 *   requests: { now: () => Effect.sync(() => ({ time: new Date().toISOString() })) }
 * })
 *
 * export const server = McpServer.layer({ name: "clock", version: "1.0.0", features: clock })
 * ```
 */
export const layer = <X extends Any, const H extends Handlers<X>>(
  extension: X,
  handlers: H & NoOthers<H, X>
): Layer.Layer<never, never, ExtensionRegistry | Exclude<ServicesOf<H>, RequestServices>> =>
  registrationLayer(
    ExtensionRegistry,
    (registry, services: Context.Context<Exclude<ServicesOf<H>, RequestServices>>) => {
      checkSchemas(extension)
      return registry.register(entryOf(extension, handlers, new HandlerContext<ServicesOf<H>>(services)))
    }
  )

/** Throws if JSON Schema cannot express a schema. All of the schemas are part of the server's contract. */
const checkSchemas = (extension: Any): void => {
  const { clientSettings, id, meta, notifications, questions, requests, serverSettings, subscriptions } = extension
  codecSchema(`The client settings of ${id}`, clientSettings)
  codecSchema(`The server settings of ${id}`, serverSettings)
  for (const { failure, method, params, result } of [...requestsOf(requests), ...requestsOf(questions)]) {
    codecSchema(`The params of ${method}`, params)
    codecSchema(`The result of ${method}`, result)
    if (failure !== undefined) codecSchema(`The failure of ${method}`, failure)
  }
  for (const { method, params } of Object.values<Notification<any>>(notifications)) {
    codecSchema(`The params of ${method}`, params)
  }
  for (const { filter, key } of Object.values<Subscription<any>>(subscriptions))
    codecSchema(`The filter ${key}`, filter)
  for (const { key, value } of Object.values<MetaKey<any>>(meta)) codecSchema(`The _meta key ${key}`, value)
}
const requestsOf = (parts: PartsByName<Request<any, any, any>>) => Object.values(parts)

type Handler = (value: any) => Effect.Effect<any, any, any>
/** Handlers without their types, which `layer` has already checked. */
interface Parts {
  readonly settings?: unknown
  readonly rateLimit?: number | undefined
  readonly requests?: HandlersByName
  readonly notifications?: HandlersByName
  readonly subscriptions?: HandlersByName
}
type HandlersByName = { readonly [name: string]: Handler }
type PartsByName<P> = { readonly [name: string]: P }

/** Pairs each part with its handler. A missing handler, which is only possible in JavaScript, is a defect. */
const paired = <P, A>(
  id: string,
  parts: PartsByName<P>,
  handlers: HandlersByName | undefined,
  make: (part: P, handler: Handler) => A
): ReadonlyArray<A> =>
  Object.entries(parts).map(([name, part]) => {
    const handler = handlers !== undefined && Object.hasOwn(handlers, name) ? handlers[name] : undefined
    if (handler === undefined) throw new Error(`The extension ${id} has no handler for ${JSON.stringify(name)}`)
    return make(part, handler)
  })

const isFromClient = (notification: Notification<any>): notification is Notification<any, "client"> =>
  notification.from === "client"

const fromClient = (all: PartsByName<Notification<any>>): PartsByName<Notification<any, "client">> =>
  Object.fromEntries(
    Object.entries(all).flatMap(([name, notification]) => (isFromClient(notification) ? [[name, notification]] : []))
  )

const entryOf = <R>(extension: Any, parts: Parts, context: HandlerContext<R>): ExtensionEntry => {
  const { capability, id, inSessions, revisions, serverSettings, undeclared } = extension
  const { settings = {} } = parts
  const settingsOf = (caller: ExtensionCaller): unknown =>
    typeof settings === "function" ? settings(caller) : settings
  return {
    id,
    revisions,
    capability,
    undeclared,
    inSessions,
    contract: extension,
    rateLimit: parts.rateLimit,
    offered: (caller) => settingsOf(caller) !== undefined,
    isSameForAll: typeof settings !== "function",
    settings: (caller) =>
      Effect.suspend(() => {
        const value = settingsOf(caller)
        return value === undefined
          ? Effect.undefined
          : objectOf(`The settings of the extension ${id}`, serverSettings.encode(value))
      }),
    methods: paired(id, extension.requests, parts.requests, (request: Request<any, any, any, "client">, handler) => ({
      request,
      call: caller(request, handler, context)
    })),
    notifications: paired(id, fromClient(extension.notifications), parts.notifications, (notification, handler) => ({
      notification,
      receive: receiver(notification, handler, context)
    })),
    subscriptions: paired(
      id,
      extension.subscriptions,
      parts.subscriptions,
      (subscription: Subscription<any>, handler) => ({
        subscription,
        listen: listener(subscription, handler, context)
      })
    )
  }
}

const decoded = <P>(what: string, params: Effect.Effect<P, InvalidValue>): Effect.Effect<P, McpError.McpError> =>
  Effect.mapErrorEager(params, ({ message }) => McpError.invalidParams(`Invalid params for ${what}: ${message}`))

/** Decodes the params, runs the handler and encodes its result, each exactly once. */
const caller = <R>(
  { failure, failureCode, method, params, result }: Request<any, any, any, "client">,
  handler: Handler,
  context: HandlerContext<R>
): MethodEntry["call"] => {
  const failed = (error: unknown): Effect.Effect<never, McpError.McpError, RequestContext> => {
    if (error instanceof McpError.McpError) return Effect.fail(error)
    if (isAskError(error)) return askErrorToMcp(error)
    if (failure === undefined) return Effect.die(error)
    return Effect.matchEffect(failure.encode(error), {
      onSuccess: (encoded) => {
        const message = error instanceof Error && error.message !== "" ? error.message : `${method} failed`
        return Effect.fail(new McpError.McpError({ code: failureCode, message, data: { [failureKey]: encoded } }))
      },
      onFailure: ({ message }) =>
        Effect.die(new Error(`The failure of ${method} does not match its failure schema: ${message}`))
    })
  }
  const handle = context.handler<[unknown], unknown, unknown>(handler)
  const encoded = (value: unknown): Effect.Effect<EncodedResult> =>
    isEncodedResult(value)
      ? Effect.succeed(value)
      : Effect.mapEager(objectOf(`The result of ${method}`, result.encode(value)), complete)
  const run = (
    value: unknown,
    request: HandledRequest
  ): Effect.Effect<EncodedResult, McpError.McpError, RequestServices> => {
    const effect = handle(value)
    const done = exitOf(effect)
    if (done !== undefined && Exit.isSuccess(done)) return encoded(done.value)
    return Effect.flatMapEager(
      Effect.catchEager(request.run<unknown, unknown, R, RequestServices>(effect, context), failed),
      encoded
    )
  }
  return (wire, request) => {
    const value = decoded(method, params.decode(wire))
    const done = exitOf(value)
    if (done !== undefined) return Exit.isSuccess(done) ? run(done.value, request) : done
    return Effect.flatMap(value, (value) => run(value, deferred))
  }
}

const complete = (wire: JsonObject): EncodedResult => EncodedResult.core("complete", wire)

// By class, not by tag, because a declared failure may also have the tag Timeout.
const isAskError = (error: unknown): error is AskError =>
  error instanceof Declined || error instanceof CapabilityMissing || error instanceof Closed || error instanceof Timeout

const receiver = <R>(
  { method, params }: Notification<any>,
  handler: Handler,
  context: HandlerContext<R>
): NotificationEntry["receive"] => {
  const handle = context.provided<[unknown], void, McpError.McpError>(handler)
  return (wire) => Effect.flatMap(decoded(method, params.decode(wire)), handle)
}

const listener = <R>(
  { filter, key }: Subscription<any>,
  handler: (filter: unknown) => Effect.Effect<Granted<unknown, R> | undefined, McpError.McpError, R>,
  context: HandlerContext<R>
): SubscriptionEntry["listen"] => {
  const unfit = ({ message }: InvalidValue) =>
    Effect.die(new Error(`The granted filter of the subscription ${key} does not match its schema: ${message}`))
  // The stream runs after its handler has returned, with the handler's services.
  const handle = context.provided((value: unknown) =>
    Effect.flatMap(handler(value), (granted) =>
      granted === undefined
        ? Effect.undefined
        : Effect.contextWith((services: Context.Context<R>) =>
            Effect.matchEffect(filter.encode(granted.granted), {
              onSuccess: (wire) =>
                Effect.succeed({ granted: wire, messages: Stream.provideContext(granted.messages, services) }),
              onFailure: unfit
            })
          )
    )
  )
  return (wire) => Effect.flatMap(decoded(`the subscription ${key}`, filter.decode(wire)), handle)
}
