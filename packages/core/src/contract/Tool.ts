/**
 * A tool's contract: its description and the codecs for its values (spec: server/tools). Handlers are registered with `Tools`.
 *
 * The same value types both the server's handler and the client's call. Names may only use the characters the specification allows.
 */
import type * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import type { ContentBlock } from "@effect-mcp/protocol/model/Content"
import type * as Model from "@effect-mcp/protocol/model/Tool"
import * as Validate from "@effect-mcp/protocol/Validate"
import type * as Schema from "effect/Schema"
import type { Options } from "./ToolDescriptor.ts"
import {
  type AnyCodec,
  type DescribedCodec,
  type Fields,
  schemaOf,
  type TypeOf,
  type ValueCodec,
  valueCodec
} from "./ValueCodec.ts"
import { rawCodec } from "./rawCodec.ts"

export { type AnyTool, codec, descriptor, type Options } from "./ToolDescriptor.ts"
export { type DescribedCodec, type Fields, InvalidValue, type ValueCodec } from "./ValueCodec.ts"

/** Content of a result: text, one block, or several. */
export type ToolContent = string | ContentBlock | ReadonlyArray<ContentBlock>

/** Handler output for a tool without an output schema: content, or a complete result. */
export type ToolOutput = ToolContent | Model.CallToolResult

/** A tool with input `I`, output `O` and declared failure `F`. Its handler returns `H`, which is `O` if there is an output schema. */
export interface Tool<I, O, F, H = O> extends Options {
  readonly name: string
  readonly input: ValueCodec<I>
  /** Output codec, or `undefined` if there is no output schema. In that case, a call returns the complete result. */
  readonly output: ValueCodec<O & H> | undefined
  readonly failure: ValueCodec<F> | undefined
}

/** True if every revision allows the name: 1 to 128 letters, digits, underscores, hyphens and dots (spec 2025-11-25: server/tools). */
export const isName = (name: string): boolean => /^[A-Za-z0-9_.-]{1,128}$/.test(name)

const otherwise = ". To use a JSON Schema, call Tool.raw"

/**
 * Defines a tool. `input` and `output` are struct fields or schemas. Omit `input` for a tool without arguments. Omit `output` if the
 * handler returns content. A client that uses the same Tool value receives failures that match the `failure` schema as typed errors.
 *
 * Throws if the name contains characters outside `A-Z a-z 0-9 _ . -`. JSON Schemas are generated later, on the server (`descriptor`), so it
 * is `Tools.layer` that throws if JSON Schema cannot express a schema.
 *
 * @example
 * ```ts
 * import { Tool } from "@effect-mcp/core"
 * import { Schema } from "effect"
 *
 * export const Forecast = Tool.make("forecast", {
 *   description: "The weather of the next days",
 *   annotations: { readOnlyHint: true },
 *   input: { city: Schema.String, days: Schema.optionalKey(Schema.Int) },
 *   output: { celsius: Schema.Array(Schema.Finite) },
 *   failure: Schema.Struct({ noSuchCity: Schema.String })
 * })
 *
 * console.log(JSON.stringify(Tool.descriptor(Forecast).inputSchema["required"])) // => ["city"]
 * ```
 */
export const make = <
  const I extends Fields | AnyCodec = {},
  const O extends Fields | AnyCodec | undefined = undefined,
  F extends AnyCodec = Schema.Never
>(
  name: string,
  options: Options & { readonly input?: I; readonly output?: O; readonly failure?: F }
): Tool<
  TypeOf<I>,
  undefined extends O ? Model.CallToolResult : TypeOf<O>,
  F["Type"],
  undefined extends O ? ToolOutput : TypeOf<O>
> => {
  const side = (which: string): string => `The ${which} of the tool ${JSON.stringify(name)}`
  const input = schemaOf(side("input"), options.input ?? {}, otherwise)
  const output = options.output === undefined ? undefined : schemaOf(side("output"), options.output, otherwise)
  const failure = options.failure === undefined ? undefined : schemaOf(side("failure"), options.failure, otherwise)
  return build(
    name,
    options,
    valueCodec(input),
    output === undefined ? undefined : valueCodec(output),
    failure === undefined ? undefined : valueCodec(failure)
  )
}

/**
 * Defines a tool from JSON Schemas. Values are validated but not decoded. A server lists the schemas unchanged, unless
 * a host would reject them; see its option `portability`. Throws if a schema doesn't compile.
 *
 * @example
 * ```ts
 * import { Tool, Tools } from "@effect-mcp/core"
 * import { Effect } from "effect"
 *
 * const Echo = Tool.raw("echo", {
 *   description: "Gives its arguments back",
 *   inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] }
 * })
 *
 * export const echo = Tools.layer(Echo, ({ text }) => Effect.succeed(String(text)))
 * ```
 */
export const raw = <O extends JsonSchema.JsonObject | undefined = undefined>(
  name: string,
  options: Options & { readonly inputSchema: JsonSchema.JsonObject; readonly outputSchema?: O }
): Tool<
  JsonSchema.JsonObject,
  undefined extends O ? Model.CallToolResult : JsonSchema.JsonObject,
  never,
  undefined extends O ? ToolOutput : JsonSchema.JsonObject
> =>
  build(
    name,
    options,
    rawCodec(options.inputSchema),
    options.outputSchema === undefined ? undefined : rawCodec(options.outputSchema),
    undefined
  )

/**
 * Defines a tool from codecs, for example from codecs that were built with another schema library. The handler receives
 * `I` and returns `H`.
 *
 * @example
 * ```ts
 * import { Tool } from "@effect-mcp/core"
 * import { Effect } from "effect"
 *
 * const text: Tool.DescribedCodec<string> = {
 *   jsonSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
 *   decode: (wire) =>
 *     typeof wire === "object" && wire !== null && "text" in wire && typeof wire.text === "string"
 *       ? Effect.succeed(wire.text)
 *       : Effect.fail(new Tool.InvalidValue({ message: "Expected a text" })),
 *   encode: (text) => Effect.succeed({ text })
 * }
 *
 * console.log(Tool.fromCodecs("echo", { description: "Gives its text back", input: text }).name) // => echo
 * ```
 */
export const fromCodecs = <I, H = ToolOutput, F = never>(
  name: string,
  options: Options & {
    readonly input: DescribedCodec<I>
    readonly output?: DescribedCodec<H> | undefined
    readonly failure?: DescribedCodec<F> | undefined
  }
): Tool<I, unknown, F, H> => build(name, options, options.input, options.output, options.failure)

/** Builds a tool. `make` and `raw` assert its types, which they derive from the schemas. */
const build = (
  name: string,
  options: Options,
  input: ValueCodec<any>,
  output: ValueCodec<any> | undefined,
  failure: ValueCodec<any> | undefined
): any => {
  if (!isName(name))
    throw new Error(
      `Invalid tool name ${JSON.stringify(name)}. Use 1 to 128 characters from A-Z, a-z, 0-9, "_", "." and "-"`
    )
  const { annotations, description, icons, meta, task, title } = options
  if (icons !== undefined) Validate.icons(`Tool ${name}`, icons)
  return { name, description, title, annotations, icons, meta, task, input, output, failure }
}
