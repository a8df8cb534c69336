/**
 * What a handler does with the client's half of an extension: reads its settings, asks its questions, sends its notifications.
 *
 * Owns the check that the client declared the extension. How a question travels is the interpreter's (`ClientInput`).
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

/** The declaration that a client lacks; undefined where it declared the extension. */
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

/** A part that was not given to `Extension.make` belongs to no extension. */
const ownerOf = ({
  extension,
  method
}: {
  readonly extension: Extension.Identity | undefined
  readonly method: string
}) =>
  extension === undefined
    ? Effect.die(new Error(`${method} belongs to no extension: take it from the value that Extension.make gives`))
    : Effect.succeed(extension)

/**
 * The settings that the client of the running request declared for the extension: in its session, or in the request (2026-07-28). None
 * where it did not declare it. Fails with -32602 where they do not fit the extension's `clientSettings`.
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
      onFailure: ({ message }) =>
        McpError.invalidParams(`Invalid settings of the extension ${extension.id}: ${message}`)
    })
  })

/**
 * Asks the client a question of an extension: a request in a session, a part of the result in 2026-07-28, where code before it runs again
 * (see `Once`). Fails with `CapabilityMissing` where the client did not declare the extension, and with `Declined` for the error code -1.
 * Any other error of the client is the question's declared failure or an `McpError`.
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
      const message = `The client cannot be asked this: revision ${context.revision.version} has no ${method}`
      return yield* new CapabilityMissing({ capability: extension.id, message })
    }
    const wire = yield* objectOf(`The params of ${method}`, question.params.encode(params))
    const input = yield* ClientInput
    const own = { extension: extension.id, method, params: wire }
    const asked = input.askExtension({ ...own, decode: (answer) => answerOf(question, answer) }, options)
    return yield* yield* Effect.catch(asked, (error) => failureOf(question, error))
  })

/** A declared failure in an answer inside of `inputResponses`, which has no errors; else the result. */
const answerOf = <A, F>(
  { failure, result }: Pick<Extension.Request<unknown, A, F>, "failure" | "result">,
  answer: unknown
): Effect.Effect<Exit.Exit<A, F>, InvalidValue> => {
  const meta = isJsonObject(answer) ? answer["_meta"] : undefined
  return failure !== undefined && isJsonObject(meta) && Object.hasOwn(meta, Extension.failureKey)
    ? Effect.map(failure.decode(meta[Extension.failureKey]), Exit.fail)
    : Effect.map(result.decode(answer), Exit.succeed)
}

/** A declared failure in an error of the client. */
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

/** A value of an extension on the wire; one that does not fit its schema, or is no object, is a defect. */
export const objectOf = (what: string, encoded: Effect.Effect<unknown, InvalidValue>): Effect.Effect<JsonObject> =>
  Effect.flatMapEager(
    Effect.catchEager(encoded, ({ message }) => Effect.die(new Error(`${what} does not fit its schema: ${message}`))),
    (wire) =>
      isJsonObject(wire)
        ? Effect.succeed(wire)
        : Effect.die(new Error(`${what} must be an object on the wire: make its schema one of objects`))
  )

/** How long a notification waits for a session that its client has not opened, or does not read. */
const patience: Duration.Input = "30 seconds"

const isReady = (ready: Effect.Effect<void>, closing: Effect.Effect<void>): Effect.Effect<boolean> =>
  Effect.map(
    Effect.timeoutOption(Effect.raceFirst(Effect.as(ready, true), Effect.as(closing, false)), patience),
    Option.getOrElse(() => false)
  )

/** Where a notification leaves. */
export interface NotifyOptions {
  /**
   * `request`: on the stream of the running request, until that has ended. `connection`: on that of its session, also later; not in
   * 2026-07-28, where notifications beside a request belong to a subscription. It is dropped where the client has not opened its session, or
   * made room, within 30 seconds. Default `request`.
   */
  readonly on?: "request" | "connection" | undefined
}

/**
 * Sends a notification of an extension to the client of the running request, once there is room. It is dropped where the client did not
 * declare the extension, and after the end of what it is sent on. Params that do not fit are a defect.
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
