/**
 * A process that claims tasks until there are none: `node claimer.ts sqlite|postgres PLACE`. It starts when its stdin ends, and prints the
 * id of each task that it claimed.
 */
import { Effect } from "effect"
import { text } from "node:stream/consumers"
import * as Postgres from "./postgres.ts"
import * as Sqlite from "./sqlite.ts"

const [kind, place = ""] = process.argv.slice(2)

const claims = Effect.gen(function* () {
  const { journal } = yield* kind === "postgres" ? Postgres.open(place) : Sqlite.open({ file: place })
  process.stderr.write("ready\n")
  yield* Effect.promise(() => text(process.stdin))
  // A busy file may reject a claim.
  const claim = Effect.retry(Effect.sandbox(journal.claim(journal.node, ["tool"], 20)), { times: 100 })
  while (true) {
    const claimed = yield* claim
    if (claimed.length === 0) return
    for (const { lease } of claimed) process.stdout.write(`${lease.task}\n`)
  }
})

await Effect.runPromise(Effect.scoped(claims))
