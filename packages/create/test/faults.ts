/** Faults put in by hand, and the test that notices each. */
import type { Fault } from "@effect-mcp/spec/Fault"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "a folder with files is written to",
    file: "packages/create/src/run.ts",
    from: "readdirSync(at).length > 0",
    to: "readdirSync(at).length < 0",
    test: "packages/create/test/create.test.ts"
  },
  {
    name: "a project has any name that was given",
    file: "packages/create/src/run.ts",
    from: "!packageName.test(name) || name.length > 214",
    to: "name.length > 214",
    test: "packages/create/test/create.test.ts"
  },
  {
    name: "a project asks for another version of Effect than its packages",
    file: "packages/create/src/files.ts",
    from: 'effect: "4.1.0"',
    to: 'effect: "4.0.0"',
    test: "packages/create/test/create.test.ts"
  }
]
