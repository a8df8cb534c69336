/** Codecs for values on the wire: how tools, prompts and extensions declare their params and results. */
import { issue } from "@effect-mcp/protocol/Codecs"
import { InvalidToolSchema, isPlainStruct, PlainCopy, wireSchema } from "@effect-mcp/protocol/internal/toolSchema"
import { withoutStack } from "@effect-mcp/protocol/internal/stack"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { memoize } from "effect/Function"
import * as Schema from "effect/Schema"

/** A value doesn't match its schema. `message` says where and why. */
export class InvalidValue extends Data.TaggedError("InvalidValue")<{ readonly message: string }> {}

/** Converts a schema error to an `InvalidValue` error. */
export const invalidValue = (error: { readonly message: string }): InvalidValue =>
  withoutStack(() => new InvalidValue({ message: issue(error) }))

/** Converts a value, such as a tool's input or a method's params, to and from its wire form. */
export interface ValueCodec<A> {
  /** The underlying Effect Schema. A server generates the JSON Schema from it. */
  readonly schema?: AnyCodec | undefined
  readonly decode: (wire: unknown) => Effect.Effect<A, InvalidValue>
  readonly encode: (value: A) => Effect.Effect<unknown, InvalidValue>
}

/** A codec with a matching JSON Schema. */
export interface DescribedCodec<A> extends ValueCodec<A> {
  readonly jsonSchema: JsonObject
}

/** The parts of a codec that are needed to generate its JSON Schema. */
export interface AnyValueCodec {
  readonly schema?: Schema.Constraint | undefined
  readonly jsonSchema?: JsonObject | undefined
}

/** Struct fields whose values can be decoded and encoded without services. */
export type Fields = { readonly [name: string]: Schema.Codec<any, any> }
export type AnyCodec = Schema.Codec<any, any>
export type TypeOf<I> = I extends AnyCodec ? I["Type"] : I extends Fields ? Schema.Struct.Type<I> : never

/** Casts a schema that is known to need no services, because its caller's types guarantee it. */
export const withoutServices = (schema: Schema.Top): Schema.Codec<unknown, unknown> =>
  // Services only exist in a schema's type.
  schema as Schema.Codec<any, any>

const isPlainSchema = memoize(({ ast }: Schema.Constraint): boolean => isPlainStruct(ast))

/** True for a plain schema. A plain schema has no annotations that copy an argument to a header. */
export const isPlain = ({ schema }: AnyValueCodec): boolean => schema !== undefined && isPlainSchema(schema)

const notPlain: PlainCopy.Copy = () => PlainCopy.none

/** Returns a codec for a schema. The parser is created on first use, so that servers start faster. */
export const valueCodec = <A>(schema: Schema.Codec<A, any>): ValueCodec<A> => {
  const parser = () => {
    const codec = wireSchema(schema)
    return {
      decode: Schema.decodeUnknownEffect(codec),
      // Slower, and only needed because error messages list all issues.
      explain: Schema.decodeUnknownEffect(codec, { errors: "all" }),
      encode: Schema.encodeEffect(codec)
    }
  }
  let made: ReturnType<typeof parser> | undefined
  let copy: PlainCopy.Copy | undefined
  /** Copies the value without the parser, if the result is known to be the same. */
  const copied = (value: unknown): Exit.Exit<A> | undefined => {
    try {
      const found = (copy ??= PlainCopy.of(schema.ast) ?? notPlain)(value)
      // A plain schema has the same type on both sides.
      return found === PlainCopy.none ? undefined : Exit.succeed(found as A) // a copy has the type of its schema
    } catch {
      // A check or getter threw. The parser turns that into a defect of its effect.
      return undefined
    }
  }
  return {
    schema,
    decode: (wire) => {
      const done = copied(wire)
      if (done !== undefined) return done
      const { decode, explain } = (made ??= parser())
      return Effect.catchEager(decode(wire), () => Effect.mapErrorEager(explain(wire), invalidValue))
    },
    encode: (value) => copied(value) ?? Effect.mapErrorEager((made ??= parser()).encode(value), invalidValue)
  }
}

const isCodec = (fields: unknown): fields is AnyCodec => Schema.isSchema(fields)

/**
 * Returns a struct schema for fields, or the schema itself. Throws `InvalidToolSchema` for any other value, which is
 * only possible in JavaScript. `otherwise` is the suggestion in the error message.
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
  throw new InvalidToolSchema({
    where: field === undefined ? where : `${where}, field ${JSON.stringify(field)}`,
    reason: `Expected ${expected}, but received ${kindOf(given)}${otherwise}`
  })
}

/** True for a schema from another library (https://standardschema.dev). */
const isStandard = (u: unknown): u is { readonly "~standard": unknown } =>
  ((typeof u === "object" && u !== null) || typeof u === "function") && "~standard" in u

const kindOf = (given: unknown): string => {
  if (isStandard(given)) {
    const { vendor }: { readonly vendor?: unknown } = isJsonObject(given["~standard"]) ? given["~standard"] : {}
    return `a Standard Schema${typeof vendor === "string" ? ` from ${vendor}` : ""}`
  }
  if (Array.isArray(given)) return "an array"
  return given === null ? "null" : given === undefined ? "undefined" : `a value of type ${typeof given}`
}
