/** Lifetime of the keys in Redis. */
import { Nodes } from "@effect-mcp/nodes"
import { Nodes as Node } from "@effect-mcp/server/Nodes"
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Layer, Scope } from "effect"
import { inspect } from "node:util"
import { createClient } from "redis"
import { databases, redisUrl } from "../../support/networks.ts"
import { record } from "../../support/record.ts"

const redis = databases.find(({ name }) => name === "redis")!

/** A node that ends with the scope. */
const join = (prefix: string, options: Nodes.Options = {}) =>
  Effect.gen(function* () {
    const layer = Nodes.layerRedis({ ...options, url: redisUrl, prefix, host: "127.0.0.1" })
    return Context.get(yield* Layer.build(Layer.fresh(layer)), Node)
  })

const connected = Effect.acquireRelease(
  Effect.promise(() => createClient({ url: redisUrl }).connect()),
  (client) => Effect.sync(() => client.destroy())
)

describe("Invalid Redis URLs", () => {
  it.live("An invalid Redis URL is rejected with an error that hides its password", () =>
    Effect.gen(function* () {
      for (const url of [
        "redis://u:hunter2@host:port",
        "http://u:hunter2@host",
        "u:hunter2@host",
        "redis://u:hunter2@h/x"
      ]) {
        const built = yield* Effect.exit(Effect.scoped(Layer.build(Layer.fresh(Nodes.layerRedis({ url })))))
        assert(Exit.isFailure(built))
        assert.include(Cause.pretty(built.cause), "Expected redis://")
        assert.notInclude(Cause.pretty(built.cause) + inspect(built, { depth: 9, showHidden: true }), "hunter2")
      }
    })
  )
})

describe("Nodes on Redis", needs(redis.missing === undefined, redis.missing ?? ""), () => {
  it.live("Redis keeps a live node's sessions, however short `keep` is", () =>
    Effect.gen(function* () {
      const prefix = yield* redis.place
      const client = yield* connected
      const { directory } = yield* join(prefix, { keep: "3 seconds" })
      yield* directory.hold({ ids: () => ["s"], lost: () => {} })
      yield* directory.open("s", record)
      const left = Effect.promise(() => client.pTTL(`${prefix}session:s`))
      let before = yield* left
      let after = yield* left
      while (after > 0 && after <= before) {
        before = after
        yield* Effect.sleep("20 millis")
        after = yield* left
      }
      assert.isAbove(after, 0)
    })
  )

  it.live("Redis keeps a taken-over session as long as a newly opened one", () =>
    Effect.gen(function* () {
      const prefix = yield* redis.place
      const client = yield* connected
      const scope = yield* Scope.fork(yield* Effect.scope)
      const first = yield* Scope.provide(join(prefix, { lease: "20 seconds" }), scope)
      const second = yield* join(prefix, { lease: "20 seconds" })
      yield* first.directory.open("s", record)
      yield* Effect.promise(() => client.pExpire(`${prefix}session:s`, 60_000))
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual((yield* second.directory.locate("s"))._tag, "Here")
      assert.isAbove(yield* Effect.promise(() => client.pTTL(`${prefix}session:s`)), 60_000)
    })
  )

  it.live("Redis keeps no names of forgotten streams", () =>
    Effect.gen(function* () {
      const prefix = yield* redis.place
      const client = yield* connected
      const { directory, events } = yield* join(prefix)
      yield* directory.open("s", record)
      for (const stream of ["1", "2", "3"]) yield* events.append({ session: "s", stream }, [{ seq: 0, text: "x" }])
      for (const stream of ["1", "3"]) yield* events.forget("s", stream)
      assert.deepStrictEqual(yield* Effect.promise(() => client.sMembers(`${prefix}streams:s`)), ["2"])
      yield* events.forget("s")
      const keys = ["streams:s", "events:s:1", "events:s:2", "events:s:3"].map((key) => prefix + key)
      assert.strictEqual(yield* Effect.promise(() => client.exists(keys)), 0)
    })
  )
})
