/** Small faults in what the server offers, each with the test that notices it. */
import type { Fault } from "@effect-mcp/spec/Fault"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "a simple expression of a template decodes to a path that climbs",
    file: "packages/protocol/src/UriTemplate.ts",
    from: "!operators[operator].free && unconfined",
    to: "false && unconfined",
    test: "packages/server/test/confinement.test.ts",
    ids: ["resources.security.uri-validated"]
  },
  {
    name: "a completer of a template is called with a value that climbs",
    file: "packages/core/src/Resources.ts",
    from: "admits(name, value) && Object",
    to: "Object",
    test: "packages/server/test/confinement.test.ts"
  },
  {
    name: "a completer of a template is called beside an argument that climbs",
    file: "packages/core/src/Resources.ts",
    from: ".every(([other, set]) => admits(other, set))",
    to: ".every(() => true)",
    test: "packages/server/test/confinement.test.ts"
  }
]
