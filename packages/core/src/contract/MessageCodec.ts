/** The codecs of what an extension sends: settings and filters, and the params and results of messages, which may have a `_meta`. */
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as SchemaAST from "effect/SchemaAST"
import { type AnyCodec, type Fields, schemaOf, type ValueCodec, valueCodec } from "./ValueCodec.ts"

/** Fields of a struct, or a schema. */
export type Shape = Fields | AnyCodec

/** The codec of a value; without a shape it is an empty object. */
export const codecOf = (where: string, shape: Shape = {}): ValueCodec<any> => valueCodec(schemaOf(where, shape))

/** Whether the schema of an object has a field. */
const hasField = (schema: AnyCodec, field: string): boolean => {
  const encoded = SchemaAST.toEncoded(schema.ast)
  return SchemaAST.isObjects(encoded) && encoded.propertySignatures.some(({ name }) => name === field)
}

/**
 * The codec of params or of a result. Every message may have a `_meta`, which is no part of the value: a shape sees it only where it has a
 * field of that name.
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
