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

/** The URL of a question as its user should see it. Fails with -32602 for a text that is no http or https URL. */
export const pageUrl = (text: string): Result.Result<URL, McpError.McpError> => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined) return Result.fail(McpError.invalidParams("The url of an elicitation must be a valid URL"))
  return url.protocol === "https:" || url.protocol === "http:"
    ? Result.succeed(url)
    : Result.fail(McpError.invalidParams("The url of an elicitation must be an http or https URL"))
}

/** Refuses an invalid URL elicitation. `named`: whether it needs an id, by which its completion is announced (2025-11-25). */
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

const mismatchOf = (schema: RequestedSchema, content: Content): string | undefined => {
  const compiled = JsonSchemaValidator.compile(schema, { formats: true })
  if (Result.isFailure(compiled)) return compiled.failure.reason
  const [violation] = compiled.success(content)
  return violation === undefined ? undefined : `${violation.path} ${violation.message}`
}

/**
 * The answer that is sent. An accepted form has content, with the schema's defaults for fields that were left out; no other answer has
 * any, since accepting a URL is consent, not completion. Fails with -32603 for content that does not fit the schema.
 */
export const checkAnswer = (
  params: ElicitParams,
  answer: ElicitResult
): Effect.Effect<ElicitResult, McpError.McpError> => {
  const { content = {}, ...rest } = answer
  if (params.mode === "url" || answer.action !== "accept") return Effect.succeed(rest)
  const complete = withDefaults(params.requestedSchema, content)
  const reason = mismatchOf(params.requestedSchema, complete)
  return reason === undefined
    ? Effect.succeed({ ...rest, content: complete })
    : Effect.fail(McpError.internalError(`The user's answer does not fit the requested schema: ${reason}`))
}
