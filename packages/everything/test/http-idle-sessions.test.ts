/** What ten thousand sessions over HTTP cost while nobody uses them, and what is left of them once they have expired. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Console, Effect, Schema, Stream } from "effect"
import { ChildProcess } from "effect/process"
import { count } from "./fixtures/idle-sessions.ts"
import { fileOf } from "./support/our-client.ts"

const Measured = Schema.Struct({ sessions: Schema.Int, heap: Schema.Finite, fibers: Schema.Int })
const Report = Schema.fromJsonString(Schema.Struct({ before: Measured, idle: Measured, after: Measured }))

const kibibyte = 1024

describe("ten thousand sessions over HTTP", () => {
  it.live(
    "cost little while they are idle, a fiber each, and leave nothing once they have expired",
    () =>
      Effect.gen(function* () {
        const file = fileOf("../fixtures/idle-sessions.ts")
        const process = yield* ChildProcess.make(globalThis.process.execPath, ["--expose-gc", file])
        const output = yield* process.stdout.pipe(Stream.decodeText, Stream.mkString)
        const { after, before, idle } = yield* Schema.decodeUnknownEffect(Report)(output)
        const each = (idle.heap - before.heap) / count / kibibyte
        yield* Console.log(`An idle session over HTTP: ${each.toFixed(1)} KiB of heap`)
        assert.deepStrictEqual([before.sessions, idle.sessions, after.sessions], [0, count, 0])
        assert.isBelow(each, 4)
        // And two that look after all of them.
        assert.isAtMost(idle.fibers - before.fibers, count + 2)
        assert.strictEqual(after.fibers, before.fibers)
        // What the engine still compiles and caches: a tenth of a session each would be more.
        assert.isBelow(after.heap - before.heap, (count * kibibyte) / 4)
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)),
    60_000
  )
})
