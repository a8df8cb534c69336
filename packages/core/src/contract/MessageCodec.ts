/** Codecs for extension messages: settings and filters, as well as params and results, which may have a `_meta` field. */
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as SchemaAST from "effect/SchemaAST"
import { type AnyCodec, type Fields, schemaOf, type ValueCodec, valueCodec } from "./ValueCodec.ts"

/** Struct fields or a schema. */
export type Shape = Fields | AnyCodec

/** Returns a codec for a value. If no shape is given, the value is an empty object. */
export const codecOf = (where: string, shape: Shape = {}): ValueCodec<any> => valueCodec(schemaOf(where, shape))

/** True if an object schema has this field. */
const hasField = (schema: AnyCodec, field: string): boolean => {
  const encoded = SchemaAST.toEncoded(schema.ast)
  return SchemaAST.isObjects(encoded) && encoded.propertySignatures.some(({ name }) => name === field)
}

/**
 * Returns a codec for params or a result. Any message may have a `_meta` field, but it is not part of the value unless the shape has a
 * field with that name.
 */
export const messageOf = (where: string, shape: Shape = {}): ValueCodec<any> => {
  const schema = schemaOf(where, shape)
  const codec = valueCodec(schema)
  let seesMeta: boolean | undefined
  return {
    ...codec,
    decode: (wire) => {
      if (!isJsonObject(wire) || !Object.hasOwn(wire, "_meta")) return codec.decode(wire)
      const { _meta, ...rest } = wire
      seesMeta ??= hasField(schema, "_meta")
      return codec.decode(seesMeta ? wire : rest)
    }
  }
}
