/** Cost of many idle sessions over HTTP, as reported by their process. */
import { NodeServices } from "@effect/platform-node"
import { Effect, Schema, Stream } from "effect"
import { ChildProcess } from "effect/process"
import { fileOf } from "./our-client.ts"

const Measured = Schema.Struct({ sessions: Schema.Int, heap: Schema.Finite, fibers: Schema.Int })
const Report = Schema.fromJsonString(Schema.Struct({ before: Measured, idle: Measured, after: Measured }))

/** Opens `count` sessions and lets them expire. */
export const idle = Effect.fnUntraced(
  function* (count: number) {
    const file = fileOf("../fixtures/idle-sessions.ts")
    const process = yield* ChildProcess.make(globalThis.process.execPath, ["--expose-gc", file, `${count}`])
    const output = yield* process.stdout.pipe(Stream.decodeText, Stream.mkString)
    return yield* Schema.decodeUnknownEffect(Report)(output)
  },
  Effect.scoped,
  Effect.provide(NodeServices.layer)
)
