/** Faults of tasks in databases. */
import type { Fault } from "@effect-mcp/spec/Fault"

const statements = "packages/tasks/src/sql/Statements.ts"
const spill = "packages/tasks/src/spill/layer.ts"
const results = "packages/tasks/test/process/spill/results.test.ts"
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
  },
  {
    name: "A database shows a large result to another caller",
    file: spill,
    from: "FROM mcp_spill WHERE id = ? AND owner = ?",
    to: "FROM mcp_spill WHERE id = ? AND (owner = ? OR true)",
    test: results
  },
  {
    name: "A caller's large results in a database are kept without a bound",
    file: spill,
    from: "own + charge > bounds.perCaller",
    to: "charge > bounds.perCaller",
    test: results
  },
  {
    name: "All large results in a database are kept without a bound",
    file: spill,
    from: "total + charge <= bounds.total",
    to: "charge <= bounds.total",
    test: results
  },
  {
    name: "A large result in a database can be read after its time",
    file: spill,
    from: "AND owner = ? AND expires > ${now}",
    to: "AND owner = ?",
    test: results
  }
]
