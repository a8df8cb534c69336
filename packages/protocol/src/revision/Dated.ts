/**
 * One canonical codec, dated: the same codec as each revision writes it.
 *
 * Reading is the canonical check in every revision; writing goes through the rows of the downgrade table, or in newer revisions
 * of its mirror. Revisions that do not differ share one codec.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import * as SchemaIssue from "effect/SchemaIssue"
import * as Direct from "../internal/Direct.ts"
import { verbatim } from "../model/Shape.ts"
import type { Version } from "./types.ts"
import { table } from "./Downgrade.ts"
import { removed } from "./Removed.ts"
import { compile, type Rewrite } from "./Rewrite.ts"

export type Dated<T> = { readonly [V in Version]: Schema.Codec<T, unknown> }

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
  const { decode, encode } = Direct.of(codec)
  return Direct.attach(whole, {
    decode,
    encode: (value) => {
      const checked = encode(value)
      if (checked === Direct.none) return Direct.none
      let refused = false
      const out = rewrite(checked, () => void (refused = true))
      return refused ? Direct.none : out
    }
  })
}

/** Made when the first of its codecs is needed: one process speaks hardly any of all messages, and a start should not wait for them. */
export const dated = <T>(schema: Schema.Codec<T>): Dated<T> => {
  let made: Dated<T> | undefined
  const of = (version: Version): Schema.Codec<T, unknown> => (made ??= makeDated(schema))[version]
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

/** One of them as a codec that is made when it is needed. */
export const late = <T>(codecs: Dated<T>, version: Version): Schema.Codec<T, unknown> => {
  let made: Direct.Direct | undefined
  const direct = (): Direct.Direct => (made ??= Direct.of(codecs[version]))
  return Direct.attach(
    Schema.suspend(() => codecs[version]),
    { decode: (wire) => direct().decode(wire), encode: (value) => direct().encode(value) }
  )
}

const makeDated = <T>(schema: Schema.Codec<T>): Dated<T> => {
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
