/** Handlers that never suspend do not starve their session. */
import * as Duplex from "@effect-mcp/core/Duplex"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Scheduler, Schema, Stream } from "effect"
import { serve } from "../support/raw.ts"

const loops = 20
const Loop = Tool.make("loop", { description: "Never ends", input: { index: Schema.Int } })

const encoder = new TextEncoder()
const lines = (...messages: ReadonlyArray<object>): Uint8Array =>
  encoder.encode(messages.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).join(""))
const opening = lines(
  {
    id: 0,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "0" } }
  },
  { method: "notifications/initialized" },
  ...Array.from({ length: loops }, (_, index) => ({
    id: index + 1,
    method: "tools/call",
    params: { name: "loop", arguments: { index } }
  }))
)

describe("Handlers that never suspend", () => {
  it.effect("A ping is answered within two turns of endless handlers", () =>
    Effect.gen(function* () {
      const steps = Array.from({ length: loops }, () => 0)
      const step = (index: number) => Effect.sync(() => (steps[index] = (steps[index] ?? 0) + 1))
      const features = Tools.layer(Loop, ({ index }) => Effect.forever(step(index), { disableYield: true }))
      const server = yield* serve({ features })

      const answered = yield* Deferred.make<ReadonlyArray<number>>()
      // Like stdin: bytes arrive between two turns of the scheduler.
      const bytes = Duplex.fromCallback((receive) =>
        Effect.callback<never>(() => {
          receive(opening)
          const ping = (): void => {
            if (steps.includes(0)) return void setImmediate(ping)
            before = [...steps]
            setImmediate(() => receive(lines({ id: "ping", method: "ping" })))
          }
          setImmediate(ping)
        })
      )
      let before: ReadonlyArray<number> = []
      const write = Stream.runForEach((text: string) =>
        Effect.sync(() => {
          if (text.includes(`"id":"ping"`)) Deferred.doneUnsafe(answered, Effect.succeed([...steps]))
        })
      )
      yield* server.connect(yield* Duplex.make({ ...bytes, write }))

      const after = yield* Deferred.await(answered)
      const turn = yield* Scheduler.MaxOpsBeforeYield
      for (const [index, count] of after.entries()) assert.isAtMost(count - (before[index] ?? 0), 2 * turn)
    })
  )
})
