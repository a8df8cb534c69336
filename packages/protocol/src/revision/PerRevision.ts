/**
 * One canonical codec per revision, which decodes and encodes that revision's wire format.
 *
 * Decoding is the canonical check in every revision. Encoding applies the rows in `Downgrade`, or the rows in `Removed` for newer
 * revisions. Revisions that encode values the same way share a codec.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import * as SchemaIssue from "effect/SchemaIssue"
import { lazy } from "../internal/lazy.ts"
import * as SchemaBypass from "../internal/SchemaBypass.ts"
import { verbatim } from "../model/Shape.ts"
import type { OlderVersion, Version } from "./types.ts"
import { removed } from "./Removed.ts"
import { compile, type Rewrite, type RewriteRow } from "./Rewrite.ts"

type Older<T> = { readonly [V in OlderVersion]: Schema.Codec<T, unknown> }

/** The codecs for all revisions, created by `perRevision`. */
export interface PerRevision<T> {
  readonly newest: () => Schema.Codec<T, unknown>
  /** Takes the `Downgrade` table, which a client only loads with its first session. */
  readonly older: (table: ReadonlyArray<RewriteRow>) => Older<T>
}

/** Returns the codec for one revision. */
export type Select = <T>(codecs: PerRevision<T>) => Schema.Codec<T, unknown>

const rewritten = <T>(codec: Schema.Codec<T>, version: Version, rewrite: Rewrite): Schema.Codec<T, unknown> => {
  const whole = Schema.Unknown.pipe(
    Schema.decodeTo(codec, {
      // The canonical check that follows makes the type true.
      decode: SchemaGetter.passthrough<T, unknown>({ strict: false }),
      encode: SchemaGetter.transformEffect((value: T, options) => {
        const refusals: Array<string> = []
        const out = rewrite(value, (what) => void refusals.push(what))
        const [first] = refusals
        return first === undefined
          ? Effect.succeed(out)
          : Effect.fail(
              new SchemaIssue.InvalidValue({ message: `MCP ${version} cannot express ${first}` }, value, options)
            )
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

/** Returns the codecs of a canonical schema. They are created when the first of them is needed. */
export const perRevision = <T>(schema: Schema.Codec<T>): PerRevision<T> => {
  const canonical = lazy(() => verbatim(schema))
  let made: Older<T> | undefined
  return {
    newest: lazy(() => {
      const compiled = compile(schema.ast, removed)
      return compiled === undefined ? canonical() : rewritten(canonical(), "2026-07-28", compiled.rewrite)
    }),
    older: (table) => (made ??= makeOlder(schema, canonical(), table))
  }
}

/** Selects the newest revision's codec. */
export const newest: Select = ({ newest }) => newest()

/** Returns the newest revision's codec, created on first use. */
export const lazyCodec = <T>({ newest }: PerRevision<T>): Schema.Codec<T, unknown> => {
  const bypass = lazy(() => SchemaBypass.of(newest()))
  return SchemaBypass.attach(
    Schema.suspend(() => newest()),
    { decode: (wire) => bypass().decode(wire), encode: (value) => bypass().encode(value) }
  )
}

const makeOlder = <T>(
  schema: Schema.Codec<T>,
  canonical: Schema.Codec<T>,
  table: ReadonlyArray<RewriteRow>
): Older<T> => {
  let [codec, rows]: [Schema.Codec<T, unknown>, number] = [canonical, 0]
  // The number of applicable rows only grows towards older revisions, so equal numbers mean the same rows.
  const older = (version: OlderVersion): Schema.Codec<T, unknown> => {
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
  return {
    "2025-11-25": older("2025-11-25"),
    "2025-06-18": older("2025-06-18"),
    "2025-03-26": older("2025-03-26"),
    "2024-11-05": older("2024-11-05")
  }
}
