/**
 * One canonical codec per revision: what each dated wire format reads and writes.
 *
 * Reading is the canonical check in every revision. Writing goes through the rows of `Downgrade`, in newer revisions through those of
 * `Removed`. Revisions that write alike share one codec.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import * as SchemaIssue from "effect/SchemaIssue"
import { lazy } from "../internal/lazy.ts"
import * as SchemaBypass from "../internal/SchemaBypass.ts"
import { verbatim } from "../model/Shape.ts"
import type { Version } from "./types.ts"
import { table } from "./Downgrade.ts"
import { removed } from "./Removed.ts"
import { compile, type Rewrite } from "./Rewrite.ts"

/** A codec for every revision; `perRevision` makes it. */
export type PerRevision<T> = { readonly [V in Version]: Schema.Codec<T, unknown> }

const rewritten = <T>(codec: Schema.Codec<T>, version: Version, rewrite: Rewrite): Schema.Codec<T, unknown> => {
  const whole = Schema.Unknown.pipe(
    Schema.decodeTo(codec, {
      // The canonical check right after it makes the type true.
      decode: SchemaGetter.passthrough<T, unknown>({ strict: false }),
      encode: SchemaGetter.transformEffect((value: T, options) => {
        const refusals: Array<string> = []
        const out = rewrite(value, (what) => void refusals.push(what))
        const [first] = refusals
        return first === undefined
          ? Effect.succeed(out)
          : Effect.fail(new SchemaIssue.InvalidValue({ message: `MCP ${version} cannot say ${first}` }, value, options))
      })
    })
  )
  const { decode, encode } = SchemaBypass.of(codec)
  return SchemaBypass.attach(whole, {
    decode,
    encode: (value) => {
      const checked = encode(value)
      if (checked === SchemaBypass.none) return SchemaBypass.none
      let refused = false
      const out = rewrite(checked, () => void (refused = true))
      return refused ? SchemaBypass.none : out
    }
  })
}

/** The codecs of a canonical schema, made together when the first is needed. */
export const perRevision = <T>(schema: Schema.Codec<T>): PerRevision<T> => {
  const made = lazy(() => makePerRevision(schema))
  const of = (version: Version): Schema.Codec<T, unknown> => made()[version]
  return {
    get "2026-07-28"() {
      return of("2026-07-28")
    },
    get "2025-11-25"() {
      return of("2025-11-25")
    },
    get "2025-06-18"() {
      return of("2025-06-18")
    },
    get "2025-03-26"() {
      return of("2025-03-26")
    },
    get "2024-11-05"() {
      return of("2024-11-05")
    }
  }
}

/** The codec of one revision, made when a value needs it. */
export const lazyCodec = <T>(codecs: PerRevision<T>, version: Version): Schema.Codec<T, unknown> => {
  const bypass = lazy(() => SchemaBypass.of(codecs[version]))
  return SchemaBypass.attach(
    Schema.suspend(() => codecs[version]),
    { decode: (wire) => bypass().decode(wire), encode: (value) => bypass().encode(value) }
  )
}

const makePerRevision = <T>(schema: Schema.Codec<T>): PerRevision<T> => {
  const canonical = verbatim(schema)
  let [codec, rows]: [Schema.Codec<T, unknown>, number] = [canonical, 0]
  // From newer to older the rows that apply only grow in number: as many rows means the same rows.
  const older = (version: Version): Schema.Codec<T, unknown> => {
    const compiled = compile(
      schema.ast,
      table.filter((row) => version < row.since)
    )
    if (compiled !== undefined && compiled.rows.size !== rows) {
      codec = rewritten(canonical, version, compiled.rewrite)
      rows = compiled.rows.size
    }
    return codec
  }
  const newest = compile(schema.ast, removed)
  return {
    "2026-07-28": newest === undefined ? canonical : rewritten(canonical, "2026-07-28", newest.rewrite),
    "2025-11-25": older("2025-11-25"),
    "2025-06-18": older("2025-06-18"),
    "2025-03-26": older("2025-03-26"),
    "2024-11-05": older("2024-11-05")
  }
}
