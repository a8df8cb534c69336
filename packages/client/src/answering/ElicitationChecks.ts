/**
 * Checks questions to the user and their answers (spec: client/elicitation): each URL before it is shown, and each answer before it is
 * sent.
 *
 * Never opens or fetches anything. The host has to show the complete URL together with the server's name and ask the user.
 */
import * as JsonSchemaValidator from "@effect-mcp/protocol/JsonSchemaValidator"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { ElicitParams, ElicitResult, ElicitValue, RequestedSchema } from "@effect-mcp/protocol/model/Elicitation"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

type Content = NonNullable<ElicitResult["content"]>

/** Parses a question's URL for display. Fails with -32602 unless it is an http or https URL. */
export const pageUrl = (text: string): Result.Result<URL, McpError.McpError> => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined) return Result.fail(McpError.invalidParams("The url of an elicitation must be a valid URL"))
  return url.protocol === "https:" || url.protocol === "http:"
    ? Result.succeed(url)
    : Result.fail(McpError.invalidParams("The url of an elicitation must be an http or https URL"))
}

/** Rejects an invalid URL elicitation. `named` means an ID is required, so that completion can be announced (2025-11-25). */
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
 * Returns the answer to send. An accepted form includes its content, with the schema's defaults for missing fields. Other answers have no
 * content: accepting a URL means the user agreed to visit it, not that they are done. Fails with -32603 if the content doesn't match the
 * schema.
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
    : Effect.fail(McpError.internalError(`The user's answer does not match the requested schema: ${reason}`))
}
