/** Small faults in what the server offers, each with the test that notices it. */
import type { Fault } from "@effect-mcp/spec/Fault"
import { httpFaults } from "./faults/http.ts"

export const faults: ReadonlyArray<Fault> = [
  ...httpFaults,
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
  },
  {
    name: "a watcher of a resource runs in the context of its first subscriber",
    file: "packages/server/src/ResourceRegistry.ts",
    from: "Effect.updateContext<never, never>(() => context)",
    to: "Effect.updateContext<never, never>((own) => own)",
    test: "packages/server/test/watching.test.ts"
  },
  {
    name: "a subscriber is told of a hidden resource whose URI a visible template shares",
    file: "packages/server/src/ResourceRegistry.ts",
    from: 'if (entry !== undefined && sees(entry, principal)) return { kind: "resource", uri }',
    to: 'if (entry !== undefined) return { kind: "resource", uri }',
    test: "packages/server/test/watching.test.ts"
  },
  {
    name: "a caller may subscribe to a member of a template that it may not read",
    file: "packages/server/src/ResourceRegistry.ts",
    from: "one.read(uri) !== undefined && sees(one, principal, uri)",
    to: "one.read(uri) !== undefined",
    test: "packages/server/test/watching.test.ts",
    ids: ["resources.security.access-control", "resources.security.permission-checked"]
  }
]
