/**
 * Serves an existing call as a tool, encoding its output and declared errors with their schemas.
 *
 * If the call fails with an undeclared error, the caller receives a sentence without details and the error itself is logged.
 */
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import { withoutServices } from "@effect-mcp/core/internal/codecs"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import type { ToolAnnotations } from "@effect-mcp/protocol/model/Tool"
import * as Effect from "effect/Effect"
import * as HttpClientError from "effect/http/HttpClientError"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

/** A tool description, which overrides the description derived from the call. */
export interface Description {
  readonly name?: string | undefined
  readonly description?: string | undefined
  readonly title?: string | undefined
  readonly annotations?: ToolAnnotations | undefined
}

export interface ServedCall<I> extends Tool.Options {
  readonly name: string
  readonly input: Tool.DescribedCodec<I>
  /** Schemas for successful results. Empty if the call returns nothing. */
  readonly successes: ReadonlyArray<Schema.Top>
  /** Schemas for the errors the call declares. */
  readonly errors: ReadonlyArray<Schema.Top>
  /** Returns the message callers receive for any other error. */
  readonly undeclared: (error: unknown) => string
  readonly call: (input: I) => Effect.Effect<unknown, unknown>
}

/** Returns one schema for all of them, or `undefined` if there are none. The layers' types reject schemas that need services. */
export const oneOf = (schemas: ReadonlyArray<Schema.Top>): Schema.Codec<unknown, unknown> | undefined => {
  const [first, ...others] = schemas.map(withoutServices)
  return first !== undefined && others.length > 0 ? Schema.Union([first, ...others]) : first
}

/** Returns the effects of an HTTP method according to its specification (RFC 9110, 9.2). */
export const annotationsOf = (method: string): ToolAnnotations => {
  const readOnlyHint = method === "GET" || method === "HEAD" || method === "OPTIONS"
  if (readOnlyHint) return { readOnlyHint }
  return { readOnlyHint, destructiveHint: true, idempotentHint: method === "PUT" || method === "DELETE" }
}

/** Returns the messages in an error and its causes. */
const messagesOf = (error: unknown, depth = 4): ReadonlyArray<string> =>
  error instanceof Error && depth > 0 ? [error.message, ...messagesOf(error.cause, depth - 1)] : []

/**
 * Formats an error for the log. An HTTP error becomes one line, because it may quote a caller. The value of a header that the platform
 * rejects is omitted.
 */
export const logged = (error: unknown): unknown => {
  if (!HttpClientError.isHttpClientError(error)) return error
  const { _tag, cause } = error.reason
  const messages = messagesOf(cause)
  const why = messages.some((message) => /header/i.test(message)) ? ["a header cannot be sent"] : messages
  return excerpt([_tag, ...why].join(": "))
}

/** Serves the call for the lifetime of the layer. Text becomes the result's content, and any other output its structured content. */
export const layer = <I>(
  { call, errors, input, name, successes, undeclared, ...described }: ServedCall<I>,
  offered: Tools.Options | undefined
): Layer.Layer<never, never, Tools.ToolRegistry> => {
  const failure = oneOf(errors)
  const isDeclared = failure === undefined ? () => false : Schema.is(failure)
  const run = (value: I): Effect.Effect<unknown, unknown> =>
    Effect.catch(call(value), (error) =>
      isDeclared(error)
        ? Effect.fail(error)
        : Effect.andThen(
            Effect.logWarning(undeclared(error), logged(error)),
            Effect.fail(new Tools.ToolFailure({ message: undeclared(error) }))
          )
    )
  const success = oneOf(successes)
  const output = success && Tool.codec(success)
  const options = { ...described, input, failure: failure && Tool.codec(failure) }
  if (output === undefined || output.jsonSchema["type"] === "string") {
    const tool = Tool.fromCodecs<I, Tool.ToolOutput, unknown>(name, options)
    const content = (value: unknown): Tool.ToolOutput => (typeof value === "string" ? value : [])
    return Tools.layer(tool, (value) => Effect.map(run(value), content), offered)
  }
  return Tools.layer(Tool.fromCodecs<I, unknown, unknown>(name, { ...options, output }), run, offered)
}
