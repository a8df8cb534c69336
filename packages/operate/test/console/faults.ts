/** Faults put in by hand, and the test that notices each. */
import type { Fault } from "@effect-mcp/spec/Fault"

const endpoint = "packages/operate/test/console/Console.test.ts"

export const consoleFaults: ReadonlyArray<Fault> = [
  {
    name: "a form of another site interrupts",
    file: "packages/operate/src/admin/Admin.ts",
    from: "/^application\\/json\\s*(;|$)/i",
    to: "/^/",
    test: endpoint
  }
]
