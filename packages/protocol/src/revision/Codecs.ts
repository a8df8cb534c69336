/**
 * The codecs of a revision as functions, compiled once: server and client call them for every message.
 *
 * A failure is a sentence about the value; the caller decides which error of the wire it becomes.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { excerpt } from "../Excerpt.ts"
import { lazy } from "../internal/lazy.ts"
import * as SchemaBypass from "../internal/SchemaBypass.ts"
import type { MethodCodec } from "./Revision.ts"

/** Decodes and encodes the params or the result of one method. The failure is a sentence. */
export interface Coder<A> {
  readonly decode: (wire: unknown) => Effect.Effect<A, string>
  readonly encode: (value: A) => Effect.Effect<unknown, string>
}

/** The coders of one method. */
export interface Coders<P, R> {
  readonly params: Coder<P>
  readonly result: Coder<R>
}

/** The message of a schema's error on one line, at most 1000 characters: each issue with its place, separated by semicolons. */
export const issue = (error: { readonly message: string }): string =>
  excerpt(error.message.replaceAll("\n  at ", " at ").replaceAll("\n", "; "), 1000)

const make = <A>(schema: Schema.Codec<A, unknown>): Coder<A> => {
  const bypass = SchemaBypass.of(schema)
  // Only a wrong value needs the Schema.
  const bySchema = lazy(() => ({ decode: Schema.decodeUnknownEffect(schema), encode: Schema.encodeEffect(schema) }))
  return {
    decode: (wire) => {
      const value = bypass.decode(wire)
      // A property test shows that the bypass gives what the codec gives.
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

/** The compiled form of each codec: revisions share codecs by reference. */
const compiled = new WeakMap<object, unknown>()
const once = <A extends object>(key: object, build: () => A): A => {
  const known = compiled.get(key)
  if (known !== undefined) return known as A // only `build` of this very key put it there
  const made = build()
  compiled.set(key, made)
  return made
}

/** The compiled coder of a codec; the same codec gives the same coder. */
export const coder = <A>(schema: Schema.Codec<A, unknown>): Coder<A> => once(schema, () => make(schema))
/** The compiled coders of a method; the same codec gives the same coders. */
export const coders = <P, R>(codec: MethodCodec<P, R>): Coders<P, R> =>
  once(codec, () => ({ params: coder(codec.params), result: coder(codec.result) }))
