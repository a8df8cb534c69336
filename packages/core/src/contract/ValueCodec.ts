/** A value on the wire and its Schema: what tools, prompts and extensions declare of their params and results. */
import { issue } from "@effect-mcp/protocol/Codecs"
import * as PlainCopy from "@effect-mcp/protocol/internal/PlainCopy"
import { InvalidToolSchema } from "@effect-mcp/protocol/internal/InvalidToolSchema"
import { isPlainStruct } from "@effect-mcp/protocol/internal/PlainSchema"
import { withoutStack } from "@effect-mcp/protocol/internal/stack"
import { wireSchema } from "@effect-mcp/protocol/internal/WireSchema"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"

/** A value does not fit its schema; `message` says where and why. */
export class InvalidValue extends Data.TaggedError("InvalidValue")<{ readonly message: string }> {}

/** The error of a schema as one of the value. */
export const invalidValue = (error: { readonly message: string }): InvalidValue =>
  withoutStack(() => new InvalidValue({ message: issue(error) }))

/** One value of a contract (the input of a tool, the params of a method) as it is on the wire. */
export interface ValueCodec<A> {
  /** The Effect Schema that it is made of, of which a server makes its JSON Schema. */
  readonly schema?: AnyCodec | undefined
  readonly decode: (wire: unknown) => Effect.Effect<A, InvalidValue>
  readonly encode: (value: A) => Effect.Effect<unknown, InvalidValue>
}

/** A codec and the JSON Schema that agrees with it. */
export interface DescribedCodec<A> extends ValueCodec<A> {
  readonly jsonSchema: JsonObject
}

/** Any codec, by what its JSON Schema is made of. */
export interface AnyValueCodec {
  readonly schema?: Schema.Constraint | undefined
  readonly jsonSchema?: JsonObject | undefined
}

/** Fields of a struct whose values need no services to be decoded or encoded. */
export type Fields = { readonly [name: string]: Schema.Codec<any, any> }
export type AnyCodec = Schema.Codec<any, any>
export type TypeOf<I> = I extends AnyCodec ? I["Type"] : I extends Fields ? Schema.Struct.Type<I> : never

/** A schema that is known to need no services: the types of the caller refuse any other. */
export const withoutServices = (schema: Schema.Top): Schema.Codec<unknown, unknown> =>
  // Services are in the type of a schema alone.
  schema as Schema.Codec<any, any>

const plain = new WeakMap<object, boolean>()

/** A plain schema has none of the annotations that send an argument in a header, too. */
export const isPlain = ({ schema }: AnyValueCodec): boolean => {
  if (schema === undefined) return false
  const found = plain.get(schema) ?? isPlainStruct(schema.ast)
  plain.set(schema, found)
  return found
}

const notPlain: PlainCopy.Copy = () => PlainCopy.none

/** The parser is made when it is first needed, so a server starts without it. */
export const valueCodec = <A>(schema: Schema.Codec<A, any>): ValueCodec<A> => {
  const parser = () => {
    const codec = wireSchema(schema)
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
  throw new InvalidToolSchema({
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
