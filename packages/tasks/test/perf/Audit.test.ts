/** Memory used by the audit log of tasks. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import * as Audit from "../../src/run/Audit.ts"
import { Journal } from "../../src/store/Journal.ts"
import * as Memory from "../../src/store/memory.ts"
import { TaskStore } from "../../src/store/TaskStore.ts"

setFlagsFromString("--expose-gc")
const collect: () => void = runInNewContext("gc")
const heap = (): number => {
  collect()
  return process.memoryUsage().heapUsed
}

describe("Task audit log", () => {
  it.effect("The audit log keeps nothing about leases whose renewal failed", () =>
    Effect.gen(function* () {
      const store = yield* TaskStore
      const { journal } = yield* Audit.make({
        store,
        journal: {
          ...(yield* Journal),
          claim: (_node, _tools, max) =>
            Effect.sync(() =>
              Array.from({ length: max }, () => {
                const owner = Buffer.alloc(10_000, crypto.randomUUID()).toString()
                const input = { owner, tool: "tool", input: {}, client: {}, ttl: 1, pollInterval: 1 }
                const id = crypto.randomUUID()
                const times = { createdAt: 0, updatedAt: 0, ttl: 1, pollInterval: 1 }
                const task = { id, ...times, message: undefined, questions: new Map(), outcome: undefined }
                return { lease: { task: id, epoch: 1 }, task, input, entries: [], attempts: 1 }
              })
            )
        }
      })
      const before = heap()
      for (let count = 0; count < 20; count++) yield* journal.claim("a", ["tool"], 100)
      // It has seen 20 MB of owners.
      assert.isBelow(heap() - before, 4_000_000)
    }).pipe(Effect.provide(Memory.layer()))
  )
})
