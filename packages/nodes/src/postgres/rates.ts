/** What callers have used of rate limits, in a table of Postgres that a crash may empty: buckets are full then. */
import type { RateLimitStore } from "@effect-mcp/server/RateLimitStore"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { bucketKey } from "../events/bucketKey.ts"
import type { RunStatement } from "./stores.ts"

/** How often buckets that are full again are removed, in milliseconds. */
const swept = 60_000

const now = "clock_timestamp()"
/** Seconds since a row was written; a clock that was set back gives none. */
const elapsed = `greatest(0, extract(epoch FROM ${now} - mcp_rate.at))`

// Rows of nodes that settle at once are locked in one order.
const settled = `INSERT INTO mcp_rate (bucket, tokens, rate, at)
  SELECT bucket, 2 * rate - used, rate, ${now}
  FROM jsonb_to_recordset(CAST(CAST($1 AS text) AS jsonb))
    AS uses (bucket text, used double precision, rate double precision) ORDER BY bucket
  ON CONFLICT (bucket) DO UPDATE SET at = ${now}, rate = EXCLUDED.rate, tokens = EXCLUDED.tokens - 2 * EXCLUDED.rate
    + least(2 * EXCLUDED.rate, mcp_rate.tokens + EXCLUDED.rate * ${elapsed})
  RETURNING bucket, tokens`

/** Sweeps until the scope closes. */
export const ratesIn = (run: RunStatement): Effect.Effect<RateLimitStore["Service"], never, Scope.Scope> => {
  const sweep = run(`DELETE FROM mcp_rate WHERE tokens + rate * ${elapsed} >= 2 * rate`, [])
  const store: RateLimitStore["Service"] = {
    settle: (uses) => {
      const rows = uses.map(({ bucket, perSecond, used }) => ({ bucket: bucketKey(bucket), used, rate: perSecond }))
      const written = run<{ readonly bucket: string; readonly tokens: number }>(settled, [JSON.stringify(rows)])
      return Effect.map(written, (written) => {
        const left = new Map(written.map(({ bucket, tokens }) => [bucket, tokens]))
        return rows.map(({ bucket, rate }) => left.get(bucket) ?? 2 * rate)
      })
    }
  }
  return Effect.as(Effect.forkScoped(Effect.forever(Effect.delay(Effect.ignore(sweep), swept))), store)
}
