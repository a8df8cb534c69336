/** One killed process, so that `npm test` covers a takeover. The full suites are in `process/`. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { call, ended, start } from "../support/process.ts"
import { file } from "../support/sqlite.ts"

describe("Tasks in a SQLite file", () => {
  it.live("A task whose process is killed finishes in the next process", () =>
    Effect.gen(function* () {
      const place = yield* file
      const first = yield* start("sqlite", place)
      const taskId = yield* call(first, { count: 4, millis: 50 })
      yield* first.line("begin 1")
      yield* first.signal("SIGKILL")
      yield* first.exited
      const second = yield* start("sqlite", place)
      yield* second.line("done")
      const task = yield* ended(second, taskId)
      assert.deepStrictEqual(task["result"]?.structuredContent, { values: ["0", "1", "2", "3"] })
    })
  )
})
