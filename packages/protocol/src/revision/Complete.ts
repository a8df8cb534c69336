/**
 * Complete results as the stateless era writes them: with `resultType`, and with caching hints where they are cacheable.
 *
 * The canonical result has no `resultType`, and needs no hints.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import * as SchemaIssue from "effect/SchemaIssue"
import { excerpt } from "../Excerpt.ts"
import * as SchemaBypass from "../internal/SchemaBypass.ts"
import { isJsonObject } from "../model/Shape.ts"
import * as ResultType from "../model/ResultType.ts"

const wrap = <R>(codec: Schema.Codec<R, unknown>, write: (wire: unknown) => unknown): Schema.Codec<R, unknown> => {
  const whole = Schema.Unknown.pipe(
    Schema.decodeTo(codec, {
      decode: SchemaGetter.transformEffect((wire: unknown, options) => {
        const type = ResultType.of(wire)
        if (type === "complete") return Effect.succeed(ResultType.unmarked(wire))
        const message = `${excerpt(JSON.stringify(type))} is not a known type of result`
        return Effect.fail(new SchemaIssue.InvalidValue({ message }, wire, options))
      }),
      encode: SchemaGetter.transform(write)
    })
  )
  const { decode, encode } = SchemaBypass.of(codec)
  return SchemaBypass.attach(whole, {
    decode: (wire) => (ResultType.of(wire) === "complete" ? decode(ResultType.unmarked(wire)) : SchemaBypass.none),
    encode: (value) => {
      const wire = encode(value)
      return wire === SchemaBypass.none ? SchemaBypass.none : write(wire)
    }
  })
}

/** Milliseconds as the wire has them: a whole number, not below 0. */
const whole = (ttlMs: unknown): number =>
  typeof ttlMs === "number" ? Math.min(Math.max(Math.trunc(ttlMs), 0), Number.MAX_SAFE_INTEGER) : 0

const hinted = (wire: unknown): unknown =>
  isJsonObject(wire)
    ? ResultType.complete({ cacheScope: "private", ...wire, ttlMs: whole(wire["ttlMs"]) })
    : ResultType.complete(wire)

/** A result that is final. Any other type of result is refused. */
export const complete = <R>(codec: Schema.Codec<R, unknown>): Schema.Codec<R, unknown> =>
  wrap(codec, ResultType.complete)

/** A final result that may be cached: without hints of its own it is stale at once and private. */
export const cacheable = <R>(codec: Schema.Codec<R, unknown>): Schema.Codec<R, unknown> => wrap(codec, hinted)
