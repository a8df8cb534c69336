/**
 * A tool's contract: how it is described, and the codecs of its values (spec: server/tools). Handlers live in `Tools`.
 *
 * The same value types the server's handler and the client's call. Refuses names outside the specification's alphabet.
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

/** What a handler of a tool without an output schema returns: the result's content, or the whole result. */
export type ToolOutput = string | ContentBlock | ReadonlyArray<ContentBlock> | Model.CallToolResult

/** A tool: its input `I`, the output `O` of a call, its declared failure `F`, and what a handler returns, `H` (`O` with an output schema). */
export interface Tool<I, O, F, H = O> extends Options {
  readonly name: string
  readonly input: ValueCodec<I>
  /** Undefined without an output schema: a call then gives the whole result. */
  readonly output: ValueCodec<O & H> | undefined
  readonly failure: ValueCodec<F> | undefined
}

/** The names that every revision allows: 1 to 128 letters, digits, underscores, hyphens and dots (spec 2025-11-25: server/tools). */
export const isName = (name: string): boolean => /^[A-Za-z0-9_.-]{1,128}$/.test(name)

const otherwise = ". For a JSON Schema there is Tool.raw"

/**
 * Describes a tool. `input` and `output` are fields of a struct, or schemas. Without `input` the tool takes no arguments; without `output`
 * its handler returns content. `failure` is the schema of a failure that clients with the same Tool value receive typed.
 *
 * Throws for a name outside of `A-Z a-z 0-9 _ . -`. A server makes the JSON Schemas (`descriptor`): `Tools.layer` throws for a schema that
 * JSON Schema cannot express.
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
 * Describes a tool by JSON Schemas that are advertised verbatim. Values are validated, not decoded. Throws for a schema that cannot be
 * compiled.
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
 * Describes a tool by codecs of its values, such as those of another schema library. `I` is what its handler gets, `H` what it gives.
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

/** `make` and `raw` state the types of the tool, from the schemas that the codecs are made of. */
const build = (
  name: string,
  options: Options,
  input: ValueCodec<any>,
  output: ValueCodec<any> | undefined,
  failure: ValueCodec<any> | undefined
): any => {
  if (!isName(name)) throw new Error(`A tool's name is 1 to 128 of A-Z a-z 0-9 _ . - : ${JSON.stringify(name)}`)
  const { annotations, description, icons, meta, task, title } = options
  if (icons !== undefined) Validate.icons(`Tool ${name}`, icons)
  return { name, description, title, annotations, icons, meta, task, input, output, failure }
}
