/**
 * What a codec does with a value that is right, as a plain function: the fast path of `Codecs`, beside the Schema that it belongs to.
 *
 * A value that it does not know, or that is wrong, it gives back to the Schema, which alone has words for what is wrong. A property
 * test holds both against each other.
 */
import type * as Schema from "effect/Schema"

/** "Ask the Schema." */
export const none: unique symbol = Symbol("@effect-mcp/protocol/Direct/none")

export interface Direct {
  readonly decode: (wire: unknown) => unknown
  readonly encode: (value: unknown) => unknown
}

const attached = new WeakMap<Schema.Constraint, Direct>()

/** Gives the codec its fast path. */
export const attach = <S extends Schema.Constraint>(codec: S, direct: Direct): S => {
  attached.set(codec, direct)
  return codec
}

const nothing = (): unknown => none
const plain: Direct = { decode: nothing, encode: nothing }

/** The fast path of a codec; one that has none asks the Schema every time. */
export const of = (codec: Schema.Constraint): Direct => attached.get(codec) ?? plain
