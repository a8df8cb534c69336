/** Faults put in by hand, and the test that notices each. */
import type { Fault } from "@effect-mcp/spec/Fault"

const openApi = "packages/bridge/test/open-api/OpenApiTools.test.ts"
const httpApi = "packages/bridge/test/http-api/HttpApiTools.test.ts"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "two operations of a document have one name as tools",
    file: "packages/bridge/src/open-api/OpenApiTools.ts",
    from: "if (names.has(tool.name)) throw",
    to: "if (false) throw",
    test: openApi
  },
  {
    name: "operations that are left out do not count",
    file: "packages/bridge/src/open-api/OpenApiTools.ts",
    from: "if (layers.length + left.length > most) {",
    to: "if (layers.length > most) {",
    test: openApi
  },
  {
    name: "an argument of an operation leads out of its path",
    file: "packages/bridge/src/open-api/OperationRequest.ts",
    from: 'if (text === "" || text === "." || text === "..") {',
    to: "if (false) {",
    test: openApi
  },
  {
    name: "an API leads the client elsewhere by a redirect",
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
  },
  {
    name: "an endpoint that writes is a tool though the program did not choose it",
    file: "packages/bridge/src/http-api/HttpApiTools.ts",
    from: 'endpoint.method === "GET" && ',
    to: "",
    test: httpApi
  },
  {
    name: "an error that an endpoint declares loses its type",
    file: "packages/bridge/src/tool/ServedCall.ts",
    from: "isDeclared(error)\n        ? Effect.fail(error)",
    to: "false\n        ? Effect.fail(error)",
    test: httpApi
  }
]
