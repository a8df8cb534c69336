/** Faults put in by hand, and the test that notices each. */
import type { Fault } from "@effect-mcp/spec/Fault"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "a question of a mounted tool goes to the user of the process that mounts it",
    file: "packages/client/src/Callers.ts",
    from: "if (oldest === undefined) return Effect.undefined",
    to: "if (oldest === undefined || id === undefined) return Effect.undefined",
    test: "packages/gateway/test/mounted.test.ts"
  },
  {
    name: "a question that names no call goes to the oldest of several callers",
    file: "packages/client/src/Callers.ts",
    from: "connection !== undefined && connection === oldest.connection",
    to: "connection !== null",
    test: "packages/gateway/test/mounted.test.ts"
  },
  {
    name: "contents of a mounted resource keep the URI that they have behind",
    file: "packages/server/src/ResourceRegistry.ts",
    from: "({ ...part, uri: prefix + part.uri })",
    to: "({ ...part })",
    test: "packages/gateway/test/mounted.test.ts"
  }
]
