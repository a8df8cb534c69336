/**
 * Plain functions that decode and encode a right value past its Schema: the fast path of `Codecs`.
 *
 * A value that is unknown or wrong gives `none`, and the Schema decides and says what is wrong. A property test compares both.
 */
import type * as Schema from "effect/Schema"

/** No result: the Schema has to decide. */
export const none: unique symbol = Symbol("@effect-mcp/protocol/SchemaBypass/none")

/** Both directions of a codec; each gives its result, or `none`. */
export interface Bypass {
  readonly decode: (wire: unknown) => unknown
  readonly encode: (value: unknown) => unknown
}

const attached = new WeakMap<Schema.Constraint, Bypass>()

/** Attaches a bypass to a codec and gives the codec back. */
export const attach = <S extends Schema.Constraint>(codec: S, bypass: Bypass): S => {
  attached.set(codec, bypass)
  return codec
}

const nothing = (): unknown => none
const plain: Bypass = { decode: nothing, encode: nothing }

/** The bypass of a codec; where none is attached, one that always gives `none`. */
export const of = (codec: Schema.Constraint): Bypass => attached.get(codec) ?? plain
