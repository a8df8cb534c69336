/** Remains of abandoned sessions in a process, as reported by itself. */
import { NodeServices } from "@effect/platform-node"
import { assert } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { ChildProcess } from "effect/process"
import { fileOf } from "./our-client.ts"

const Measured = Schema.Struct({
  alive: Schema.Int,
  heap: Schema.Finite,
  fibers: Schema.Int,
  resources: Schema.Array(Schema.String)
})
const Report = Schema.fromJsonString(Schema.Struct({ count: Schema.Int, before: Measured, after: Measured }))

const lasting = (resources: ReadonlyArray<string>) => resources.filter((name) => name !== "Timeout")

/**
 * Opens and abandons a hundred sessions, or with `large` a thousand; nothing is alive afterwards. Returns their count, and the heap before
 * and after.
 */
export const leave = Effect.fnUntraced(
  function* (where: "local" | "large" | "http") {
    const file = fileOf("../fixtures/sessions.ts")
    const process = yield* ChildProcess.make(globalThis.process.execPath, ["--expose-gc", file, where])
    const output = yield* process.stdout.pipe(Stream.decodeText, Stream.mkString)
    const report = yield* Schema.decodeUnknownEffect(Report)(output)
    assert.strictEqual(report.after.alive, 0)
    const { after, before } = report
    // Fewer if a timer has run out in between.
    assert.isAtMost(after.fibers, before.fibers)
    assert.isAtMost(after.resources.length, before.resources.length)
    assert.deepStrictEqual(lasting(after.resources), lasting(before.resources))
    return report
  },
  Effect.scoped,
  Effect.provide(NodeServices.layer)
)
