/** Small faults against statements of the specification, each with the one test that proves the statement. */
import type { Fault } from "@effect-mcp/spec/Fault"

export const statements: ReadonlyArray<Fault> = [
  {
    name: "an extension is declared among experimental features in every revision",
    file: "packages/core/src/contract/Extension.ts",
    from: "{ [rules.extensions]: { [id]: settings } }",
    to: '{ [rules.extensions === "extensions" ? "experimental" : rules.extensions]: { [id]: settings } }',
    test: "packages/core/test/contract/Extension.test.ts",
    ids: ["versioning.extension.advertised"]
  },
  {
    name: "an extension is declared in the words of 2026-07-28 in a session",
    file: "packages/core/src/contract/Extension.ts",
    from: "{ [rules.extensions]: { [id]: settings } }",
    to: '{ [rules.extensions && "extensions"]: { [id]: settings } }',
    test: "packages/core/test/contract/Extension.test.ts",
    ids: ["lifecycle.capability.experimental"]
  },
  {
    name: "an extension without settings is taken as not declared",
    file: "packages/core/src/contract/Extension.ts",
    from: "declared !== undefined && Object.hasOwn(declared, id)",
    to: "declared !== undefined && Object.keys(declared[id] ?? {}).length > 0",
    test: "packages/core/test/contract/Extension.test.ts",
    ids: ["versioning.extension.no-settings"]
  },
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
    name: "progress may fall",
    file: "packages/core/src/request/Progress.ts",
    from: "if (!(progress > this.last) || progress === Infinity)",
    to: "if (progress === Infinity)",
    test: "packages/core/test/request/Progress.test.ts",
    ids: ["progress.value.increases"]
  }
]
