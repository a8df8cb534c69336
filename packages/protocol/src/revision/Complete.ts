/**
 * Complete results in the stateless era (2026-07-28). They have a `resultType` and, if they are cacheable, caching hints.
 *
 * The canonical result has no `resultType`, and its hints are optional.
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
        const message = `${excerpt(JSON.stringify(type))} is not a known result type`
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

/** Converts `ttlMs` to whole milliseconds, at least 0. */
const whole = (ttlMs: unknown): number =>
  typeof ttlMs === "number" ? Math.min(Math.max(Math.trunc(ttlMs), 0), Number.MAX_SAFE_INTEGER) : 0

const hinted = (wire: unknown): unknown =>
  isJsonObject(wire)
    ? ResultType.complete({ cacheScope: "private", ...wire, ttlMs: whole(wire["ttlMs"]) })
    : ResultType.complete(wire)

/** Wraps the codec of a complete result. Decoding rejects any other result type. */
export const complete = <R>(codec: Schema.Codec<R, unknown>): Schema.Codec<R, unknown> =>
  wrap(codec, ResultType.complete)

/** Wraps the codec of a cacheable result. A result without hints is encoded as private and immediately stale. */
export const cacheable = <R>(codec: Schema.Codec<R, unknown>): Schema.Codec<R, unknown> => wrap(codec, hinted)
