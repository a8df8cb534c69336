/** Faults with the test that detects each. */
import type { Fault } from "@effect-mcp/spec/Fault"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "a value of verify that is no user is an anonymous caller",
    file: "packages/promise/src/server/principal.ts",
    from: 'if (typeof subject !== "string" || subject === "")',
    to: "if (subject === 0)",
    test: "packages/promise/test/process/http.test.ts"
  }
]
