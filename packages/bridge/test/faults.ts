/** Faults with the test that detects each. */
import type { Fault } from "@effect-mcp/spec/Fault"

const openApi = "packages/bridge/test/open-api/OpenApiTools.test.ts"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "an argument of an operation leads out of its path",
    file: "packages/bridge/src/open-api/OperationRequest.ts",
    from: 'if (text === "" || text === "." || text === "..") {',
    to: "if (false) {",
    test: openApi
  },
  {
    name: "an API redirects the client to another place",
    file: "packages/bridge/src/open-api/OpenApiTools.ts",
    from: 'redirect: "manual"',
    to: 'redirect: "follow"',
    test: openApi
  },
  {
    name: "a document of any depth is read",
    file: "packages/bridge/src/open-api/Document.ts",
    from: "if (at > depth) throw",
    to: "if (false) throw",
    test: openApi
  },
  {
    name: "an answer of any size is read",
    file: "packages/bridge/src/open-api/Answer.ts",
    from: "return length > most",
    to: "return length < 0",
    test: openApi
  }
]
