/** Turns a program's tool into a feature layer, with its schemas as codecs and its handler as an effect. */
import * as Contract from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { identity } from "effect/Function"
import type { Layer } from "effect/Layer"
import type { ErrorPlace, HandlerContext } from "../handler/Context.ts"
import { report } from "../handler/report.ts"
import { toolResult } from "../handler/results.ts"
import { run, type Rules } from "../handler/run.ts"
import { objectPart, part, valueCodec } from "../schema/Standard.ts"
import type { ToolAnnotations } from "../model/Results.ts"
import { checkedOptions, type Known, knownLimits, oneOf, required } from "./checked.ts"
import type { ToolOptions } from "./Options.ts"
import { checkedVisible } from "./visible.ts"

/** A handler as the layer calls it. `input` is the output of its schema. */
export type ToolHandler = (input: unknown, context: HandlerContext) => unknown

const empty = Exit.succeed({})

/** Input of a tool without arguments. Drops any properties a client sends anyway. */
const noArguments: Contract.DescribedCodec<unknown> = {
  jsonSchema: { type: "object", properties: {}, additionalProperties: false },
  decode: () => empty,
  encode: () => empty
}

const known: Known<ToolOptions<unknown, unknown>> = {
  title: "string",
  description: "string",
  input: "any",
  output: "any",
  content: "function",
  annotations: "object",
  limits: "object",
  task: "string",
  taskAfter: "number",
  icons: "array",
  meta: "object",
  visible: "function"
}
const knownHints: Known<ToolAnnotations> = {
  title: "string",
  readOnlyHint: "boolean",
  destructiveHint: "boolean",
  idempotentHint: "boolean",
  openWorldHint: "boolean"
}

/** Passes an error of `content` to `onError`. The server then logs it and sends the value as JSON. */
const reporting =
  (content: (value: never) => Contract.ToolContent, { onError }: Rules, place: ErrorPlace) =>
  (value: unknown): Contract.ToolContent => {
    try {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the type of the option says that it takes the handler's value
      return (content as (value: unknown) => Contract.ToolContent)(value)
    } catch (thrown) {
      report(onError, thrown, place)
      throw thrown
    }
  }

/** Passes a value that doesn't match the output schema to `onError`. The server then logs it and answers -32603. */
const reportingInvalid = (
  { encode, ...codec }: Contract.DescribedCodec<unknown>,
  { onError }: Rules,
  place: ErrorPlace
): Contract.DescribedCodec<unknown> => ({
  ...codec,
  encode: (value) =>
    onError === undefined
      ? encode(value)
      : Effect.tapError(encode(value), ({ message }) =>
          Effect.sync(() => {
            const where = `The value that the tool ${JSON.stringify(place.name)} returned does not match its output schema`
            report(onError, new TypeError(`${where}: ${message}`), place)
          })
        )
})

/** Throws if a tool's name, options or schemas are invalid. */
export const toolLayer = (
  name: string,
  options: ToolOptions<unknown, unknown>,
  handler: ToolHandler,
  rules: Rules
): Layer<never, never, Tools.ToolRegistry> => {
  const where = `The tool ${JSON.stringify(name)}`
  const { content, input, limits, output, taskAfter, visible, ...described } = checkedOptions(where, options, known)
  required(where, "a description", described.description, "string")
  required(where, "a handler", handler, "function")
  if (content !== undefined && output === undefined) {
    throw new TypeError(
      `${where}: the option "content" requires an output schema. Without one, the handler returns the content itself`
    )
  }
  oneOf(where, "task", described.task, ["optional", "required"])
  if (taskAfter !== undefined && described.task !== "optional")
    throw new TypeError(`${where}: the option "taskAfter" requires task: "optional"`)
  if (limits !== undefined) checkedOptions(`${where}, limits`, limits, knownLimits)
  if (described.annotations !== undefined) checkedOptions(`${where}, annotations`, described.annotations, knownHints)
  const side = (which: string): string => `The ${which} of the tool ${JSON.stringify(name)}`
  const place = { kind: "tool", name } as const
  const tool = Contract.fromCodecs<unknown, unknown>(name, {
    ...described,
    input:
      input === undefined ? noArguments : valueCodec(objectPart(side("input"), part(side("input"), input, "input"))),
    output:
      output === undefined
        ? undefined
        : reportingInvalid(valueCodec(part(side("output"), output, "output")), rules, place)
  })
  const runner = {
    rules,
    place,
    fail: (message: string) => new Tools.ToolFailure({ message })
  }
  const into = output === undefined ? toolResult : identity
  return Tools.layer(tool, (input) => run(runner, (context) => handler(input, context), into), {
    visible: checkedVisible(visible, rules, runner.place),
    limits,
    ...(taskAfter === undefined ? undefined : { taskAfter }),
    content: content && reporting(content, rules, runner.place)
  })
}
