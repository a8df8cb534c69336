/** A tool of a program as a feature layer: its schemas as codecs, its handler as an effect. */
import * as Contract from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as Exit from "effect/Exit"
import type { Layer } from "effect/Layer"
import { isThenable } from "../boundary.ts"
import type { HandlerContext } from "../handler/Context.ts"
import { toolResult } from "../handler/results.ts"
import { run, type Rules } from "../handler/run.ts"
import { objectPart, part, valueCodec } from "../schema/Standard.ts"
import type { ToolAnnotations } from "../model/Results.ts"
import { checkedOptions, type Known, knownLimits, required } from "./checked.ts"
import type { ToolOptions } from "./Options.ts"
import { checkedVisible } from "./visible.ts"

/** A handler as the layer calls it: `input` is what its schema gave. */
export type ToolHandler = (input: unknown, context: HandlerContext) => unknown

const empty = Exit.succeed({})

/** The input of a tool without arguments: properties that a client sends anyway are dropped. */
const noArguments: Contract.DescribedCodec<unknown> = {
  jsonSchema: { type: "object", properties: {}, additionalProperties: false },
  decode: () => empty,
  encode: () => empty
}

const inContent = (output: unknown): unknown => (isThenable(output) ? output.then(toolResult) : toolResult(output))

const known: Known<ToolOptions<unknown, unknown>> = {
  title: "string",
  description: "string",
  input: "any",
  output: "any",
  annotations: "object",
  limits: "object",
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

/** Throws for a name, an option or a schema that no tool can have. */
export const toolLayer = (
  name: string,
  options: ToolOptions<unknown, unknown>,
  handler: ToolHandler,
  rules: Rules
): Layer<never, never, Tools.ToolRegistry> => {
  const where = `The tool ${JSON.stringify(name)}`
  const { input, limits, output, visible, ...described } = checkedOptions(where, options, known)
  required(where, "a description", described.description, "string")
  required(where, "a handler", handler, "function")
  if (limits !== undefined) checkedOptions(`${where}, limits`, limits, knownLimits)
  if (described.annotations !== undefined) checkedOptions(`${where}, annotations`, described.annotations, knownHints)
  const side = (which: string): string => `The ${which} of the tool ${JSON.stringify(name)}`
  const tool = Contract.fromCodecs<unknown, unknown>(name, {
    ...described,
    input:
      input === undefined ? noArguments : valueCodec(objectPart(side("input"), part(side("input"), input, "input"))),
    output: output === undefined ? undefined : valueCodec(part(side("output"), output, "output"))
  })
  const runner = {
    rules,
    place: { kind: "tool", name } as const,
    fail: (message: string) => new Tools.ToolFailure({ message })
  }
  const call: ToolHandler = output === undefined ? (input, context) => inContent(handler(input, context)) : handler
  return Tools.layer(tool, (input) => run(runner, (context) => call(input, context)), {
    visible: checkedVisible(visible, rules, runner.place),
    limits
  })
}
