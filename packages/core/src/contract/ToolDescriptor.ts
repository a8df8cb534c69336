/**
 * A tool's description in the tool list (spec: server/tools), including its JSON Schemas.
 *
 * This is a separate module because it generates JSON Schemas, which a client with plain schemas doesn't need to load.
 */
import * as HeaderParams from "@effect-mcp/protocol/HeaderParams"
import * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import type { Icon } from "@effect-mcp/protocol/model/Icon"
import type * as Model from "@effect-mcp/protocol/model/Tool"
import { memoize } from "effect/Function"
import type * as Schema from "effect/Schema"
import { codecSchema } from "./codecSchema.ts"
import { type AnyValueCodec, type DescribedCodec, isPlain, valueCodec } from "./ValueCodec.ts"

/** How a tool is described to clients. */
export interface Options {
  /** Tells the model what the tool does and when to use it. */
  readonly description: string
  /** Display name for user interfaces. */
  readonly title?: string | undefined
  /** Hints for clients. Clients should not rely on them. */
  readonly annotations?: Model.ToolAnnotations | undefined
  readonly icons?: ReadonlyArray<Icon> | undefined
  readonly meta?: { readonly [key: string]: unknown } | undefined
  /**
   * Allows (`optional`) or forces (`required`) calls to outlive their request as a task, on a server with `Tasks` from the tasks package.
   * Default: calls cannot be tasks, and the request waits for the result.
   */
  readonly task?: "optional" | "required" | undefined
}

/** The parts of a tool that its descriptor is created from. */
export interface AnyTool extends Options {
  readonly name: string
  readonly input: AnyValueCodec
  readonly output: AnyValueCodec | undefined
  readonly failure: AnyValueCodec | undefined
}

/** Throws if an `x-mcp-header` annotation is invalid. */
const checked = (name: string, inputSchema: JsonSchema.JsonObject): JsonSchema.JsonObject => {
  const [problem] = HeaderParams.parse(inputSchema).problems
  if (problem !== undefined) throw new Error(`The input of ${name} has an invalid x-mcp-header: ${problem.message}`)
  return inputSchema
}

/**
 * Returns a tool's descriptor. It is only created once, and the JSON Schemas of plain schemas are only generated when they are read.
 *
 * Throws if JSON Schema cannot express a schema, or if an `x-mcp-header` annotation is invalid.
 *
 * @example
 * ```ts
 * import { Tool } from "@effect-mcp/core"
 * import { Schema } from "effect"
 *
 * const Greet = Tool.make("greet", { description: "Greets a person", input: { name: Schema.String } })
 *
 * console.log(JSON.stringify(Tool.descriptor(Greet).inputSchema["required"])) // => ["name"]
 * ```
 */
export const descriptor: (tool: AnyTool) => Model.Tool = memoize((tool: AnyTool): Model.Tool => {
  const { annotations, description, icons, meta, name, task, title } = tool
  const side = (which: string): string => `The ${which} of the tool ${JSON.stringify(name)}`
  if (tool.input.jsonSchema !== undefined) checked(name, tool.input.jsonSchema)
  const input = codecSchema(side("input"), tool.input, (schema) => checked(name, JsonSchema.input(schema)))
  const output = tool.output && codecSchema(side("output"), tool.output, (schema) => JsonSchema.output(schema).schema)
  // The failure schema isn't advertised, but failures are sent as JSON.
  if (tool.failure !== undefined) codecSchema(side("failure"), tool.failure)
  let inputSchema: Model.Tool["inputSchema"] | undefined
  const described = {
    name,
    description,
    ...(title === undefined ? undefined : { title }),
    ...(annotations === undefined ? undefined : { annotations }),
    ...(icons === undefined ? undefined : { icons }),
    ...(task === undefined ? undefined : { execution: { taskSupport: task } }),
    ...(meta === undefined ? undefined : { _meta: meta })
  }
  const made: Model.Tool = isPlain(tool.input)
    ? {
        ...described,
        get inputSchema() {
          return (inputSchema ??= { ...input(), type: "object" })
        }
      }
    : { ...described, inputSchema: { ...input(), type: "object" } }
  if (output === undefined) return made
  const property = tool.output !== undefined && isPlain(tool.output) ? { get: output } : { value: output() }
  return Object.defineProperty(made, "outputSchema", { enumerable: true, ...property })
})

/** True if the schema is generated when it is first read, which is only the case for plain schemas. */
export const isPending = (tool: Model.Tool, key: "inputSchema" | "outputSchema"): boolean =>
  Object.getOwnPropertyDescriptor(tool, key)?.get !== undefined

/** Returns a codec and JSON Schema for a schema, for use with `fromCodecs`. Throws if JSON Schema cannot express the schema. */
export const codec = <A>(schema: Schema.Codec<A, unknown>): DescribedCodec<A> =>
  Object.assign(valueCodec(schema), { jsonSchema: JsonSchema.fromSchema(schema) })
