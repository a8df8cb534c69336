/**
 * A call that exists already, served as a tool: its output and its declared errors cross with their schemas.
 *
 * Of an error that is not declared the caller reads a sentence without details; the log has the error.
 */
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import { withoutServices } from "@effect-mcp/core/internal/ValueCodec"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import type { ToolAnnotations } from "@effect-mcp/protocol/model/Tool"
import * as Effect from "effect/Effect"
import * as HttpClientError from "effect/http/HttpClientError"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

/** How a tool is described, in place of what its call says. */
export interface Description {
  readonly name?: string | undefined
  readonly description?: string | undefined
  readonly title?: string | undefined
  readonly annotations?: ToolAnnotations | undefined
}

export interface ServedCall<I> extends Tool.Options {
  readonly name: string
  readonly input: Tool.DescribedCodec<I>
  /** The schemas of its success; none for a call that gives nothing. */
  readonly successes: ReadonlyArray<Schema.Top>
  /** The schemas of the errors that it declares. */
  readonly errors: ReadonlyArray<Schema.Top>
  /** What the caller reads of any other error. */
  readonly undeclared: (error: unknown) => string
  readonly call: (input: I) => Effect.Effect<unknown, unknown>
}

/** One schema for all; undefined for none. The types of the layers refuse schemas that need services. */
export const oneOf = (schemas: ReadonlyArray<Schema.Top>): Schema.Codec<unknown, unknown> | undefined => {
  const [first, ...others] = schemas.map(withoutServices)
  return first !== undefined && others.length > 0 ? Schema.Union([first, ...others]) : first
}

/** Effects of the method, as the specification of HTTP has them (RFC 9110, 9.2). */
export const annotationsOf = (method: string): ToolAnnotations => {
  const readOnlyHint = method === "GET" || method === "HEAD" || method === "OPTIONS"
  if (readOnlyHint) return { readOnlyHint }
  return { readOnlyHint, destructiveHint: true, idempotentHint: method === "PUT" || method === "DELETE" }
}

/** The messages of an error and its causes. */
const messagesOf = (error: unknown, depth = 4): ReadonlyArray<string> =>
  error instanceof Error && depth > 0 ? [error.message, ...messagesOf(error.cause, depth - 1)] : []

/**
 * An error as the log shows it. An error of HTTP becomes one line, since it may quote a caller. The value of a header that the platform
 * refuses is left out.
 */
export const logged = (error: unknown): unknown => {
  if (!HttpClientError.isHttpClientError(error)) return error
  const { _tag, cause } = error.reason
  const messages = messagesOf(cause)
  const why = messages.some((message) => /header/i.test(message)) ? ["a header cannot be sent"] : messages
  return excerpt([_tag, ...why].join(": "))
}

/** Serves the call for as long as the layer lives. A text is the content of its result, any other output its structured content. */
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
