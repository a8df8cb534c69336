/** Small faults of this package, each with the test that detects it: `npm run requirements -- --prove`. */
import type { Fault } from "@effect-mcp/spec/Fault"
import { coreFaults } from "./faults/core.ts"
import { durableFaults } from "./faults/durable.ts"
import { serverFaults } from "./faults/server.ts"

const file = "packages/tasks/src/store/memory.ts"
const test = "packages/tasks/test/store/memory.test.ts"
const resuming = "packages/tasks/test/run/Resuming.test.ts"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "a task keeps the message of an error of any length",
    file: "packages/tasks/src/server/Attempts.ts",
    from: "bytesOf(message) <= most ?",
    to: "bytesOf(message) > 0 ?",
    test: "packages/tasks/test/server/Methods.test.ts"
  },
  {
    name: "a task keeps a result of any length",
    file: "packages/tasks/src/server/Attempts.ts",
    from: "if (bytes <= most) return",
    to: "if (bytes <= Infinity) return",
    test: "packages/tasks/test/server/Methods.test.ts"
  },
  {
    name: "a client does not name the task in a header",
    file: "packages/client/src/tasks/Wire.ts",
    from: 'const nameParam = "taskId"',
    to: 'const nameParam = "none"',
    test: "packages/tasks/test/client/Calls.test.ts",
    ids: ["tasks-extension.http.name"]
  },
  ...coreFaults,
  ...serverFaults,
  ...durableFaults,
  {
    name: "A task is shown to another caller",
    file,
    from: "row.input.owner === owner ? row : undefined",
    to: "row",
    test
  },
  {
    name: "A task that kills its node is tried for ever",
    file: "packages/tasks/src/run/TaskSupervisor.ts",
    from: "claimed.attempts > maxAttempts",
    to: "claimed.attempts > maxAttempts * 10",
    test: resuming
  },
  {
    name: "All claims of a principal are stored",
    file: "packages/tasks/src/run/ClientFacts.ts",
    from: 'if (name === "iss" || claims.includes(name)) own',
    to: "if (name !== claims[-1]) own",
    test: resuming
  }
]
