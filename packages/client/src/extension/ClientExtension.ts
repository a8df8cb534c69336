/**
 * The client's side of an extension, as a layer: it declares the extension, answers its questions, takes its notifications and its kinds
 * of results.
 *
 * The layers of many extensions merge, since each extension has a service key of its own; a client reads all of them from the context
 * that it is built in. A test swaps one extension by merging another layer of it last.
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
import { effectOf } from "@effect-mcp/core/internal/callback"
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

/** What a handler of results may do before it gives the final one. */
export interface ResultExchange extends ExtensionCalls {
  /** The request whose result is of another kind; `params` are those of the wire, without the client's declaration. */
  readonly method: string
  readonly params: JsonObject
  /** The options of the request; its `onProgress` may be called. */
  readonly options: CallOptions
  readonly revision: Revision
  /** Answers questions of the server (2026-07-28: `inputRequests`) by the client's services; gives the `inputResponses`. */
  readonly answer: (inputRequests: JsonObject) => Effect.Effect<JsonObject, ClientError>
}

/** Takes results of another kind, and gives the final ones. */
export interface ResultHandler<R = never> {
  /** The `resultType` (2026-07-28). */
  readonly resultType: string
  /** Whether a result of a session, which has no type, is of this kind. Default: none is. */
  readonly matches?: ((result: JsonObject, method: string) => boolean) | undefined
  /**
   * Gives the final result on the wire, which is decoded as that of the request. Timeouts of the request do not bound it; interruption of
   * the caller interrupts it. Its requests go over another connection where the first was lost.
   */
  readonly follow: (result: JsonObject, exchange: ResultExchange) => Effect.Effect<unknown, ClientError, R>
  /**
   * The request that undoes a result which comes when its request was cancelled (2026-07-28, where a transport still reads it). Default: the
   * result is dropped.
   */
  readonly abandon?:
    | ((result: JsonObject) => { readonly method: string; readonly params: JsonObject } | undefined)
    | undefined
}

/** What an outgoing request is sent to. */
export interface OutgoingRequest {
  readonly revision: Revision
  /** What the server declared with the extension. */
  readonly serverSettings: JsonObject
}

/** Gives the params to send, from those that would be sent: adds params, or keys of `_meta`. */
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

/** The handlers of an extension; all are optional, but those of questions come together. */
export type ClientHandlers<E extends Extension.Any> = {
  /** Answers the server's questions. A failure that the question declares reaches a server with the same value. */
  readonly questions?: { readonly [K in keyof E["questions"]]: QuestionHandler<E["questions"][K]> }
  /**
   * Called with each notification of the server, one after the other in their order, outside of the reader. At most 256 wait, the oldest
   * are dropped, malformed ones too.
   */
  readonly notifications?: { readonly [K in keyof E["notifications"]]?: NotificationHandler<E["notifications"][K]> }
  readonly results?: ResultHandler<unknown>
  /** By method: changes a request that the client sends to a server that declared the extension. */
  readonly outgoing?: { readonly [method: string]: OutboundParams<unknown> }
} & ({} extends Settings<E> ? { readonly settings?: Settings<E> } : { readonly settings: Settings<E> })

type ServicesOfAll<T> = {
  [K in keyof T]: T[K] extends (...args: never) => Effect.Effect<unknown, unknown, infer R> ? R : never
}[keyof T]

/** The services that the handlers need. */
export type Services<H> =
  | (H extends { readonly questions: infer T } ? ServicesOfAll<T> : never)
  | (H extends { readonly notifications: infer T } ? ServicesOfAll<T> : never)
  | (H extends { readonly outgoing: infer T } ? ServicesOfAll<T> : never)
  | (H extends { readonly results: { readonly follow: (...args: never) => Effect.Effect<unknown, unknown, infer R> } }
      ? R
      : never)

/** No settings cannot fail to be declared. */
type SettingsError<H> = H extends { readonly settings: unknown } ? InvalidValue : never

/** A question and its handler, with the handler's services. */
export interface BoundQuestion {
  readonly request: Extension.Request<unknown, unknown, unknown, "server">
  readonly answer: (params: unknown) => Effect.Effect<unknown, McpError.McpError>
}

/** An extension as a client has it: what it declares, and its handlers with their services. */
export interface ExtensionPart {
  readonly extension: Extension.Any
  /** What the client declares with it; undefined for one that only servers declare. */
  readonly settings: JsonObject | undefined
  readonly questions: ReadonlyArray<BoundQuestion>
  /** By method. */
  readonly notifications: ReadonlyMap<string, (params: unknown) => Effect.Effect<void, InvalidValue>>
  readonly results: ResultHandler | undefined
  readonly outgoing: ReadonlyMap<string, OutboundParams>
}

const prefix = "@effect-mcp/client/ClientExtension/"

/** The extensions of the context. */
export const parts: Effect.Effect<ReadonlyArray<ExtensionPart>> = Effect.map(Effect.context<never>(), ({ mapUnsafe }) =>
  // Only `layer` makes services with this prefix.
  [...mapUnsafe].flatMap(([key, part]): ReadonlyArray<ExtensionPart> => (key.startsWith(prefix) ? [part] : []))
)

/** The context without extensions: for clients that act for another one, such as those of a gateway. */
export const omitAll = <R>(context: Context.Context<R>): Context.Context<R> =>
  Context.makeUnsafe(new Map([...context.mapUnsafe].filter(([key]) => !key.startsWith(prefix))))

/** Declares an extension to servers, and nothing more: one whose settings may be left out. */
export function layer<E extends Extension.Any>(
  extension: E,
  ...required: {} extends Settings<E> ? [] : [handlers: { readonly settings: Settings<E> }]
): Layer.Layer<never>
/**
 * Declares an extension to servers, with `settings`, and handles what they send for it: `questions`, `notifications` and `results`.
 *
 * Fails with `InvalidValue` where the settings do not fit their schema. Throws for a handler of a name that the extension does not have.
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
  // An extension that is a capability of its own in some revisions is another value there, of the same id.
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
    if (other !== undefined) throw new Error(`The extension ${id} has no ${kind} ${JSON.stringify(other)} to handle`)
  }
  const type = handlers.results?.resultType
  if (type === "complete" || type === "input_required") {
    throw new Error(`The results of the extension ${id} cannot be of the type ${type}: MCP has it already`)
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

/** The handler of a question on the wire: its result is encoded, and a failure that the question declares becomes its error. */
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
    McpError.internalError(`The answer to ${method} cannot be encoded: ${message}`)
