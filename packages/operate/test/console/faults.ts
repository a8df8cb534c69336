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
  },
  {
    name: "tool names that a client made up are kept",
    file: "packages/operate/src/admin/Recent.ts",
    from: "ran.has(outcome) || code === McpError.InternalError",
    to: "true",
    test: "packages/operate/test/admin/Recent.test.ts"
  },
  {
    name: "interrupting all shown requests ends subscriptions",
    file: "packages/operate/src/console/page/groups.ts",
    from: '(row.kind === "request" || row.kind === "task" || row.kind === kind)',
    to: "true",
    test: "packages/operate/test/console/page/groups.test.ts"
  }
]
