/**
 * A tool's contract: its descriptor and the codecs of its values (spec: server/tools). Handlers live in `Tools`.
 *
 * The same value types the server's handler and the client's call. Refuses names outside the specification's alphabet.
 */
import { issue } from "@effect-mcp/protocol/Codecs"
import * as HeaderParams from "@effect-mcp/protocol/HeaderParams"
import * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import * as JsonSchemaValidator from "@effect-mcp/protocol/JsonSchemaValidator"
import type { ContentBlock } from "@effect-mcp/protocol/model/Content"
import type { Icon } from "@effect-mcp/protocol/model/Icon"
import type * as Model from "@effect-mcp/protocol/model/Tool"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Validate from "@effect-mcp/protocol/Validate"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

/** A value does not fit the tool's schema; `message` says where and why. */
export class InvalidValue extends Data.TaggedError("InvalidValue")<{ readonly message: string }> {}

/** One side of a tool: the advertised JSON Schema and the codec that agrees with it. */
export interface ValueCodec<A> {
  readonly jsonSchema: JsonSchema.JsonObject
  readonly decode: (wire: unknown) => Effect.Effect<A, InvalidValue>
  readonly encode: (value: A) => Effect.Effect<unknown, InvalidValue>
}

/** What a handler of a tool without an output schema returns: the result's content, or the whole result. */
export type Output = string | ContentBlock | ReadonlyArray<ContentBlock> | Model.CallToolResult

/** A tool: its input `I`, the output `O` of a call, its declared failure `F`, and what a handler returns, `H` (`O` with an output schema). */
export interface Tool<I, O, F, H = O> {
  readonly name: string
  readonly descriptor: Model.Tool
  readonly input: ValueCodec<I>
  /** Undefined without an output schema: a call then gives the whole result. */
  readonly output: ValueCodec<O & H> | undefined
  readonly failure: ValueCodec<F> | undefined
}

/** How the tool is described to clients. */
export interface Options {
  /** For the model: what the tool does and when to use it. */
  readonly description: string
  /** The name to show in a user interface. */
  readonly title?: string | undefined
  /** Hints for clients, untrusted by them. */
  readonly annotations?: Model.ToolAnnotations | undefined
  readonly icons?: ReadonlyArray<Icon> | undefined
  readonly meta?: { readonly [key: string]: unknown } | undefined
}

/** Fields of a struct whose values need no services to be decoded or encoded. */
export type Fields = { readonly [name: string]: Schema.Codec<any, any> }
type AnyCodec = Schema.Codec<any, any>
type TypeOf<I> = I extends AnyCodec ? I["Type"] : I extends Fields ? Schema.Struct.Type<I> : never

/** The names that every revision allows: 1 to 128 letters, digits, underscores, hyphens and dots (spec 2025-11-25: server/tools). */
export const isName = (name: string): boolean => /^[A-Za-z0-9_.-]{1,128}$/.test(name)

/** The JSON Schema and the codec are made when they are first needed, so a server starts without them. */
const valueCodec = <A>(schema: Schema.Codec<A, any>, jsonSchema: () => JsonSchema.JsonObject): ValueCodec<A> => {
  const parser = () => {
    const codec = JsonSchema.codec(schema)
    return {
      decode: Schema.decodeUnknownEffect(codec),
      // Slower: only error messages need all issues.
      explain: Schema.decodeUnknownEffect(codec, { errors: "all" }),
      encode: Schema.encodeEffect(codec)
    }
  }
  let made: ReturnType<typeof parser> | undefined
  const invalid = (error: { readonly message: string }) => new InvalidValue({ message: issue(error) })
  return {
    get jsonSchema() {
      return jsonSchema()
    },
    decode: (wire) => {
      const { decode, explain } = (made ??= parser())
      return Effect.catchEager(decode(wire), () => Effect.mapError(explain(wire), invalid))
    },
    encode: (value) => Effect.mapErrorEager((made ??= parser()).encode(value), invalid)
  }
}

const isCodec = (fields: unknown): fields is AnyCodec => Schema.isSchema(fields)

/** The schema of one side of a tool. Throws `InvalidToolSchema` for a value that the types do not allow, as JavaScript may give. */
const schemaOf = (where: string, fields: Fields | AnyCodec): AnyCodec => {
  if (isCodec(fields)) return fields
  const wrong =
    isJsonObject(fields) && !isStandard(fields) ? Object.entries(fields).find(([, field]) => !isCodec(field)) : []
  if (wrong === undefined) return Schema.Struct(fields)
  const [field] = wrong
  const given: unknown = field === undefined ? fields : wrong[1]
  const expected =
    field === undefined ? "an Effect Schema or a record of them" : "an Effect Schema such as Schema.String"
  throw new JsonSchema.InvalidToolSchema({
    where: field === undefined ? where : `${where}, field ${JSON.stringify(field)}`,
    reason: `${kindOf(given)} is given, but ${expected} is expected. For a JSON Schema there is Tool.raw`
  })
}

/** Whether it is a schema of another library (https://standardschema.dev). */
const isStandard = (u: unknown): u is { readonly "~standard": unknown } =>
  ((typeof u === "object" && u !== null) || typeof u === "function") && "~standard" in u

const kindOf = (given: unknown): string => {
  if (isStandard(given)) {
    const { vendor }: { readonly vendor?: unknown } = isJsonObject(given["~standard"]) ? given["~standard"] : {}
    return `A Standard Schema${typeof vendor === "string" ? ` of ${vendor}` : ""}`
  }
  if (Array.isArray(given)) return "An array"
  return given === null ? "null" : given === undefined ? "undefined" : `A value of type ${typeof given}`
}

/** Adds the tool and the side to the error about a schema that cannot be advertised. */
const named =
  <S, A>(where: string, make: (schema: S) => A) =>
  (schema: S): A => {
    try {
      return make(schema)
    } catch (cause) {
      if (!(cause instanceof JsonSchema.InvalidToolSchema)) throw cause
      throw new JsonSchema.InvalidToolSchema({ where, reason: cause.reason })
    }
  }

/**
 * Describes a tool. `input` and `output` are fields of a struct, or schemas. Without `input` the tool takes no arguments; without `output`
 * its handler returns content. `failure` is the schema of a failure that clients with the same Tool value receive typed.
 *
 * Throws for a name outside of `A-Z a-z 0-9 _ . -`, a schema that JSON Schema cannot express, and a broken rule of `x-mcp-header`.
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
 * console.log(JSON.stringify(Forecast.descriptor.inputSchema["required"])) // => ["city"]
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
  undefined extends O ? Output : TypeOf<O>
> => {
  const side = (which: string): string => `The ${which} of the tool ${JSON.stringify(name)}`
  const input = schemaOf(side("input"), options.input ?? {})
  const output = options.output === undefined ? undefined : schemaOf(side("output"), options.output)
  const failure = options.failure === undefined ? undefined : schemaOf(side("failure"), options.failure)
  return build(
    name,
    options,
    valueCodec(
      input,
      JsonSchema.later(
        input,
        named(side("input"), (input) => checked(name, JsonSchema.input(input)))
      )
    ),
    output === undefined
      ? undefined
      : valueCodec(
          output,
          JsonSchema.later(
            output,
            named(side("output"), (output) => JsonSchema.output(output).schema)
          )
        ),
    failure === undefined
      ? undefined
      : valueCodec(failure, JsonSchema.later(failure, named(side("failure"), JsonSchema.fromSchema)))
  )
}

type JsonRecord = { readonly [key: string]: unknown }

const rawCodec = (jsonSchema: JsonSchema.JsonObject): ValueCodec<JsonRecord> => {
  const validate = Result.getOrThrow(JsonSchemaValidator.compile(jsonSchema))
  const check = (value: unknown): Effect.Effect<JsonRecord, InvalidValue> => {
    const [error] = validate(value)
    return error === undefined
      ? Effect.succeed(value as JsonRecord) // the schema's root says that it is an object
      : Effect.fail(new InvalidValue({ message: `${error.path}: ${error.message}` }))
  }
  return { jsonSchema, decode: check, encode: check }
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
  JsonRecord,
  undefined extends O ? Model.CallToolResult : JsonRecord,
  never,
  undefined extends O ? Output : JsonRecord
> =>
  build(
    name,
    options,
    rawCodec(checked(name, options.inputSchema)),
    options.outputSchema === undefined ? undefined : rawCodec(options.outputSchema),
    undefined
  )

/** Throws where a rule of `x-mcp-header` is broken. */
const checked = (name: string, inputSchema: JsonSchema.JsonObject): JsonSchema.JsonObject => {
  const [problem] = HeaderParams.parse(inputSchema).problems
  if (problem !== undefined) throw new Error(`The input of ${name} breaks a rule of x-mcp-header: ${problem.message}`)
  return inputSchema
}

/** `make` and `raw` state the types of the tool, from the schemas that the codecs are made of. */
const build = (
  name: string,
  options: Options,
  input: ValueCodec<any>,
  output: ValueCodec<any> | undefined,
  failure: ValueCodec<any> | undefined
): any => {
  if (!isName(name)) throw new Error(`A tool's name is 1 to 128 of A-Z a-z 0-9 _ . - : ${JSON.stringify(name)}`)
  const { description, title, annotations, icons, meta } = options
  let inputSchema: Model.Tool["inputSchema"] | undefined
  const descriptor = {
    name,
    description,
    ...(title === undefined ? undefined : { title }),
    ...(annotations === undefined ? undefined : { annotations }),
    ...(icons === undefined ? undefined : { icons: Validate.icons(`Tool ${name}`, icons) }),
    ...(meta === undefined ? undefined : { _meta: meta }),
    get inputSchema() {
      return (inputSchema ??= { ...input.jsonSchema, type: "object" })
    }
  }
  if (output !== undefined) {
    Object.defineProperty(descriptor, "outputSchema", { enumerable: true, get: () => output.jsonSchema })
  }
  return { name, input, output, failure, descriptor }
}
