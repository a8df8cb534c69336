/**
 * Asking the user (spec: client/elicitation). One tag on both sides: the client implements it, a server's handler holds a proxy.
 *
 * Owns the straight-line questions (`form`, `confirm`, `url`). A question whose mode the client did not declare fails with
 * `CapabilityMissing` before anything is sent.
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

export type ElicitError = AskError | McpError.McpError

export class Elicitation extends Context.Service<
  Elicitation,
  {
    readonly modes: { readonly form: boolean; readonly url: boolean }
    readonly elicit: (params: ElicitParams, options?: AskOptions) => Effect.Effect<ElicitResult, ElicitError>
  }
>()("@effect-mcp/core/Elicitation") {}

/** A client's implementation, with the modes that it has. The client checks the answers against the requested schema. */
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

const accepted = (result: ElicitResult): Effect.Effect<ElicitResult, Declined> =>
  result.action === "accept"
    ? Effect.succeed(result)
    : Effect.fail(
        new Declined({
          action: result.action,
          message: result.action === "decline" ? "The user declined" : "The user dismissed the question"
        })
      )

/** Asks with params given verbatim, and answers whatever came back: also a refusal, and content that nobody has checked. */
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
  // A schema that no form can show is the programmer's mistake.
  const made = Result.getOrThrow(JsonSchema.elicitation(schema))
  requestedSchemas.set(schema, made)
  return made
}

/**
 * Shows a form and waits for the user. `schema` is a flat struct of strings, numbers, booleans and choices; anything else is a
 * defect that names the field. Fails with `Declined` unless the user accepts, and with -32602 when the answer does not fit.
 */
export const form = <A>(
  message: string,
  schema: Schema.Codec<A, unknown>,
  options?: AskOptions
): Effect.Effect<A, Declined | ElicitError, Elicitation> =>
  Effect.suspend(() =>
    Effect.flatMap(ask({ message, requestedSchema: requestedSchemaOf(schema) }, options), (result) =>
      Effect.mapError(Schema.decodeUnknownEffect(JsonSchema.codec(schema))(result.content ?? {}), (issue) =>
        McpError.invalidParams(`The answer does not fit the form: ${issue.message}`)
      )
    )
  )

/** Asks yes or no: succeeds when the user accepts, fails with `Declined` otherwise. */
export const confirm = (
  message: string,
  options?: AskOptions
): Effect.Effect<void, Declined | ElicitError, Elicitation> =>
  Effect.asVoid(ask({ message, requestedSchema: { type: "object", properties: {} } }, options))

/**
 * Asks the user to visit a URL (2025-11-25 on). Success is consent only: whether the interaction was completed is for the server to
 * find out. Gives the id that names the interaction in the completion notification.
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

/** What a person is to do at a URL. */
export interface UrlQuestion {
  readonly message: string
  readonly url: string
  /** Unique within the server. Default: a random one. */
  readonly elicitationId?: string | undefined
}

const isUrlOrDie = ({ url }: UrlQuestion): Effect.Effect<void> =>
  URL.canParse(url) ? Effect.void : Effect.die(new Error(`Not a URL: ${url}`))

/**
 * Fails with error -32042: the request cannot go on before these interactions were completed; the client is to try again then
 * (2025-11-25). A client without URL mode is not told of URLs: `CapabilityMissing`.
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

/** Runs `question` if the client can answer it, `otherwise` if it lacks the capability. */
export const ifSupported = <A, E, R, B, E2, R2>(
  question: Effect.Effect<A, E | CapabilityMissing, R>,
  otherwise: Effect.Effect<B, E2, R2>
): Effect.Effect<A | B, E | E2, R | R2> =>
  Effect.catch(question, (error): Effect.Effect<B, E | E2, R2> =>
    error instanceof CapabilityMissing ? otherwise : Effect.fail(error)
  )

/** What a server's handler holds: the client, wherever it is. */
export const proxy = (
  input: ClientInput["Service"],
  modes: Elicitation["Service"]["modes"]
): Elicitation["Service"] => ({ modes, elicit: (params, options) => input.ask("elicitation/create", params, options) })
