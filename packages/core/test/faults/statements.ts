/** Small faults against statements of the specification, each with the one test that proves the statement. */
import type { Fault } from "@effect-mcp/spec/Fault"

export const statements: ReadonlyArray<Fault> = [
  {
    name: "an extension adds keys of _meta without a prefix",
    file: "packages/core/src/contract/Extension.ts",
    from: "if (bare !== undefined) {",
    to: "if (bare?.key === id) {",
    test: "packages/core/test/contract/Extension.test.ts",
    ids: ["meta.extension.prefix"]
  },
  {
    name: "the last hint wins",
    file: "packages/core/src/request/Sampling.ts",
    from: "of preferences?.hints ?? []) {",
    to: "of (preferences?.hints ?? []).toReversed()) {",
    test: "packages/core/test/request/Sampling.test.ts",
    ids: ["sampling.hints.in-order", "sampling.security.hints-respected"]
  },
  {
    name: "progress may decrease",
    file: "packages/core/src/request/Progress.ts",
    from: "if (!(progress > this.last) || progress === Infinity)",
    to: "if (progress === Infinity)",
    test: "packages/core/test/request/Progress.test.ts",
    ids: ["progress.value.increases"]
  }
]
