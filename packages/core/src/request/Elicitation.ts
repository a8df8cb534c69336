/**
 * Asks the user questions (spec: client/elicitation). Both sides use the same service: the client implements it, and a server's handlers
 * use a proxy.
 *
 * Handlers ask with `form`, `confirm` and `url`. If the client doesn't support the question's mode, nothing is sent and the question fails
 * with `CapabilityMissing`.
 */
import * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { ElicitParams, ElicitResult } from "@effect-mcp/protocol/model/Elicitation"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { memoize } from "effect/Function"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { effectOf } from "../internal/callback.ts"
import { type AskError, type AskOptions, CapabilityMissing, type ClientInput, Declined } from "./ClientInput.ts"

type FormParams = Extract<ElicitParams, { readonly requestedSchema: unknown }>
type UrlParams = Extract<ElicitParams, { readonly url: string }>

/** Errors a question may fail with. */
export type ElicitError = AskError | McpError.McpError

/** The client's user. */
export class Elicitation extends Context.Service<
  Elicitation,
  {
    /** Modes the client supports. */
    readonly modes: { readonly form: boolean; readonly url: boolean }
    readonly elicit: (params: ElicitParams, options?: AskOptions) => Effect.Effect<ElicitResult, ElicitError>
  }
>()("@effect-mcp/core/Elicitation") {}

/**
 * Provides a client's implementation and the modes it supports. Answers are validated against the requested schema before they are sent.
 *
 * @example
 * ```ts
 * import { Elicitation } from "@effect-mcp/core"
 * import { Effect } from "effect"
 *
 * export const user = Elicitation.layer({
 *   form: ({ message }) => Effect.as(Effect.log(message), { action: "accept", content: { name: "Ada" } })
 * })
 * ```
 */
export const layer = <R1 = never, R2 = never>(modes: {
  readonly form?: (params: FormParams) => Effect.Effect<ElicitResult, McpError.McpError, R1>
  readonly url?: (params: UrlParams) => Effect.Effect<ElicitResult, McpError.McpError, R2>
}): Layer.Layer<Elicitation, never, R1 | R2> =>
  Layer.effect(
    Elicitation,
    Effect.map(Effect.context<R1 | R2>(), (services) => ({
      modes: { form: modes.form !== undefined, url: modes.url !== undefined },
      elicit: (params) => {
        const missing = Effect.fail(McpError.invalidParams(`Elicitation mode not supported: ${params.mode ?? "form"}`))
        const { form, url } = modes
        const answer: (() => Effect.Effect<ElicitResult, McpError.McpError, R1 | R2>) | undefined = isUrl(params)
          ? url && (() => url(params))
          : form && (() => form(params))
        return answer === undefined
          ? missing
          : Effect.provideContext(effectOf("A function of Elicitation.layer", answer), services)
      }
    }))
  )

/** A user who accepts every form with the same `content`, and every URL without visiting it. For tests and scripts. */
export const layerAccept = (content: NonNullable<ElicitResult["content"]> = {}): Layer.Layer<Elicitation> =>
  layer({
    form: () => Effect.succeed({ action: "accept", content }),
    url: () => Effect.succeed({ action: "accept" })
  })

const always = (action: "cancel" | "decline"): Layer.Layer<Elicitation> => {
  const answer = () => Effect.succeed({ action })
  return layer({ form: answer, url: answer })
}

/** A user who declines every question. */
export const layerDecline: Layer.Layer<Elicitation> = always("decline")

/** A user who dismisses every question. */
export const layerCancel: Layer.Layer<Elicitation> = always("cancel")

const isUrl = (params: ElicitParams): params is UrlParams => params.mode === "url"

/** Returns the result if the user accepted. Fails with `Declined` otherwise. */
export const accepted = (result: ElicitResult): Effect.Effect<ElicitResult, Declined> =>
  result.action === "accept"
    ? Effect.succeed(result)
    : Effect.fail(
        new Declined({
          action: result.action,
          message: result.action === "decline" ? "The user declined" : "The user dismissed the question"
        })
      )

/** Sends a question exactly as given and returns the raw result. The user may have declined, and the content has not been validated. */
export const elicit = (
  params: ElicitParams,
  options?: AskOptions
): Effect.Effect<ElicitResult, ElicitError, Elicitation> =>
  Effect.flatMap(Elicitation, (service) => service.elicit(params, options))

const ask = (params: ElicitParams, options?: AskOptions) => Effect.flatMap(elicit(params, options), accepted)

/** Converts an Effect schema to the requested schema of a form. A schema that a form cannot display is a defect. */
const requestedSchemaOf = memoize((schema: Schema.Codec<any, any>): FormParams["requestedSchema"] =>
  Result.getOrThrow(JsonSchema.elicitation(schema))
)

/** The form fields that are objects or arrays of objects. Class instances don't count, because they may be encoded as strings. */
type Nested<E> = 0 extends 1 & E
  ? never
  : { [K in keyof E]-?: NonNullable<E[K]> extends ObjectLiteral | ReadonlyArray<ObjectLiteral> ? K : never }[keyof E]
type ObjectLiteral = { readonly [field: string]: unknown }
/** Turns the schema of a form with nested fields into a compile error. */
type Flat<E> = [Nested<E>] extends [never]
  ? unknown
  : { readonly "A form can only have string, number, boolean and choice fields, not": Nested<E> }

/**
 * Shows a form and waits for the user's answer. `schema` is a flat struct of strings, numbers, booleans and choices; any other field is a
 * defect that names the field. Fails with `Declined` unless the user accepts the form, and with -32602 if the answer doesn't match the
 * schema.
 *
 * @example
 * ```ts
 * import { Elicitation, Tool, Tools } from "@effect-mcp/core"
 * import { McpTest } from "@effect-mcp/testing"
 * import { Console, Effect, Schema } from "effect"
 *
 * const Order = Tool.make("order", { description: "Orders a pizza", output: { ordered: Schema.String } })
 * const Pizza = Schema.Struct({ size: Schema.Literals(["small", "large"]), note: Schema.optionalKey(Schema.String) })
 *
 * const order = Tools.layer(Order, () =>
 *   Effect.map(Elicitation.form("Which pizza?", Pizza), ({ size }) => ({ ordered: `A ${size} pizza` }))
 * )
 *
 * const program = Effect.gen(function* () {
 *   const client = yield* McpTest.connect(order, "2026-07-28")
 *   yield* Console.log((yield* client.callTool(Order, {})).ordered) // => A large pizza
 * })
 *
 * await Effect.runPromise(Effect.scoped(Effect.provide(program, Elicitation.layerAccept({ size: "large" }))))
 * ```
 */
export const form = <A, E>(
  message: string,
  schema: Schema.Codec<A, E> & Flat<E>,
  options?: AskOptions
): Effect.Effect<A, Declined | ElicitError, Elicitation> =>
  Effect.suspend(() =>
    Effect.flatMap(ask({ message, requestedSchema: requestedSchemaOf(schema) }, options), (result) =>
      Effect.mapError(Schema.decodeUnknownEffect(JsonSchema.codec(schema))(result.content ?? {}), (issue) =>
        McpError.invalidParams(`The answer does not match the form: ${issue.message}`)
      )
    )
  )

/**
 * Asks the user for confirmation. Succeeds if the user accepts, and fails with `Declined` otherwise.
 *
 * @example
 * ```ts
 * import { Elicitation, Tool, Tools } from "@effect-mcp/core"
 * import { Effect } from "effect"
 *
 * const Deploy = Tool.make("deploy", { description: "Deploys the service" })
 *
 * export const deploy = Tools.layer(Deploy, () =>
 *   Effect.as(Elicitation.confirm("Deploy to production?"), "Deployed")
 * )
 * ```
 */
export const confirm = (
  message: string,
  options?: AskOptions
): Effect.Effect<void, Declined | ElicitError, Elicitation> =>
  Effect.asVoid(ask({ message, requestedSchema: { type: "object", properties: {} } }, options))

/**
 * Asks the user to visit a URL (since 2025-11-25). Success only means that the user agreed to visit it; the server has to check whether the
 * interaction was completed. Returns the elicitation ID, which the completion notification refers to.
 * @example
 * ```ts
 * import { Elicitation } from "@effect-mcp/core"
 *
 * export const connect = Elicitation.url({ message: "Connect your account", url: "https://example.com/connect" })
 * ```
 */
export const url = (options: UrlQuestion): Effect.Effect<string, Declined | ElicitError, Elicitation> =>
  Effect.suspend(() => {
    const question = withId(options)
    return Effect.as(Effect.andThen(isUrlOrDie(options), ask(question)), question.elicitationId)
  })

const withId = ({ elicitationId = globalThis.crypto.randomUUID(), message, url }: UrlQuestion) => ({
  mode: "url" as const,
  message,
  url,
  elicitationId
})

/** A question that the user answers on a web page. */
export interface UrlQuestion {
  /** Why the user should visit the URL. */
  readonly message: string
  /** Absolute URL. An invalid URL is a defect. */
  readonly url: string
  /** Must be unique within the server. Default: a random ID. */
  readonly elicitationId?: string | undefined
}

const isUrlOrDie = ({ url }: UrlQuestion): Effect.Effect<void> =>
  URL.canParse(url) ? Effect.void : Effect.die(new Error(`Not a valid URL: ${url}`))

/**
 * Fails with error -32042 (2025-11-25), which tells the client to retry the request after the user has completed these interactions. Fails
 * with `CapabilityMissing` if the client doesn't support URL mode.
 */
export const required = (
  message: string,
  questions: readonly [UrlQuestion, ...ReadonlyArray<UrlQuestion>]
): Effect.Effect<never, CapabilityMissing | McpError.McpError, Elicitation> =>
  Effect.flatMap(Elicitation, ({ modes }): Effect.Effect<never, CapabilityMissing | McpError.McpError> => {
    if (!modes.url) return Effect.fail(CapabilityMissing.of("elicitation.url"))
    const elicitations = questions.map(withId)
    const error = new McpError.McpError({ code: McpError.UrlElicitationRequired, message, data: { elicitations } })
    return Effect.andThen(Effect.forEach(questions, isUrlOrDie, { discard: true }), Effect.fail(error))
  })

/**
 * Runs `question` if the client supports it. Otherwise, runs `otherwise`.
 *
 * @example
 * ```ts
 * import { Elicitation } from "@effect-mcp/core"
 * import { Effect, Schema } from "effect"
 *
 * const Color = Schema.Struct({ color: Schema.Literals(["red", "green"]) })
 *
 * export const color = Elicitation.ifSupported(
 *   Elicitation.form("Which color?", Color),
 *   Effect.succeed(Color.make({ color: "red" }))
 * )
 * ```
 */
export const ifSupported = <A, E, R, B, E2, R2>(
  question: Effect.Effect<A, E | CapabilityMissing, R>,
  otherwise: Effect.Effect<B, E2, R2>
): Effect.Effect<A | B, E | E2, R | R2> =>
  Effect.catch(question, (error): Effect.Effect<B, E | E2, R2> =>
    error instanceof CapabilityMissing ? otherwise : Effect.fail(error)
  )

/** Creates the `Elicitation` service for a server's handlers. It forwards questions to the client. */
export const proxy = (
  input: ClientInput["Service"],
  modes: Elicitation["Service"]["modes"]
): Elicitation["Service"] => ({ modes, elicit: (params, options) => input.ask("elicitation/create", params, options) })
