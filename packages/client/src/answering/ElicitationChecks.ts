/**
 * Checks around a question to the user (spec: client/elicitation): of the URL before it is shown, of the answer before it is sent.
 *
 * Never opens nor fetches anything: the host shows the whole URL and the server's name, and asks.
 */
import * as JsonSchemaValidator from "@effect-mcp/protocol/JsonSchemaValidator"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { ElicitParams, ElicitResult, ElicitValue, RequestedSchema } from "@effect-mcp/protocol/model/Elicitation"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

type Content = NonNullable<ElicitResult["content"]>

/** The URL of a question as its user should see it, or why it must not be shown: only http and https lead to a page. */
export const pageUrl = (text: string): Result.Result<URL, McpError.McpError> => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined) return Result.fail(McpError.invalidParams("The url of an elicitation must be a valid URL"))
  return url.protocol === "https:" || url.protocol === "http:"
    ? Result.succeed(url)
    : Result.fail(McpError.invalidParams("The url of an elicitation must be an http or https URL"))
}

/** Refuses a question that no user should be bothered with. `named`: a page must have an id, by which its completion is told (2025-11-25). */
export const checkQuestion = (params: ElicitParams, named: boolean): Effect.Effect<void, McpError.McpError> => {
  if (params.mode !== "url") return Effect.void
  if (named && (params.elicitationId === undefined || params.elicitationId === "")) {
    return Effect.fail(McpError.invalidParams("An elicitation by URL must have an elicitationId"))
  }
  return Effect.asVoid(Effect.fromResult(pageUrl(params.url)))
}

const withDefaults = (schema: RequestedSchema, content: Content): Content => {
  const defaults = Object.entries(schema.properties).flatMap(([name, property]): Array<[string, ElicitValue]> =>
    property.default === undefined || Object.hasOwn(content, name) ? [] : [[name, property.default]]
  )
  return defaults.length === 0 ? content : { ...Object.fromEntries(defaults), ...content }
}

const misfit = (schema: RequestedSchema, content: Content): string | undefined => {
  const compiled = JsonSchemaValidator.compile(schema, { formats: true })
  if (Result.isFailure(compiled)) return compiled.failure.reason
  const [violation] = compiled.success(content)
  return violation === undefined ? undefined : `${violation.path} ${violation.message}`
}

/**
 * The answer as it may leave: the content of an accepted form, with the defaults of fields that were left out, once it fits the
 * schema. Nothing else has content; to accept a URL is consent, not completion.
 */
export const checkAnswer = (
  params: ElicitParams,
  answer: ElicitResult
): Effect.Effect<ElicitResult, McpError.McpError> => {
  const { content = {}, ...rest } = answer
  if (params.mode === "url" || answer.action !== "accept") return Effect.succeed(rest)
  const complete = withDefaults(params.requestedSchema, content)
  const reason = misfit(params.requestedSchema, complete)
  return reason === undefined
    ? Effect.succeed({ ...rest, content: complete })
    : Effect.fail(McpError.internalError(`The user's answer does not fit the requested schema: ${reason}`))
}
