/**
 * A revision's codecs as functions, compiled once: what server and client call for every message.
 *
 * Failures are issues in words; which wire error they become is the caller's matter.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { excerpt } from "../Excerpt.ts"
import { lazy } from "../internal/lazy.ts"
import * as SchemaBypass from "../internal/SchemaBypass.ts"
import type { MethodCodec } from "./Revision.ts"

/** One method's params or result, both ways. The failure is a sentence. */
export interface Coder<A> {
  readonly decode: (wire: unknown) => Effect.Effect<A, string>
  readonly encode: (value: A) => Effect.Effect<unknown, string>
}

export interface Coders<P, R> {
  readonly params: Coder<P>
  readonly result: Coder<R>
}

/** The message of a schema's error on one line, at most 1000 characters: each issue with its place, separated by semicolons. */
export const issue = (error: { readonly message: string }): string =>
  excerpt(error.message.replaceAll("\n  at ", " at ").replaceAll("\n", "; "), 1000)

const make = <A>(schema: Schema.Codec<A, unknown>): Coder<A> => {
  const bypass = SchemaBypass.of(schema)
  // Compiled when a value needs it: most never do.
  const bySchema = lazy(() => ({ decode: Schema.decodeUnknownEffect(schema), encode: Schema.encodeEffect(schema) }))
  return {
    decode: (wire) => {
      const value = bypass.decode(wire)
      // The codec's own fast path gives what the codec gives.
      return value === SchemaBypass.none ? Effect.mapError(bySchema().decode(wire), issue) : Effect.succeed(value as A)
    },
    encode: (value) => {
      const wire = bypass.encode(value)
      return wire === SchemaBypass.none ? Effect.mapError(bySchema().encode(value), issue) : Effect.succeed(wire)
    }
  }
}

/** The codecs of a table, shared by reference between revisions, are compiled once each. */
const compiled = new WeakMap<object, unknown>()
const once = <A extends object>(key: object, build: () => A): A => {
  const known = compiled.get(key)
  if (known !== undefined) return known as A // only `build` of this very key put it there
  const made = build()
  compiled.set(key, made)
  return made
}

export const coder = <A>(schema: Schema.Codec<A, unknown>): Coder<A> => once(schema, () => make(schema))
export const coders = <P, R>(codec: MethodCodec<P, R>): Coders<P, R> =>
  once(codec, () => ({ params: coder(codec.params), result: coder(codec.result) }))
