/**
 * Lets the client's model use a handler's tools until it responds (spec: client/sampling, tools in sampling).
 *
 * The number of iterations is limited. Each tool runs once per request, even if the handler runs again (`Once`), so it
 * must not ask the client questions.
 */
import type {
  CreateMessageParams,
  CreateMessageResult,
  SamplingContent,
  SamplingMessage
} from "@effect-mcp/protocol/model/Sampling"
import * as Model from "@effect-mcp/protocol/model/Tool"
import type * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Tool } from "../contract/Tool.ts"
import { descriptor } from "../contract/ToolDescriptor.ts"
import { ToolFailure } from "../contract/ToolFailure.ts"
import type { ClientInput } from "../request/ClientInput.ts"
import * as Once from "../request/Once.ts"
import type { RequestContext } from "../request/RequestContext.ts"
import * as Sampling from "../request/Sampling.ts"
import { caller, type ToolHandlerError } from "./Tools.ts"

/** A tool for the model. It is not offered to the client. */
export interface LoopTool<R> {
  readonly tool: Model.Tool
  readonly call: (
    params: Model.CallToolParams
  ) => Effect.Effect<Model.CallToolResult, McpError.McpError, R | RequestContext>
}

/**
 * Creates a tool for the model. Arguments and output are checked as in a server's tool, and the model reads its failures as text.
 */
export const tool = <I, O, F, H, R>(
  tool: Tool<I, O, F, H>,
  handler: (input: I) => Effect.Effect<H, ToolHandlerError<NoInfer<F>>, R>
): LoopTool<R> => {
  const call = caller<I, O, F, H, R>(tool, handler)
  return { tool: descriptor(tool), call: (params) => call(params) }
}

export interface Options {
  /** Maximum number of times the model may use tools before it has to respond without them. Default 8. */
  readonly iterations?: number | undefined
  /** Distinguishes several loops in one handler. Default `loop`. */
  readonly name?: string | undefined
}

/** The request to the model. Its tools come from the loop. */
export type LoopParams = Omit<CreateMessageParams, "tools" | "toolChoice">

const blocksOf = ({ content }: CreateMessageResult): ReadonlyArray<SamplingContent> => [content].flat()

const codec = Schema.toCodecJson(Model.CallToolResult)

/**
 * Asks the model, runs the tools that it wants to use, and asks again until it responds. At the limit, the model is
 * asked to respond without tools. Fails with `ToolFailure` if it uses a tool anyway, and with `CapabilityMissing` if
 * the client's model doesn't support tools.
 *
 * @example
 * ```ts
 * import { Sampling, Tool, ToolLoop } from "@effect-mcp/core"
 * import { Effect, Schema } from "effect"
 *
 * const Add = Tool.make("add", {
 *   description: "Adds two numbers",
 *   input: { a: Schema.Finite, b: Schema.Finite },
 *   output: { sum: Schema.Finite }
 * })
 *
 * export const solve = (task: string) =>
 *   ToolLoop.run(
 *     { messages: [{ role: "user", content: { type: "text", text: task } }], maxTokens: 500 },
 *     [ToolLoop.tool(Add, ({ a, b }) => Effect.succeed({ sum: a + b }))],
 *     { iterations: 3 }
 *   ).pipe(Effect.map(Sampling.text))
 * ```
 */
export const run = <R = never>(
  params: LoopParams,
  tools: ReadonlyArray<LoopTool<R>>,
  { iterations = 8, name = "loop" }: Options = {}
): Effect.Effect<
  CreateMessageResult,
  Sampling.SamplingError | ToolFailure,
  R | ClientInput | RequestContext | Sampling.Sampling
> =>
  Effect.gen(function* () {
    const descriptors = tools.map(({ tool }) => tool)
    let messages: ReadonlyArray<SamplingMessage> = params.messages
    for (let iteration = 0; ; iteration++) {
      const choice = iteration < iterations ? undefined : { toolChoice: { mode: "none" as const } }
      const answer = yield* Sampling.createMessage(
        { ...params, messages, tools: descriptors, ...choice },
        { key: `${name} ${iteration}` }
      )
      const uses = blocksOf(answer).flatMap((block) => (block.type === "tool_use" ? [block] : []))
      if (uses.length === 0) return answer
      if (choice !== undefined) {
        return yield* new ToolFailure({
          message: `The model called tools ${iterations} times in a row without answering`
        })
      }
      const results = yield* Effect.forEach(uses, ({ id: toolUseId, input, name: used }, index) => {
        const known = tools.find(({ tool }) => tool.name === used)
        const result =
          known === undefined
            ? Effect.succeed(failed(`The model called an unknown tool: ${JSON.stringify(used)}`))
            : // The call starts as soon as it is created, which must happen inside the step.
              Effect.catch(
                Effect.suspend(() => known.call({ name: used, arguments: input })),
                ({ message }) => Effect.succeed(failed(message))
              )
        return Effect.map(
          Once.run(`${name} ${iteration}.${index}`, codec, result),
          ({ _meta, ...rest }): SamplingContent => ({ type: "tool_result", toolUseId, ...rest })
        )
      })
      messages = [...messages, { role: "assistant", content: answer.content }, { role: "user", content: results }]
    }
  })

const failed = (message: string): Model.CallToolResult => ({
  content: [{ type: "text", text: message }],
  isError: true
})
