/** Rate limit usage by caller, in a Postgres table. If a crash empties the table, all buckets are full again. */
import type { RateLimitStore } from "@effect-mcp/server/RateLimitStore"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { bucketKey } from "../events/bucketKey.ts"
import type { RunStatement } from "./stores.ts"

/** Interval at which full buckets are removed, in milliseconds. */
const swept = 60_000

const now = "clock_timestamp()"
/** Seconds since a row was written, or 0 if the clock was set back. */
const elapsed = `greatest(0, extract(epoch FROM ${now} - mcp_rate.at))`

// Locks rows in one order, because several nodes may settle at once.
const settled = `INSERT INTO mcp_rate (bucket, tokens, rate, at)
  SELECT bucket, 2 * rate - used, rate, ${now}
  FROM jsonb_to_recordset(CAST(CAST($1 AS text) AS jsonb))
    AS uses (bucket text, used double precision, rate double precision) ORDER BY bucket
  ON CONFLICT (bucket) DO UPDATE SET at = ${now}, rate = EXCLUDED.rate, tokens = EXCLUDED.tokens - 2 * EXCLUDED.rate
    + least(2 * EXCLUDED.rate, mcp_rate.tokens + EXCLUDED.rate * ${elapsed})
  RETURNING bucket, tokens`

/** Removes full buckets until the scope closes. */
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
