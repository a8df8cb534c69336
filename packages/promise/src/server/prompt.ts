/** Turns a program's prompt into a feature layer. Arguments are sent as strings and described by their schema's JSON Schema. */
import type { Prompt } from "@effect-mcp/core/Prompt"
import * as Prompts from "@effect-mcp/core/Prompts"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { PromptArgument } from "@effect-mcp/protocol/model/Prompt"
import { InvalidValue } from "@effect-mcp/core/Tool"
import { exitOf } from "@effect-mcp/core/internal/calling"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Validate from "@effect-mcp/protocol/Validate"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { identity } from "effect/Function"
import type { Layer } from "effect/Layer"
import type { HandlerContext } from "../handler/Context.ts"
import { type PromptOutput, promptResult } from "../handler/results.ts"
import { type Rules, run } from "../handler/run.ts"
import { objectPart, part, type Part } from "../schema/Standard.ts"
import { completers } from "./completers.ts"
import { checkedOptions, type Known, required } from "./checked.ts"
import type { PromptOptions } from "./Options.ts"
import { checkedVisible } from "./visible.ts"

/** A handler as the layer calls it. `args` is the output of its schema. */
export type PromptHandler = (args: unknown, context: HandlerContext) => PromptOutput | PromiseLike<PromptOutput>

/** True if a JSON Schema admits strings. */
const admitsText = (node: unknown): boolean => {
  if (!isJsonObject(node)) return true
  const { anyOf, const: only, enum: values, oneOf, type } = node
  if (type !== undefined) return Array.isArray(type) ? type.includes("string") : type === "string"
  if (only !== undefined) return typeof only === "string"
  if (Array.isArray(values)) return values.some((value) => typeof value === "string")
  const members: unknown = anyOf ?? oneOf
  return !Array.isArray(members) || members.some(admitsText)
}

/** Sample strings that a coercing schema may be able to read. */
const samples = ["1", "true", "2026-07-28"]

/** True if an argument's schema accepts strings although it describes another type, which means that it coerces them. */
const coerces = ({ validate }: Part, name: string): boolean =>
  samples.some((sample) => {
    const result = exitOf(validate({ [name]: sample }))
    const refused = result !== undefined && Exit.isFailure(result) ? Cause.squash(result.cause) : undefined
    return !(refused instanceof InvalidValue && refused.message.includes(JSON.stringify([name])))
  })

const argumentsOf = (where: string, args: Part): ReadonlyArray<PromptArgument> => {
  const { properties, required } = args.jsonSchema
  return Object.entries(isJsonObject(properties) ? properties : {}).map(([name, node]) => {
    if (!admitsText(node) && !coerces(args, name)) {
      const given = JSON.stringify(isJsonObject(node) ? node["type"] : node)
      throw new TypeError(
        `${where}: ${JSON.stringify(name)} is of type ${given}, but prompt arguments are sent as strings. Use a schema that accepts or coerces a string`
      )
    }
    const text = (key: string) =>
      isJsonObject(node) && typeof node[key] === "string" ? { [key]: node[key] } : undefined
    return {
      name,
      ...text("title"),
      ...text("description"),
      required: Array.isArray(required) && required.includes(name)
    }
  })
}

const contract = (name: string, options: PromptOptions<unknown>): Prompt<unknown> => {
  const { arguments: schema, description, icons, meta, title } = options
  const where = `The arguments of the prompt ${JSON.stringify(name)}`
  const args = schema === undefined ? undefined : objectPart(where, part(where, schema, "input"))
  return {
    name,
    decode: args?.validate ?? Exit.succeed,
    encode: () => Effect.die(new Error("A server encodes no arguments")),
    descriptor: {
      name,
      ...(title === undefined ? undefined : { title }),
      ...(description === undefined ? undefined : { description }),
      ...(icons === undefined ? undefined : { icons: Validate.icons(`Prompt ${name}`, icons) }),
      ...(meta === undefined ? undefined : { _meta: meta }),
      arguments: args === undefined ? [] : argumentsOf(where, args)
    }
  }
}

const knownOptions: Known<PromptOptions<unknown>> = {
  title: "string",
  description: "string",
  arguments: "any",
  complete: "object",
  icons: "array",
  meta: "object",
  visible: "function"
}

/** Throws for unknown options, for arguments that can't be sent as strings, and for completers of arguments the prompt doesn't have. */
export const promptLayer = (
  name: string,
  options: PromptOptions<unknown> & { readonly complete?: Parameters<typeof completers>[0] },
  handler: PromptHandler,
  rules: Rules
): Layer<never, never, Prompts.PromptRegistry> => {
  const where = `The prompt ${JSON.stringify(name)}`
  checkedOptions<PromptOptions<unknown>>(where, options, knownOptions)
  required(where, "a handler", handler, "function")
  const prompt = contract(name, options)
  const { complete = {}, visible } = options
  const known = prompt.descriptor.arguments ?? []
  const stray = Object.keys(complete).find((argument) => !known.some((one) => one.name === argument))
  if (stray !== undefined) throw new TypeError(`The prompt ${JSON.stringify(name)} has no argument ${stray}`)
  const runner = { rules, place: { kind: "prompt", name } as const, fail: McpError.internalError }
  return Prompts.layer(
    prompt,
    (args) =>
      Effect.map(
        run(runner, (context) => handler(args, context), identity),
        promptResult
      ),
    { complete: completers(complete, rules, name), visible: checkedVisible(visible, rules, runner.place) }
  )
}
