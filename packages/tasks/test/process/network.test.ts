/** A network in front of Postgres that cuts, delays and drops. */
import { needs } from "@effect-mcp/spec/skip"
import { Once } from "@effect-mcp/core"
import { Tasks } from "@effect-mcp/tasks"
import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Schema } from "effect"
import { connect, serve } from "../support/client.ts"
import { tool } from "../support/tools.ts"
import { clientOf, missing, open, schema, url } from "../support/postgres.ts"
import * as Proxy from "../support/proxy.ts"
import type { Opened } from "../support/stores.ts"

const task = { owner: "ada", tool: "tool", input: {}, client: {}, ttl: 60_000, pollInterval: 1000 }
const stepOf = (key: string) => ({ _tag: "Step" as const, key, value: key })
const keys = Array.from({ length: 40 }, (_, index) => `step ${index}`)

describe("Tasks on Postgres over a bad network", needs(missing === undefined, missing ?? ""), () => {
  it.live("A task records each step once despite a bad network", () =>
    Effect.gen(function* () {
      const name = yield* schema
      const proxy = yield* Proxy.make(url)
      const { journal, store } = yield* open(name, undefined, proxy.url)
      const { lease } = yield* store.create(task, "a")
      yield* proxy.delay(5)
      let cuts = 0
      for (const [index, key] of keys.entries()) {
        // In the middle of the statement, while its answer is on the way.
        const cut = index % 4 === 0 ? Effect.delay(proxy.cut, index / 4) : Effect.succeed(0)
        const [recorded, count] = yield* Effect.all([journal.record(lease, stepOf(key)), cut], { concurrency: 2 })
        assert.deepStrictEqual(recorded, stepOf(key))
        cuts += count
      }
      assert.isAtLeast(cuts, 10)
      yield* journal.park(lease)
      const [claimed] = yield* (yield* open(name)).journal.claim("b", ["tool"], 1)
      assert.deepStrictEqual(claimed?.entries.map(({ key }) => key).toSorted(), keys.toSorted())
    }).pipe(Effect.scoped)
  )

  it.live("A node takes its lock before it runs any task", () =>
    Effect.gen(function* () {
      const name = yield* schema
      const { journal } = yield* open(name)
      const held = yield* Effect.flatMap(
        PgClient.PgClient,
        (sql) =>
          sql`SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid::bigint = (hashtext(${journal.node})::bigint & 4294967295)`
      ).pipe(Effect.provide(clientOf(name)))
      assert.strictEqual(held.length, 1)
    }).pipe(Effect.scoped)
  )

  it.live("A node that lost its database stops its task before another node continues it", () =>
    Effect.gen(function* () {
      const name = yield* schema
      const proxy = yield* Proxy.make(url)
      const events: Array<string> = []
      const began = yield* Deferred.make<void>()
      const continued = yield* Deferred.make<void>()
      const silent = yield* Deferred.make<void>()
      const node = (opened: Opened, own: string, started: Deferred.Deferred<void>) => {
        const wait = tool("wait", "required", () =>
          Effect.gen(function* () {
            events.push(`${own} began`)
            yield* Deferred.succeed(started, undefined)
            yield* Deferred.await(silent)
            // The database never says that it recorded the step.
            yield* Once.run("step", Schema.Void, Effect.void)
            return yield* Effect.never
          }).pipe(Effect.onInterrupt(() => Effect.sync(() => events.push(`${own} stopped`))))
        )
        return serve(Layer.provide(Layer.merge(wait, Tasks.layerStore()), Layer.succeedContext(opened.context)))
      }
      const lease = { lease: 1500 }
      const a = yield* connect(yield* node(yield* open(name, lease, proxy.url), "a", began))
      // Dropped messages are never answered, so the connections are replaced at the end of the test.
      yield* Effect.addFinalizer(() => Effect.andThen(proxy.delay(0), proxy.cut))
      yield* a.call("wait")
      yield* Deferred.await(began)
      yield* node(yield* open(name, lease), "b", continued)
      yield* proxy.delay(Infinity)
      yield* Deferred.succeed(silent, undefined)
      yield* Deferred.await(continued)
      assert.deepStrictEqual(events, ["a began", "a stopped", "b began"])
    }).pipe(Effect.scoped)
  )
})
