/** Chat completion responses: one message, or the chunks of a stream. Unknown fields are ignored. */
import type * as Response from "effect/ai/Response"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/** A field that servers leave out or set to null. */
const optional = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))
const text = optional(Schema.String)
const count = optional(Schema.Int)

const Usage = Schema.Struct({
  prompt_tokens: count,
  completion_tokens: count,
  prompt_tokens_details: optional(Schema.Struct({ cached_tokens: count })),
  completion_tokens_details: optional(Schema.Struct({ reasoning_tokens: count }))
})
type Usage = typeof Usage.Type

/** Fields that every response has, and fields of its texts. */
const about = { id: text, model: text, usage: optional(Usage) }
const said = { content: text, refusal: text }

const Call = Schema.Struct({
  id: Schema.String,
  function: Schema.Struct({ name: Schema.String, arguments: Schema.String })
})

/** A part of a call. The first part has the id and the name. */
const CallPart = Schema.Struct({
  index: Schema.Int,
  id: text,
  function: Schema.optionalKey(Schema.Struct({ name: text, arguments: text }))
})

/** The body of a response that is not a stream. */
export const Completion = Schema.Struct({
  ...about,
  choices: Schema.NonEmptyArray(
    Schema.Struct({
      finish_reason: text,
      message: Schema.Struct({ ...said, tool_calls: optional(Schema.Array(Call)) })
    })
  )
})

/** One event of a stream. */
export const Chunk = Schema.Struct({
  ...about,
  choices: Schema.Array(
    Schema.Struct({
      finish_reason: text,
      delta: optional(Schema.Struct({ ...said, tool_calls: optional(Schema.Array(CallPart)) }))
    })
  )
})

const reasons: Readonly<Record<string, Response.FinishReason>> = {
  stop: "stop",
  length: "length",
  content_filter: "content-filter",
  tool_calls: "tool-calls",
  function_call: "tool-calls"
}

/** Returns the finish reason. Some servers omit it, or report "stop" for an answer with calls, which must run anyway. */
const reasonOf = (reason: string | null | undefined, hasCalls: boolean): Response.FinishReason => {
  if (hasCalls && (reason === null || reason === undefined || reason === "stop")) return "tool-calls"
  return reason === null || reason === undefined ? "unknown" : (reasons[reason] ?? "other")
}

const finishOf = (reason: Response.FinishReason, usage: Usage | null | undefined): Response.FinishPartEncoded => {
  const input = usage?.prompt_tokens ?? undefined
  const cached = usage?.prompt_tokens_details?.cached_tokens ?? undefined
  const output = usage?.completion_tokens ?? undefined
  const reasoning = usage?.completion_tokens_details?.reasoning_tokens ?? undefined
  return {
    type: "finish",
    reason,
    usage: {
      inputTokens: {
        uncached: input === undefined ? undefined : input - (cached ?? 0),
        total: input,
        cacheRead: cached,
        cacheWrite: undefined
      },
      outputTokens: {
        total: output,
        text: output === undefined ? undefined : output - (reasoning ?? 0),
        reasoning
      }
    },
    response: undefined
  }
}

/** The model called a tool with arguments that are not JSON. */
export class InvalidArguments extends Error {}

const parse = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))

const callOf = (id: string, name: string, given: string): Response.ToolCallPartEncoded => {
  // Some models send an empty text instead of an empty object.
  const params = parse(given.trim() === "" ? "{}" : given)
  if (Option.isNone(params))
    throw new InvalidArguments(`The arguments of the tool ${name} are not JSON: ${given.slice(0, 200)}`)
  return { type: "tool-call", id, name, params: params.value }
}

const metadataOf = ({ id, model }: { readonly id?: string | null; readonly model?: string | null }) => ({
  type: "response-metadata" as const,
  id: id ?? undefined,
  modelId: model ?? undefined,
  timestamp: undefined
})

/** Returns a response's parts. Throws `InvalidArguments`. */
export const partsOf = (completion: typeof Completion.Type): Array<Response.PartEncoded> => {
  const { finish_reason: reason, message } = completion.choices[0]
  const text = message.content ?? message.refusal ?? ""
  const calls = (message.tool_calls ?? []).map(({ function: { arguments: given, name }, id }) =>
    callOf(id, name, given)
  )
  return [
    metadataOf(completion),
    ...(text === "" ? [] : [{ type: "text" as const, text }]),
    ...calls,
    finishOf(reasonOf(reason, calls.length > 0), completion.usage)
  ]
}

interface OpenCall {
  readonly id: string
  readonly name: string
  given: string
}

const textId = "text"

/** Turns the chunks of a stream into parts. */
export class StreamParts {
  private readonly calls = new Map<number, OpenCall>()
  private hasMetadata = false
  private hasText = false
  private reason: string | null | undefined
  private usage: Usage | null | undefined

  /** Returns the parts that a chunk completes. */
  chunk(chunk: typeof Chunk.Type): Array<Response.StreamPartEncoded> {
    const parts: Array<Response.StreamPartEncoded> = []
    if (!this.hasMetadata) parts.push(metadataOf(chunk))
    this.hasMetadata = true
    this.usage = chunk.usage ?? this.usage
    // There are other choices only if the program asks for them.
    const [choice] = chunk.choices
    if (choice === undefined) return parts
    this.reason = choice.finish_reason ?? this.reason
    const { delta } = choice
    const text = delta?.content ?? delta?.refusal ?? ""
    if (text !== "") {
      if (!this.hasText) parts.push({ type: "text-start", id: textId })
      this.hasText = true
      parts.push({ type: "text-delta", id: textId, delta: text })
    }
    for (const { function: called, id, index } of delta?.tool_calls ?? []) {
      const known = this.calls.get(index)
      const call = known ?? { id: id ?? `call-${index}`, name: called?.name ?? "", given: "" }
      if (known === undefined) {
        this.calls.set(index, call)
        parts.push({ type: "tool-params-start", id: call.id, name: call.name })
      }
      const given = called?.arguments ?? ""
      if (given === "") continue
      call.given += given
      parts.push({ type: "tool-params-delta", id: call.id, delta: given })
    }
    return parts
  }

  /** Returns the parts at the end of the stream, or `undefined` if the stream was cut off. Throws `InvalidArguments`. */
  end(): Array<Response.StreamPartEncoded> | undefined {
    if (this.reason === undefined || this.reason === null) return undefined
    const calls = [...this.calls.values()].flatMap(({ given, id, name }): Array<Response.StreamPartEncoded> => [
      { type: "tool-params-end", id },
      callOf(id, name, given)
    ])
    return [
      ...(this.hasText ? [{ type: "text-end" as const, id: textId }] : []),
      ...calls,
      finishOf(reasonOf(this.reason, calls.length > 0), this.usage)
    ]
  }
}
