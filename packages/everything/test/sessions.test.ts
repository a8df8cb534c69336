/** What a process keeps of the sessions it has served: nothing. */
import { NodeServices } from "@effect/platform-node"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, Stream } from "effect"
import { ChildProcess } from "effect/process"
import { fileOf } from "./support/our-client.ts"

const Measured = Schema.Struct({
  alive: Schema.Int,
  heap: Schema.Finite,
  fibers: Schema.Int,
  resources: Schema.Array(Schema.String)
})
const Report = Schema.fromJsonString(Schema.Struct({ before: Measured, after: Measured }))

/** Bytes. One session is many times that; what the engine still compiles and caches is less. */
const perSession = 3 * 1024

const run = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
  const file = fileOf("../fixtures/sessions.ts")
  const process = yield* ChildProcess.make(globalThis.process.execPath, ["--expose-gc", file, ...args])
  const output = yield* process.stdout.pipe(Stream.decodeText, Stream.mkString)
  const report = yield* Schema.decodeUnknownEffect(Report)(output)
  assert.strictEqual(report.after.alive, 0)
  assert.strictEqual(report.after.fibers, report.before.fibers)
  assert.deepStrictEqual(report.after.resources, report.before.resources)
  return report
})

describe("Sessions that are left in the middle of things", () => {
  it.live(
    "leave no fiber, no timer, no socket and no memory, a thousand of them",
    () =>
      Effect.gen(function* () {
        const { after, before } = yield* run()
        assert.isBelow(after.heap - before.heap, 1000 * perSession)
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)),
    { ...verifies("cancellation.receiver.frees-resources"), timeout: 60_000 }
  )

  it.live(
    "leave no fiber, no timer, no socket and neither end over Streamable HTTP, in both eras",
    () => run("http").pipe(Effect.scoped, Effect.provide(NodeServices.layer)),
    { ...verifies("cancellation.receiver.frees-resources"), timeout: 60_000 }
  )
})
