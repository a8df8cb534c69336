/**
 * What a server lists of a tool (spec: server/tools): how it is described, and the JSON Schemas of its values.
 *
 * A module of its own, which a client of plain schemas does not load: it makes JSON Schemas.
 */
import * as HeaderParams from "@effect-mcp/protocol/HeaderParams"
import * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import type { Icon } from "@effect-mcp/protocol/model/Icon"
import type * as Model from "@effect-mcp/protocol/model/Tool"
import type * as Schema from "effect/Schema"
import { codecSchema } from "./codecSchema.ts"
import { type AnyValueCodec, type DescribedCodec, valueCodec } from "./ValueCodec.ts"

/** How a tool is described to clients. */
export interface Options {
  /** For the model: what the tool does and when to use it. */
  readonly description: string
  /** The name to show in a user interface. */
  readonly title?: string | undefined
  /** Hints for clients, untrusted by them. */
  readonly annotations?: Model.ToolAnnotations | undefined
  readonly icons?: ReadonlyArray<Icon> | undefined
  readonly meta?: { readonly [key: string]: unknown } | undefined
  /**
   * Whether a call may (`optional`) or must (`required`) outlive its request as a task, at a server with `Tasks` of the package tasks.
   * Default: it is answered by its request.
   */
  readonly task?: "optional" | "required" | undefined
}

/** Any tool, by what its descriptor is made of. */
export interface AnyTool extends Options {
  readonly name: string
  readonly input: AnyValueCodec
  readonly output: AnyValueCodec | undefined
  readonly failure: AnyValueCodec | undefined
}

/** Throws where a rule of `x-mcp-header` is broken. */
const checked = (name: string, inputSchema: JsonSchema.JsonObject): JsonSchema.JsonObject => {
  const [problem] = HeaderParams.parse(inputSchema).problems
  if (problem !== undefined) throw new Error(`The input of ${name} breaks a rule of x-mcp-header: ${problem.message}`)
  return inputSchema
}

const descriptors = new WeakMap<AnyTool, Model.Tool>()

/**
 * The descriptor of a tool, made once. The JSON Schemas of plain schemas are made when they are read.
 *
 * Throws for a schema that JSON Schema cannot express, and a broken rule of `x-mcp-header`.
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
export const descriptor = (tool: AnyTool): Model.Tool => {
  const known = descriptors.get(tool)
  if (known !== undefined) return known
  const { annotations, description, icons, meta, name, task, title } = tool
  const side = (which: string): string => `The ${which} of the tool ${JSON.stringify(name)}`
  if (tool.input.jsonSchema !== undefined) checked(name, tool.input.jsonSchema)
  const input = codecSchema(side("input"), tool.input, (schema) => checked(name, JsonSchema.input(schema)))
  const output = tool.output && codecSchema(side("output"), tool.output, (schema) => JsonSchema.output(schema).schema)
  // Not advertised, but a failure travels as JSON.
  if (tool.failure !== undefined) codecSchema(side("failure"), tool.failure)
  let inputSchema: Model.Tool["inputSchema"] | undefined
  const made = {
    name,
    description,
    ...(title === undefined ? undefined : { title }),
    ...(annotations === undefined ? undefined : { annotations }),
    ...(icons === undefined ? undefined : { icons }),
    ...(task === undefined ? undefined : { execution: { taskSupport: task } }),
    ...(meta === undefined ? undefined : { _meta: meta }),
    get inputSchema() {
      return (inputSchema ??= { ...input(), type: "object" })
    }
  }
  if (output !== undefined) Object.defineProperty(made, "outputSchema", { enumerable: true, get: output })
  descriptors.set(tool, made)
  return made
}

/** The codec of a schema and its JSON Schema, for `fromCodecs`. Throws for a schema that JSON Schema cannot express. */
export const codec = <A>(schema: Schema.Codec<A, unknown>): DescribedCodec<A> =>
  Object.assign(valueCodec(schema), { jsonSchema: JsonSchema.fromSchema(schema) })
