/** The number of processes that a check starts, and how long it waits for one. */
import { Revision } from "@effect-mcp/protocol"
import * as Check from "@effect-mcp/fuzz/Check"
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import { assert, describe, it } from "@effect/vitest"
import { type Duration, Effect } from "effect"
import { server } from "./server.ts"

const revisionsOf = (name: string) => Revision.all.filter(({ version }) => version === name)

/** Delays the start of each process. */
const slow = (target: Fuzz.LineTarget, delay: Duration.Input): Fuzz.LineTarget => ({
  ...target,
  transport: "stdio",
  open: Effect.fnUntraced(function* (receive, script) {
    const early: Array<Parameters<typeof receive>[0]> = []
    let isStarted = false
    yield* Effect.forkScoped(
      Effect.delay(
        Effect.sync(() => {
          isStarted = true
          early.forEach(receive)
        }),
        delay
      )
    )
    return yield* target.open((event) => (isStarted ? receive(event) : void early.push(event)), script)
  })
})

describe("check processes", () => {
  it.effect("Conversations share a process", () =>
    Effect.gen(function* () {
      const target = yield* Fuzz.memory(server)
      let started = 0
      const counted: Fuzz.Target = {
        ...target,
        transport: "stdio",
        open: (receive, script) =>
          Effect.suspend(() => {
            started++
            return target.open(receive, script)
          })
      }
      const report = yield* Check.run(counted, { revisions: revisionsOf("2025-11-25"), time: "1 day", patience: 200 })
      assert.isAtLeast(report.conversations, 50)
      // One for each way to open a session, one for each unknown version, two for junk, and a spare.
      assert.isAtMost(started, 7)
    })
  )

  it.effect("A slow 2026-07-28 process is awaited", () =>
    Effect.gen(function* () {
      const revisions = revisionsOf("2026-07-28")
      const report = yield* Check.run(slow(yield* Fuzz.memory(server), "4 seconds"), { revisions, time: "1 day" })
      // A server in memory has no process to exit.
      const names = [...report.findings, ...report.unconfirmed].flatMap(({ key }) => (key === "exits" ? [] : [key]))
      assert.deepStrictEqual(names, [])
    })
  )
})
