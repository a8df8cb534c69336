/** Faults of tasks in databases. */
import type { Fault } from "@effect-mcp/spec/Fault"

const statements = "packages/tasks/src/sql/Statements.ts"
const laws = "packages/tasks/test/process/sql/laws.test.ts"

export const durableFaults: ReadonlyArray<Fault> = [
  {
    name: "A database shows a task to another caller",
    file: statements,
    from: "WHERE id = ? AND owner = ? AND NOT ${forgotten(now)}",
    to: "WHERE id = ? AND (owner = ? OR true) AND NOT ${forgotten(now)}",
    test: laws
  },
  {
    name: "Tasks that have ended are kept without a bound",
    file: statements,
    from: "WHERE place > ${integer} OR",
    to: "WHERE place > 1000 + ${integer} OR",
    test: laws
  },
  {
    name: "Results of any size are kept",
    file: statements,
    from: "OR bytes > ${number}",
    to: "OR bytes > 1e9 + ${number}",
    test: laws
  }
]
