/** A value on the wire and its Schema: what tools, prompts and extensions declare of their params and results. */
import { issue } from "@effect-mcp/protocol/Codecs"
import * as PlainCopy from "@effect-mcp/protocol/internal/PlainCopy"
import { isPlainStruct } from "@effect-mcp/protocol/internal/PlainSchema"
import { withoutStack } from "@effect-mcp/protocol/internal/stack"
import * as JsonSchema from "@effect-mcp/protocol/JsonSchema"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"

/** A value does not fit its schema; `message` says where and why. */
export class InvalidValue extends Data.TaggedError("InvalidValue")<{ readonly message: string }> {}

/** The error of a schema as one of the value. */
export const invalidValue = (error: { readonly message: string }): InvalidValue =>
  withoutStack(() => new InvalidValue({ message: issue(error) }))

/** One value of a contract (the input of a tool, the params of a method): its JSON Schema and the codec that agrees with it. */
export interface ValueCodec<A> {
  readonly jsonSchema: JsonSchema.JsonObject
  readonly decode: (wire: unknown) => Effect.Effect<A, InvalidValue>
  readonly encode: (value: A) => Effect.Effect<unknown, InvalidValue>
}

/** Fields of a struct whose values need no services to be decoded or encoded. */
export type Fields = { readonly [name: string]: Schema.Codec<any, any> }
export type AnyCodec = Schema.Codec<any, any>
export type TypeOf<I> = I extends AnyCodec ? I["Type"] : I extends Fields ? Schema.Struct.Type<I> : never

/** A schema that is known to need no services: the types of the caller refuse any other. */
export const withoutServices = (schema: Schema.Top): Schema.Codec<unknown, unknown> =>
  // Services are in the type of a schema alone.
  schema as Schema.Codec<any, any>

/** The schema of a codec, until it is known whether that is plain. */
const plain = new WeakMap<object, Schema.Codec<unknown, unknown> | boolean>()

/** A plain schema has none of the annotations that send an argument in a header, too: its JSON Schema need not be made to know. */
export const isPlain = (codec: object): boolean => {
  const known = plain.get(codec)
  if (known === undefined || typeof known === "boolean") return known === true
  const found = isPlainStruct(known.ast)
  plain.set(codec, found)
  return found
}

const notPlain: PlainCopy.Copy = () => PlainCopy.none

/** The JSON Schema and the codec are made when they are first needed, so a server starts without them. */
export const valueCodec = <A>(schema: Schema.Codec<A, any>, jsonSchema: () => JsonSchema.JsonObject): ValueCodec<A> => {
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
  let copy: PlainCopy.Copy | undefined
  /** The value past the parser, where that is known to give the same. */
  const copied = (value: unknown): Exit.Exit<A> | undefined => {
    try {
      const found = (copy ??= PlainCopy.of(schema.ast) ?? notPlain)(value)
      // What a schema reads, and writes, is the same for a plain one.
      return found === PlainCopy.none ? undefined : Exit.succeed(found as A) // a copy has the type of its schema
    } catch {
      // A check or a getter of the value throws: a defect of the effect that the parser gives.
      return undefined
    }
  }
  const codec: ValueCodec<A> = {
    get jsonSchema() {
      return jsonSchema()
    },
    decode: (wire) => {
      const done = copied(wire)
      if (done !== undefined) return done
      const { decode, explain } = (made ??= parser())
      return Effect.catchEager(decode(wire), () => Effect.mapErrorEager(explain(wire), invalidValue))
    },
    encode: (value) => copied(value) ?? Effect.mapErrorEager((made ??= parser()).encode(value), invalidValue)
  }
  plain.set(codec, schema)
  return codec
}

const isCodec = (fields: unknown): fields is AnyCodec => Schema.isSchema(fields)

/**
 * The schema of fields, or the schema itself. Throws `InvalidToolSchema` for a value that the types do not allow, as JavaScript may give.
 * `otherwise` is what the error advises.
 */
export const schemaOf = (where: string, fields: Fields | AnyCodec, otherwise = ""): AnyCodec => {
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
    reason: `${kindOf(given)} is given, but ${expected} is expected${otherwise}`
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
