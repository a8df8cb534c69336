/** Small faults in the examples, each with the test that notices it. */
import type { Fault } from "@effect-mcp/spec/Fault"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "a glob forgets all alternatives of a brace but the first",
    file: "packages/examples/src/workspace/Glob.ts",
    from: "      brace.starts.push(steps.length)\n",
    to: "",
    test: "packages/examples/test/workspace/glob.test.ts"
  },
  {
    name: "a glob of whole folders needs at least one of them",
    file: "packages/examples/src/workspace/Glob.ts",
    from: "loop.push(start + 1, steps.length)",
    to: "loop.push(start + 1)",
    test: "packages/examples/test/workspace/glob.test.ts"
  }
]
