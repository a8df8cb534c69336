/** Runs one call in a separate process, so that `npm test` covers the program. The whole suites are in `process/`. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { everything, program } from "./support/run.ts"

describe("effect-mcp", () => {
  it.live("A tool is called on a server over stdio", () =>
    Effect.gen(function* () {
      const sum = yield* program(["call", "add", "a=1", "b=2", ...everything])
      assert.deepStrictEqual(sum, { code: 0, stdout: `{\n  "sum": 3\n}\n`, stderr: "" })
    })
  )
})
