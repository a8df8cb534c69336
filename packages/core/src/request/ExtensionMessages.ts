/**
 * Gives a handler access to the client's side of an extension: its settings, questions and notifications.
 *
 * Checks that the client declared the extension. `ClientInput` decides how questions reach the client.
 */
import type { ClientCapabilities } from "@effect-mcp/protocol/Capabilities"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Extension from "../contract/Extension.ts"
import type { InvalidValue, ValueCodec } from "../contract/ValueCodec.ts"
import {
  type AskError,
  type AskOptions,
  CapabilityMissing,
  ClientInput,
  type ClientDeclaration
} from "./ClientInput.ts"
import { RequestContext } from "./RequestContext.ts"

/** Returns the declaration the client is missing, or `undefined` if it declared the extension. */
export const missing = (
  extension: Extension.Identity,
  { capabilities, revision }: ClientDeclaration
): ClientCapabilities | undefined =>
  Extension.settingsIn(extension, revision, capabilities) === undefined
    ? Extension.declarationOf(extension, revision, {})
    : undefined

const declarationOf = ({ clientCapabilities, revision }: RequestContext["Service"]): ClientDeclaration => ({
  revision,
  capabilities: clientCapabilities
})

/** Returns the extension that a part belongs to. A part that wasn't passed to `Extension.make` is a defect. */
const ownerOf = ({
  extension,
  method
}: {
  readonly extension: Extension.Identity | undefined
  readonly method: string
}) =>
  extension === undefined
    ? Effect.die(new Error(`${method} does not belong to an extension. Use the value that Extension.make returns`))
    : Effect.succeed(extension)

/**
 * Returns the extension settings declared by the client, either in its session or in the current request (2026-07-28). Returns
 * `Option.none` if the client didn't declare the extension. Fails with -32602 if the settings don't match the extension's `clientSettings`.
 *
 * @example
 * ```ts
 * import { Extension, Extensions } from "@effect-mcp/core"
 * import { Effect, Option, Schema } from "effect"
 *
 * const Themes = Extension.make("com.example/themes", { clientSettings: { dark: Schema.Boolean } })
 *
 * export const isDark = Effect.map(Extensions.declared(Themes), Option.exists(({ dark }) => dark))
 * ```
 */
export const declared = <CS>(
  extension: Extension.Identity & { readonly clientSettings: ValueCodec<CS> }
): Effect.Effect<Option.Option<CS>, McpError.McpError, RequestContext> =>
  Effect.flatMap(RequestContext, ({ clientCapabilities, revision }) => {
    const settings = Extension.settingsIn(extension, revision, clientCapabilities)
    if (settings === undefined) return Effect.succeedNone
    return Effect.mapBoth(extension.clientSettings.decode(settings), {
      onSuccess: Option.some,
      onFailure: ({ message }) => McpError.invalidParams(`Invalid settings for extension ${extension.id}: ${message}`)
    })
  })

/**
 * Asks the client a question that an extension defines. In a session the question is sent as a request. In 2026-07-28 it is part of the
 * result, and the code before it runs again once the client has answered (see `Once`). Fails with `CapabilityMissing` if the client didn't
 * declare the extension, and with `Declined` if the client responds with error code -1. Any other client error becomes the question's
 * declared failure or an `McpError`.
 *
 * @example
 * ```ts
 * import { Extension, Extensions, Tool, Tools } from "@effect-mcp/core"
 * import { Effect, Schema } from "effect"
 *
 * const Picker = Extension.make("com.example/picker", {
 *   questions: {
 *     pick: Extension.question("com.example/picker/pick", {
 *       params: { from: Schema.Array(Schema.String) },
 *       result: { picked: Schema.String }
 *     })
 *   }
 * })
 * const Paint = Tool.make("paint", { description: "Paints the wall" })
 *
 * export const paint = Tools.layer(Paint, () =>
 *   Effect.map(Extensions.ask(Picker.questions.pick, { from: ["red", "blue"] }), ({ picked }) => `Painted ${picked}`)
 * )
 * ```
 */
export const ask = <P, A, F>(
  question: Extension.Request<P, A, F, "server">,
  params: NoInfer<P>,
  options?: AskOptions
): Effect.Effect<A, F | AskError | McpError.McpError, ClientInput | RequestContext> =>
  Effect.gen(function* () {
    const { method } = question
    const extension = yield* ownerOf(question)
    const context = yield* RequestContext
    const lacking = missing(extension, declarationOf(context))
    if (lacking !== undefined) return yield* CapabilityMissing.of(extension.id, lacking)
    if (!Extension.hasMethod(question, context.revision)) {
      const message = `Cannot send ${method}: it is not available in revision ${context.revision.version}`
      return yield* new CapabilityMissing({ capability: extension.id, message })
    }
    const wire = yield* objectOf(`The params of ${method}`, question.params.encode(params))
    const input = yield* ClientInput
    const own = { extension: extension.id, method, params: wire }
    const asked = input.askExtension({ ...own, decode: (answer) => answerOf(question, answer) }, options)
    return yield* yield* Effect.catch(asked, (error) => failureOf(question, error))
  })

/**
 * Returns the result in an `inputResponses` answer, or the declared failure if the answer contains one. These answers cannot be JSON-RPC
 * errors, so a failure is part of the result.
 */
const answerOf = <A, F>(
  { failure, result }: Pick<Extension.Request<unknown, A, F>, "failure" | "result">,
  answer: unknown
): Effect.Effect<Exit.Exit<A, F>, InvalidValue> => {
  const meta = isJsonObject(answer) ? answer["_meta"] : undefined
  return failure !== undefined && isJsonObject(meta) && Object.hasOwn(meta, Extension.failureKey)
    ? Effect.map(failure.decode(meta[Extension.failureKey]), Exit.fail)
    : Effect.map(result.decode(answer), Exit.succeed)
}

/** Returns the declared failure in a client error. */
const failureOf = <F>(
  { failure, failureCode }: Pick<Extension.Request<unknown, unknown, F>, "failure" | "failureCode">,
  error: AskError | McpError.McpError
): Effect.Effect<Exit.Exit<never, F>, AskError | McpError.McpError> => {
  if (failure === undefined || !(error instanceof McpError.McpError) || error.code !== failureCode)
    return Effect.fail(error)
  const { data } = error
  return isJsonObject(data) && Object.hasOwn(data, Extension.failureKey)
    ? Effect.mapBoth(failure.decode(data[Extension.failureKey]), { onSuccess: Exit.fail, onFailure: () => error })
    : Effect.fail(error)
}

/** Encodes an extension's value. A value that doesn't match its schema or isn't an object is a defect. */
export const objectOf = (what: string, encoded: Effect.Effect<unknown, InvalidValue>): Effect.Effect<JsonObject> =>
  Effect.flatMapEager(
    Effect.catchEager(encoded, ({ message }) => Effect.die(new Error(`${what} does not match its schema: ${message}`))),
    (wire) =>
      isJsonObject(wire)
        ? Effect.succeed(wire)
        : Effect.die(new Error(`${what} must be a JSON object. Use a schema that encodes to one`))
  )

/** How long a notification waits for a client that hasn't opened its session or isn't reading. */
const patience: Duration.Input = "30 seconds"

const isReady = (ready: Effect.Effect<void>, closing: Effect.Effect<void>): Effect.Effect<boolean> =>
  Effect.map(
    Effect.timeoutOption(Effect.raceFirst(Effect.as(ready, true), Effect.as(closing, false)), patience),
    Option.getOrElse(() => false)
  )

/** Options for sending a notification. */
export interface NotifyOptions {
  /**
   * `request` sends it on the current request's stream, as long as the request is running. `connection` sends it on the session's stream,
   * at any time; this isn't available in 2026-07-28, where notifications outside a request belong to a subscription. The notification is
   * dropped if the client doesn't open its session or make room within 30 seconds. Default `request`.
   */
  readonly on?: "request" | "connection" | undefined
}

/**
 * Sends an extension notification to the client of the current request, as soon as there is room. The notification is dropped if the client
 * didn't declare the extension, or if the stream has ended. Params that don't match the schema are a defect.
 *
 * @example
 * ```ts
 * import { Extension, Extensions, Tool, Tools } from "@effect-mcp/core"
 * import { Effect, Schema } from "effect"
 *
 * const Notes = Extension.make("com.example/notes", {
 *   notifications: {
 *     added: Extension.notification("notifications/com.example/notes/added", { from: "server", params: { id: Schema.Int } })
 *   }
 * })
 * const Add = Tool.make("add", { description: "Adds a note" })
 *
 * export const add = Tools.layer(Add, () => Effect.as(Extensions.notify(Notes.notifications.added, { id: 1 }), "Added"))
 * ```
 */
export const notify = <P>(
  notification: Extension.Notification<P, "server">,
  params: NoInfer<P>,
  { on = "request" }: NotifyOptions = {}
): Effect.Effect<void, never, RequestContext> =>
  Effect.gen(function* () {
    const { method } = notification
    const extension = yield* ownerOf(notification)
    const context = yield* RequestContext
    const { outbound, revision } = context
    if (!Extension.isIn(extension, revision)) return
    if (extension.undeclared === "refused" && missing(extension, declarationOf(context)) !== undefined) return
    const wire = yield* objectOf(`The params of ${method}`, notification.params.encode(params))
    const stream = on === "request" ? outbound : revision.era === "stateful" ? outbound.connection : undefined
    if (stream === undefined) return
    if (on === "request") yield* stream.ready
    else if (!(yield* isReady(stream.ready, outbound.closing))) return
    stream.notify(method, wire)
  })
