/**
 * The client side of an extension, as a layer. It declares the extension, answers the server's questions, and handles the extension's
 * notifications and result types.
 *
 * Each extension has its own service key, so you can merge the layers of several extensions. A client reads them from the context it is
 * built in. To replace an extension in a test, merge another layer for it last.
 *
 * @example
 * ```ts
 * import { ClientExtension, McpClient } from "@effect-mcp/client"
 * import { Extension } from "@effect-mcp/core"
 * import { NodeServices } from "@effect/platform-node"
 * import { Effect, Layer, Schema } from "effect"
 *
 * const Notes = Extension.make("com.example/notes", {
 *   requests: {
 *     find: Extension.request("com.example/notes/find", {
 *       params: { text: Schema.String },
 *       result: { ids: Schema.Array(Schema.Int) }
 *     })
 *   },
 *   questions: {
 *     pick: Extension.question("com.example/notes/pick", {
 *       params: { ids: Schema.Array(Schema.Int) },
 *       result: { id: Schema.Int }
 *     })
 *   }
 * })
 *
 * const notes = ClientExtension.layer(Notes, {
 *   questions: { pick: ({ ids }) => Effect.succeed({ id: ids[0] ?? 0 }) }
 * })
 *
 * const client = McpClient.layerStdio({ command: "my-server" }).pipe(
 *   Layer.provide(Layer.merge(notes, NodeServices.layer))
 * )
 *
 * export const program = Effect.gen(function* () {
 *   const { request } = yield* McpClient.McpClient
 *   return yield* request(Notes.requests.find, { text: "milk" })
 * }).pipe(Effect.provide(client))
 * ```
 */
import * as Extension from "@effect-mcp/core/Extension"
import { effectOf } from "@effect-mcp/core/internal/calling"
import type { InvalidValue, ValueCodec } from "@effect-mcp/core/Tool"
import * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { Revision } from "@effect-mcp/protocol/Revision"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { CallOptions } from "../CallOptions.ts"
import type { ClientError } from "../ClientError.ts"
import type { ExtensionCalls } from "./ExtensionCalls.ts"

/** Operations available to a result handler before it returns the final result. */
export interface ResultExchange extends ExtensionCalls {
  /** The request that received this result. `params` are in wire format, without the client's declaration. */
  readonly method: string
  readonly params: JsonObject
  /** The request's options. The handler may call `onProgress`. */
  readonly options: CallOptions
  readonly revision: Revision
  /** Answers the server's questions (2026-07-28: `inputRequests`) using the client's services. Returns the `inputResponses`. */
  readonly answer: (inputRequests: JsonObject) => Effect.Effect<JsonObject, ClientError>
}

/** Handles a custom result type and returns the final result. */
export interface ResultHandler<R = never> {
  /** The `resultType` to handle (2026-07-28). */
  readonly resultType: string
  /** Returns true if an untyped result, as sessions send them, is of this type. Default: always false. */
  readonly matches?: ((result: JsonObject, method: string) => boolean) | undefined
  /**
   * Returns the final result in wire format, which is then decoded as the request's result. The request's timeouts do not apply here, but
   * interrupting the caller interrupts this effect. If the first connection is lost, further requests use a new one.
   */
  readonly follow: (result: JsonObject, exchange: ResultExchange) => Effect.Effect<unknown, ClientError, R>
  /**
   * Returns a request that undoes a result received after its request was cancelled (2026-07-28, if the transport still reads it). Default:
   * drops the result.
   */
  readonly abandon?:
    | ((result: JsonObject) => { readonly method: string; readonly params: JsonObject } | undefined)
    | undefined
}

/** The target of an outgoing request. */
export interface OutgoingRequest {
  readonly revision: Revision
  /** The server's settings for this extension. */
  readonly serverSettings: JsonObject
}

/** Returns the params to send, given the original ones. May add params or `_meta` keys. */
export type OutboundParams<R = never> = (
  params: JsonObject,
  outgoing: OutgoingRequest
) => Effect.Effect<JsonObject, never, R>

type Settings<E> = E extends { readonly clientSettings: ValueCodec<infer CS> } ? CS : never
type QuestionHandler<Q> =
  Q extends Extension.Request<infer P, infer A, infer F, "server">
    ? (params: P) => Effect.Effect<A, F | McpError.McpError, unknown>
    : never
type NotificationHandler<N> =
  N extends Extension.Notification<infer P, "server"> ? (params: P) => Effect.Effect<void, never, unknown> : never

/** Handlers for an extension. All are optional, but if you handle questions, you must handle every question. */
export type ClientHandlers<E extends Extension.Any> = {
  /**
   * Answers the server's questions. If a handler fails with the question's declared failure, a server using the same schema receives a
   * typed failure.
   */
  readonly questions?: { readonly [K in keyof E["questions"]]: QuestionHandler<E["questions"][K]> }
  /**
   * Called with each server notification, one at a time and in order, without blocking the message reader. At most 256 notifications are
   * queued; after that, the oldest is dropped. Malformed notifications are also dropped.
   */
  readonly notifications?: { readonly [K in keyof E["notifications"]]?: NotificationHandler<E["notifications"][K]> }
  readonly results?: ResultHandler<unknown>
  /** Functions, by method, that modify requests to servers that declared the extension. */
  readonly outgoing?: { readonly [method: string]: OutboundParams<unknown> }
} & ({} extends Settings<E> ? { readonly settings?: Settings<E> } : { readonly settings: Settings<E> })

type ServicesOfAll<T> = {
  [K in keyof T]: T[K] extends (...args: never) => Effect.Effect<unknown, unknown, infer R> ? R : never
}[keyof T]

/** Services required by the handlers. */
export type Services<H> =
  | (H extends { readonly questions: infer T } ? ServicesOfAll<T> : never)
  | (H extends { readonly notifications: infer T } ? ServicesOfAll<T> : never)
  | (H extends { readonly outgoing: infer T } ? ServicesOfAll<T> : never)
  | (H extends { readonly results: { readonly follow: (...args: never) => Effect.Effect<unknown, unknown, infer R> } }
      ? R
      : never)

/** Declaring an extension without settings cannot fail. */
type SettingsError<H> = H extends { readonly settings: unknown } ? InvalidValue : never

/** A question and its handler, with the handler's services. */
export interface BoundQuestion {
  readonly request: Extension.Request<unknown, unknown, unknown, "server">
  readonly answer: (params: unknown) => Effect.Effect<unknown, McpError.McpError>
}

/** A client extension: its declaration, plus its handlers and their services. */
export interface ExtensionPart {
  readonly extension: Extension.Any
  /** The client's settings, or `undefined` if only the server declares the extension. */
  readonly settings: JsonObject | undefined
  readonly questions: ReadonlyArray<BoundQuestion>
  /** By method. */
  readonly notifications: ReadonlyMap<string, (params: unknown) => Effect.Effect<void, InvalidValue>>
  readonly results: ResultHandler | undefined
  readonly outgoing: ReadonlyMap<string, OutboundParams>
}

const prefix = "@effect-mcp/client/ClientExtension/"

/** Returns the extensions found in the context. */
export const parts: Effect.Effect<ReadonlyArray<ExtensionPart>> = Effect.map(Effect.context<never>(), ({ mapUnsafe }) =>
  // Only `layer` creates services with this prefix.
  [...mapUnsafe].flatMap(([key, part]): ReadonlyArray<ExtensionPart> => (key.startsWith(prefix) ? [part] : []))
)

/** Removes all extensions from a context. For clients that act on behalf of another client, such as a gateway's. */
export const omitAll = <R>(context: Context.Context<R>): Context.Context<R> =>
  Context.makeUnsafe(new Map([...context.mapUnsafe].filter(([key]) => !key.startsWith(prefix))))

/** Declares an extension to servers without settings. The extension's settings must be optional. */
export function layer<E extends Extension.Any>(
  extension: E,
  ...required: {} extends Settings<E> ? [] : [handlers: { readonly settings: Settings<E> }]
): Layer.Layer<never>
/**
 * Declares an extension to servers with the given `settings`, and handles its messages with `questions`, `notifications` and `results`.
 *
 * Fails with `InvalidValue` if the settings don't match their schema. Throws if a handler's name isn't part of the extension.
 */
export function layer<E extends Extension.Any, const H extends ClientHandlers<E>>(
  extension: E,
  handlers: H
): Layer.Layer<never, SettingsError<H>, Services<H>>
export function layer(
  extension: Extension.Any,
  handlers: ClientHandlers<Extension.Any> = {}
): Layer.Layer<never, InvalidValue, unknown> {
  check(extension, handlers)
  // In some revisions the extension is a separate capability, with another value of the same id.
  const tag = Context.Service<ExtensionPart>(`${prefix}${extension.id} ${extension.capability ?? ""}`)
  const { settings = {} } = handlers
  const encoded = extension.clientSettings.encode(settings)
  return Layer.effect(
    tag,
    Effect.flatMap(Effect.context<unknown>(), (services) =>
      Effect.map(handlers.settings === undefined ? Effect.orDie(encoded) : encoded, (settings) =>
        part(extension, isJsonObject(settings) ? settings : {}, handlers, services)
      )
    )
  )
}

const check = ({ id, notifications, questions }: Extension.Any, handlers: ClientHandlers<Extension.Any>): void => {
  const named = [
    ["question", questions, handlers.questions],
    ["notification", notifications, handlers.notifications]
  ] as const
  for (const [kind, known, given] of named) {
    const other = Object.keys(given ?? {}).find((name) => !Object.hasOwn(known, name))
    if (other !== undefined)
      throw new Error(`Cannot handle the ${kind} ${JSON.stringify(other)}: the extension ${id} does not define it`)
  }
  const type = handlers.results?.resultType
  if (type === "complete" || type === "input_required") {
    throw new Error(`The extension ${id} cannot handle results of type ${type}, because MCP already defines this type`)
  }
}

const part = (
  extension: Extension.Any,
  settings: JsonObject,
  { notifications = {}, outgoing = {}, questions = {}, results }: ClientHandlers<Extension.Any>,
  services: Context.Context<unknown>
): ExtensionPart => {
  const provided = <A, E>(handler: () => Effect.Effect<A, E, unknown>): Effect.Effect<A, E> =>
    Effect.provideContext(effectOf(`A handler of ${extension.id}`, handler), services)
  return {
    extension,
    settings,
    questions: Object.entries(questions).map(([name, handler]) => {
      const request: BoundQuestion["request"] = extension.questions[name]
      return { request, answer: answering(request, (params) => provided(() => handler(params))) }
    }),
    notifications: new Map(
      Object.entries(notifications).flatMap(([name, handler]) => {
        const { method, params }: Extension.Notification<unknown> = extension.notifications[name]
        if (handler === undefined) return []
        return [[method, (wire) => Effect.flatMap(params.decode(wire), (params) => provided(() => handler(params)))]]
      })
    ),
    results: results && {
      ...results,
      follow: (result, exchange) => provided(() => results.follow(result, exchange))
    },
    outgoing: new Map(
      Object.entries(outgoing).map(([method, change]) => [
        method,
        (params, outgoing) => provided(() => change(params, outgoing))
      ])
    )
  }
}

/** Wraps a handler for the wire: encodes its result, and turns a declared failure into its error. */
const answering =
  (
    { failure, failureCode, method, result }: BoundQuestion["request"],
    handler: (params: unknown) => Effect.Effect<unknown, unknown>
  ): BoundQuestion["answer"] =>
  (params) =>
    Effect.matchEffect(handler(params), {
      onFailure: (error) => {
        if (error instanceof McpError.McpError) return Effect.fail(error)
        if (failure === undefined) return Effect.fail(McpError.internalError())
        return Effect.flatMap(Effect.mapError(failure.encode(error), notEncoded(method)), (wire) =>
          Effect.fail(
            new McpError.McpError({
              code: failureCode,
              message: `${method} failed`,
              data: { [Extension.failureKey]: wire }
            })
          )
        )
      },
      onSuccess: (value) => Effect.mapError(result.encode(value), notEncoded(method))
    })

const notEncoded =
  (method: string) =>
  ({ message }: InvalidValue): McpError.McpError =>
    McpError.internalError(`The answer to ${method} does not match its schema: ${message}`)
