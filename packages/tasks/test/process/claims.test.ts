/** Processes that claim the same tasks concurrently. */
import { scaled } from "@effect-mcp/spec/Scale"
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"
import * as Postgres from "../support/postgres.ts"
import * as Sqlite from "../support/sqlite.ts"

const script = fileURLToPath(new URL("../support/claimer.ts", import.meta.url))
const tasks = scaled(120, 2000)
const processes = scaled(3, 8)

const kinds = [
  {
    kind: "sqlite",
    missing: undefined,
    place: Sqlite.file,
    open: (file: string) => Sqlite.open({ file, perOwner: tasks })
  },
  {
    kind: "postgres",
    missing: Postgres.missing,
    place: Postgres.schema,
    open: (name: string) => Postgres.open(name, { perOwner: tasks })
  }
]

const claimer = (kind: string, place: string) =>
  Effect.gen(function* () {
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => spawn(process.execPath, [script, kind, place], { stdio: "pipe" })),
      (child) => Effect.sync(() => void child.kill("SIGKILL"))
    )
    const claimed = text(child.stdout)
    yield* Effect.promise(() => once(child.stderr, "data"))
    return { begin: Effect.sync(() => child.stdin.end()), claimed: Effect.promise(() => claimed) }
  })

for (const { kind, missing, open, place } of kinds) {
  describe(`Tasks on ${kind}`, needs(missing === undefined, missing ?? ""), () => {
    it.live(
      "Concurrent processes claim each due task once",
      () =>
        Effect.gen(function* () {
          const where = yield* place
          const { journal, store } = yield* open(where)
          const task = { owner: "ada", tool: "tool", input: {}, client: {}, ttl: 3_600_000, pollInterval: 1000 }
          yield* Effect.replicateEffect(
            Effect.flatMap(store.create(task, "a"), ({ lease }) => journal.park(lease)),
            tasks
          )
          const claimers = yield* Effect.all(Array.from({ length: processes }, () => claimer(kind, where)))
          for (const { begin } of claimers) yield* begin
          const claimed = yield* Effect.forEach(claimers, (child) => child.claimed)
          const ids = claimed.flatMap((lines) => lines.split("\n").filter((line) => line !== ""))
          assert.strictEqual(new Set(ids).size, ids.length)
          assert.strictEqual(ids.length, tasks)
        }),
      300_000
    )
  })
}
