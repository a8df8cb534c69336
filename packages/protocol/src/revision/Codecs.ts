/**
 * A revision's codecs as functions. They are compiled once, because servers and clients call them for every message.
 *
 * Failures are sentences that describe the value; the caller decides which protocol error to send.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { excerpt } from "../Excerpt.ts"
import { lazy } from "../internal/lazy.ts"
import * as SchemaBypass from "../internal/SchemaBypass.ts"
import type { MethodCodec } from "./Revision.ts"

/** Decodes and encodes a method's params or result. The error is a sentence. */
export interface Coder<A> {
  readonly decode: (wire: unknown) => Effect.Effect<A, string>
  readonly encode: (value: A) => Effect.Effect<unknown, string>
}

/** The coders for one method. */
export interface Coders<P, R> {
  readonly params: Coder<P>
  readonly result: Coder<R>
}

/** Formats a schema error on one line, at most 1000 characters: every issue with its path, separated by semicolons. */
export const issue = (error: { readonly message: string }): string =>
  excerpt(error.message.replaceAll("\n  at ", " at ").replaceAll("\n", "; "), 1000)

const make = <A>(schema: Schema.Codec<A, unknown>): Coder<A> => {
  const bypass = SchemaBypass.of(schema)
  // The Schema is only needed for invalid values.
  const bySchema = lazy(() => ({ decode: Schema.decodeUnknownEffect(schema), encode: Schema.encodeEffect(schema) }))
  return {
    decode: (wire) => {
      const value = bypass.decode(wire)
      // A property test shows that the bypass returns the same value as the codec.
      return value === SchemaBypass.none
        ? Effect.mapErrorEager(bySchema().decode(wire), issue)
        : Effect.succeed(value as A)
    },
    encode: (value) => {
      const wire = bypass.encode(value)
      return wire === SchemaBypass.none ? Effect.mapErrorEager(bySchema().encode(value), issue) : Effect.succeed(wire)
    }
  }
}

/** Compiled form of each codec. Revisions share codecs by reference. `memoize` would lose the codec's types. */
const compiled = new WeakMap<object, unknown>()
const once = <A extends object>(key: object, build: () => A): A => {
  const known = compiled.get(key)
  if (known !== undefined) return known as A // only `build` for the same key stores values here
  const made = build()
  compiled.set(key, made)
  return made
}

/** Compiles a codec. Returns the same coder for the same codec. */
export const coder = <A>(schema: Schema.Codec<A, unknown>): Coder<A> => once(schema, () => make(schema))
/** Compiles a method's codecs. Returns the same coders for the same codecs. */
export const coders = <P, R>(codec: MethodCodec<P, R>): Coders<P, R> =>
  once(codec, () => ({ params: coder(codec.params), result: coder(codec.result) }))
