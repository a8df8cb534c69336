/**
 * Questions to the user (spec: client/elicitation). One tag on both sides: the client implements it, a server's handler holds a proxy.
 *
 * Owns the questions of a handler (`form`, `confirm`, `url`). A question whose mode the client did not declare fails with
 * `CapabilityMissing` and is not sent.
 */
import * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { ElicitParams, ElicitResult } from "@effect-mcp/protocol/model/Elicitation"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { type AskError, type AskOptions, CapabilityMissing, type ClientInput, Declined } from "./ClientInput.ts"

type FormParams = Extract<ElicitParams, { readonly requestedSchema: unknown }>
type UrlParams = Extract<ElicitParams, { readonly url: string }>

/** Why there is no answer. */
export type ElicitError = AskError | McpError.McpError

/** The client's user. */
export class Elicitation extends Context.Service<
  Elicitation,
  {
    /** The modes that the client declared. */
    readonly modes: { readonly form: boolean; readonly url: boolean }
    readonly elicit: (params: ElicitParams, options?: AskOptions) => Effect.Effect<ElicitResult, ElicitError>
  }
>()("@effect-mcp/core/Elicitation") {}

/**
 * A client's implementation, with the modes that it has. The client checks the answers against the requested schema.
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
        const answer: Effect.Effect<ElicitResult, McpError.McpError, R1 | R2> | undefined = isUrl(params)
          ? modes.url?.(params)
          : modes.form?.(params)
        return answer === undefined ? missing : Effect.provideContext(answer, services)
      }
    }))
  )

/** A user that accepts every form with the same `content` and every URL without a visit. For tests and scripts. */
export const layerAccept = (content: NonNullable<ElicitResult["content"]> = {}): Layer.Layer<Elicitation> =>
  layer({
    form: () => Effect.succeed({ action: "accept", content }),
    url: () => Effect.succeed({ action: "accept" })
  })

const always = (action: "cancel" | "decline"): Layer.Layer<Elicitation> => {
  const answer = () => Effect.succeed({ action })
  return layer({ form: answer, url: answer })
}

/** A user that declines every question. */
export const layerDecline: Layer.Layer<Elicitation> = always("decline")

/** A user that dismisses every question. */
export const layerCancel: Layer.Layer<Elicitation> = always("cancel")

const isUrl = (params: ElicitParams): params is UrlParams => params.mode === "url"

/** The answer of a user that accepts; fails with `Declined` for any other. */
export const accepted = (result: ElicitResult): Effect.Effect<ElicitResult, Declined> =>
  result.action === "accept"
    ? Effect.succeed(result)
    : Effect.fail(
        new Declined({
          action: result.action,
          message: result.action === "decline" ? "The user declined" : "The user dismissed the question"
        })
      )

/** Asks with the params as they are and gives the result as it is: also a refusal, and content that is not checked. */
export const elicit = (
  params: ElicitParams,
  options?: AskOptions
): Effect.Effect<ElicitResult, ElicitError, Elicitation> =>
  Effect.flatMap(Elicitation, (service) => service.elicit(params, options))

const ask = (params: ElicitParams, options?: AskOptions) => Effect.flatMap(elicit(params, options), accepted)

/** The requested schema of an Effect schema, made once per schema. */
const requestedSchemas = new WeakMap<object, FormParams["requestedSchema"]>()
const requestedSchemaOf = (schema: Schema.Codec<any, any>): FormParams["requestedSchema"] => {
  const known = requestedSchemas.get(schema)
  if (known !== undefined) return known
  // A schema that no form can show is a defect.
  const made = Result.getOrThrow(JsonSchema.elicitation(schema))
  requestedSchemas.set(schema, made)
  return made
}

/** The fields of a form that are objects or arrays of objects. Values of classes are not: JSON may have a text of them. */
type Nested<E> = 0 extends 1 & E
  ? never
  : { [K in keyof E]-?: NonNullable<E[K]> extends ObjectLiteral | ReadonlyArray<ObjectLiteral> ? K : never }[keyof E]
type ObjectLiteral = { readonly [field: string]: unknown }
/** Adds a type error to the schema of a form with nested fields. */
type Flat<E> = [Nested<E>] extends [never]
  ? unknown
  : { readonly "A form has fields of strings, numbers, booleans and choices, not": Nested<E> }

/**
 * Shows a form and waits for the user. `schema` is a flat struct of strings, numbers, booleans and choices; any other field is a defect
 * that names it. Fails with `Declined` unless the user accepts, and with -32602 when the answer does not fit.
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
        McpError.invalidParams(`The answer does not fit the form: ${issue.message}`)
      )
    )
  )

/**
 * Asks yes or no: succeeds when the user accepts, fails with `Declined` otherwise.
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
 * Asks the user to visit a URL (2025-11-25 on). Success is consent only: the server finds out whether the interaction was completed. Gives
 * the id of the interaction, which the completion notification names.
 *
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

/** An interaction at a URL. */
export interface UrlQuestion {
  /** Why the user should visit the URL. */
  readonly message: string
  /** Absolute; an invalid one is a defect. */
  readonly url: string
  /** Unique within the server. Default: a random one. */
  readonly elicitationId?: string | undefined
}

const isUrlOrDie = ({ url }: UrlQuestion): Effect.Effect<void> =>
  URL.canParse(url) ? Effect.void : Effect.die(new Error(`Not a URL: ${url}`))

/**
 * Fails with error -32042 (2025-11-25): the client sends the request again once these interactions are completed. Fails with
 * `CapabilityMissing` for a client without URL mode.
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
 * Runs `question` if the client can answer it, `otherwise` if it lacks the capability.
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

/** The `Elicitation` of a server's handler: it asks the client. */
export const proxy = (
  input: ClientInput["Service"],
  modes: Elicitation["Service"]["modes"]
): Elicitation["Service"] => ({ modes, elicit: (params, options) => input.ask("elicitation/create", params, options) })
