/**
 * Plain functions that decode and encode valid values without their Schema. This is the fast path of `Codecs`.
 *
 * For an unknown or invalid value the function returns `none`, and the Schema decides and reports the problem. A property test compares the
 * two.
 */
import type * as Schema from "effect/Schema"

/** Returned if the Schema has to decide. */
export const none: unique symbol = Symbol("@effect-mcp/protocol/SchemaBypass/none")

/** Both directions of a codec. Each function returns its result or `none`. */
interface Bypass {
  readonly decode: (wire: unknown) => unknown
  readonly encode: (value: unknown) => unknown
}

/** Keyed by codec, because an annotation would change the schema and create a copy. */
const attached = new WeakMap<Schema.Constraint, Bypass>()

/** Attaches a bypass to a codec and returns the codec. */
export const attach = <S extends Schema.Constraint>(codec: S, bypass: Bypass): S => {
  attached.set(codec, bypass)
  return codec
}

const nothing = (): unknown => none
const plain: Bypass = { decode: nothing, encode: nothing }

/** Returns a codec's bypass, or a bypass that always returns `none` if the codec has no bypass. */
export const of = (codec: Schema.Constraint): Bypass => attached.get(codec) ?? plain
