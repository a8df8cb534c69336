import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import type { UserRun } from "../../src/messages/Events.ts"
import * as History from "../../src/session/History.ts"

const run = (id: number, result: unknown = {}): UserRun => ({
  id,
  kind: "tool",
  name: `tool ${id}`,
  input: { a: 1 },
  asTask: false,
  revision: "2025-11-25",
  startedAt: id,
  status: "done",
  took: 3,
  progress: [{ at: 1, progress: 1, total: undefined, message: undefined }],
  tasks: [],
  result
})

const inFolder = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  return `${yield* fs.makeTempDirectoryScoped()}/deep/runs.jsonl`
})

describe("History", () => {
  it.effect("Runs are there at the next start, in a file that only its user can read", () =>
    Effect.gen(function* () {
      const file = yield* inFolder
      const first = yield* History.open(file)
      yield* first.add(run(7))
      yield* first.add(run(8, "x".repeat(300_000)))
      const { runs } = yield* History.open(file)
      assert.deepStrictEqual(
        runs.map(({ id, name }) => [id, name]),
        [
          [1, "tool 7"],
          [2, "tool 8"]
        ]
      )
      // A long result is left out.
      assert.deepStrictEqual(
        runs.map(({ result }) => result),
        [{}, undefined]
      )
      const fs = yield* FileSystem.FileSystem
      assert.strictEqual((yield* fs.stat(file)).mode & 0o777, 0o600)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.effect("Lines that can't be read cost only themselves", () =>
    Effect.gen(function* () {
      const file = yield* inFolder
      yield* (yield* History.open(file)).add(run(1))
      const fs = yield* FileSystem.FileSystem
      yield* fs.writeFileString(file, `not JSON\n{"id":"x"}\n${JSON.stringify(run(2))}\n{"cut`, { flag: "a" })
      assert.deepStrictEqual(
        (yield* History.open(file)).runs.map(({ name }) => name),
        ["tool 1", "tool 2"]
      )
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.effect("The latest runs of a long file are there at the next start", () =>
    Effect.gen(function* () {
      const file = yield* inFolder
      const history = yield* History.open(file)
      for (let id = 1; id <= 180; id++) yield* history.add(run(id, "x".repeat(200_000)))
      const { runs } = yield* History.open(file)
      assert.strictEqual(runs.at(-1)?.name, "tool 180")
      assert.isAbove(runs.length, 100)
      const fs = yield* FileSystem.FileSystem
      assert.isAtMost(Number((yield* fs.stat(file)).size), 32 * 1024 * 1024)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.effect("The data of an error does not make the file long", () =>
    Effect.gen(function* () {
      const file = yield* inFolder
      const history = yield* History.open(file)
      yield* history.add({ ...run(1), error: { tag: "McpError", message: "no", data: "x".repeat(1_000_000) } })
      const fs = yield* FileSystem.FileSystem
      assert.isAtMost(Number((yield* fs.stat(file)).size), 1000)
      assert.strictEqual((yield* History.open(file)).runs[0]?.error?.message, "no")
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.effect("Forgetting empties the file", () =>
    Effect.gen(function* () {
      const file = yield* inFolder
      const history = yield* History.open(file)
      yield* history.add(run(1))
      yield* history.forget
      assert.deepStrictEqual((yield* History.open(file)).runs, [])
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
