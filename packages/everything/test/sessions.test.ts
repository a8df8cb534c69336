/** What a process keeps of the sessions it has served: nothing. */
import { NodeServices } from "@effect/platform-node"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, it } from "@effect/vitest"
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

const sessions = 1000
/** Bytes. One session is many times that; what the engine still compiles and caches is less. */
const perSession = 3 * 1024

it.live(
  `a thousand sessions, left in the middle of things, leave no fiber, no timer, no socket and no memory${verifies("cancellation.receiver.frees-resources")}`,
  () =>
    Effect.gen(function* () {
      const file = fileOf("../fixtures/sessions.ts")
      const process = yield* ChildProcess.make(globalThis.process.execPath, ["--expose-gc", file])
      const output = yield* process.stdout.pipe(Stream.decodeText, Stream.mkString)
      const { after, before } = yield* Schema.decodeUnknownEffect(Report)(output)
      assert.strictEqual(after.alive, 0)
      assert.strictEqual(after.fibers, before.fibers)
      assert.deepStrictEqual(after.resources, before.resources)
      assert.isBelow(after.heap - before.heap, sessions * perSession)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)),
  60_000
)
