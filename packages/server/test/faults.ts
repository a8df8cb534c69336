/** Small faults in the features of the server, each with the test that detects it. */
import type { Fault } from "@effect-mcp/spec/Fault"
import { coreFaults } from "./faults/core.ts"
import { statements } from "./faults/statements.ts"
import { httpFaults } from "./faults/http.ts"

export const faults: ReadonlyArray<Fault> = [
  ...statements,
  ...httpFaults,
  ...coreFaults,
  {
    name: "a simple expression of a template decodes to a path that climbs",
    file: "packages/protocol/src/UriTemplate.ts",
    from: "!operators[operator].free && unconfined",
    to: "false && unconfined",
    test: "packages/server/test/features/confinement.test.ts",
    ids: ["resources.security.uri-validated"]
  },
  {
    name: "a subscriber is notified of a hidden resource whose URI a visible template shares",
    file: "packages/server/src/features/ResourceEntries.ts",
    from: 'if (entry !== undefined && sees(entry, caller)) return { kind: "resource", uri }',
    to: 'if (entry !== undefined) return { kind: "resource", uri }',
    test: "packages/server/test/features/watching.test.ts"
  },
  {
    name: "a caller may subscribe to a member of a template that it may not read",
    file: "packages/server/src/features/ResourceEntries.ts",
    from: "one.read(uri) !== undefined && sees(one, caller, uri)",
    to: "one.read(uri) !== undefined",
    test: "packages/server/test/features/watching.test.ts",
    ids: ["resources.security.access-control", "resources.security.permission-checked"]
  },
  {
    name: "a renamed argument does not get its own name back",
    file: "packages/server/src/features/Portability.ts",
    from: "Object.assign(entry, { tool, call: renamed(entry.call, original) })",
    to: "Object.assign(entry, { tool })",
    test: "packages/server/test/features/portability.test.ts"
  },
  {
    name: "a union at the root is listed as it is written",
    file: "packages/server/src/features/Portability.ts",
    from: 'if (this.mode === "off" || isPlain(entry.tool)) return undefined',
    to: "if (isPlain(entry.tool) || this.mode.length > 0) return undefined",
    test: "packages/server/test/features/portability.test.ts"
  },
  {
    name: "bytes of a picture are hexadecimal",
    file: "packages/core/src/contract/Content.ts",
    from: "Base64.encode(data)",
    to: 'Array.from(data, (byte) => byte.toString(16).padStart(2, "0")).join("")',
    test: "packages/server/test/features/prompts.test.ts",
    ids: ["prompts.content.image"]
  },
  {
    name: "a prompt's text is altered on its way out",
    file: "packages/core/src/features/Prompts.ts",
    from: '{ type: "text", text: content }',
    to: '{ type: "text", text: content.replace(/[<>{}]/g, "") }',
    test: "packages/server/test/features/prompts.test.ts",
    ids: ["prompts.security.validated"]
  },
  {
    name: "a member of a hidden template is read as empty contents",
    file: "packages/server/src/features/ResourceEntries.ts",
    from: "          ? elsewhere\n",
    to: "          ? Effect.succeed({ contents: [] })\n",
    test: "packages/server/test/features/resources.test.ts",
    ids: ["resources.read.not-empty"]
  },
  {
    name: "a hidden feature is offered to everyone",
    file: "packages/server/src/features/Registry.ts",
    from: 'visible === undefined || checkedBoolean("visible", visible(caller, uri))',
    to: "true",
    test: "packages/server/test/dispatch/stateless/features.test.ts",
    ids: ["caching.access.controlled"]
  },
  {
    name: "a folder that became a link is opened",
    file: "packages/server/src/folder/Places.ts",
    from: "real === absolute ? place",
    to: "real !== absolute || real === absolute ? place",
    test: "packages/server/test/folder/Folder.test.ts"
  },
  {
    name: "without descriptors a file that was opened is not compared",
    file: "packages/server/src/folder/Places.ts",
    from: "!descriptors && !isSame",
    to: "!descriptors && false && !isSame",
    test: "packages/server/test/folder/Folder.test.ts"
  },
  {
    name: "a folder offers hidden files",
    file: "packages/server/src/folder/Names.ts",
    from: '(options.hidden || !name.startsWith("."))',
    to: '(options.hidden || name !== "..")',
    test: "packages/server/test/folder/Folder.test.ts"
  },
  {
    name: "a file is read whatever its size",
    file: "packages/server/src/folder/Tree.ts",
    from: "if (Number(info.size) > maxBytes) return yield* new TooLarge({ maxBytes })",
    to: "maxBytes = Number.MAX_SAFE_INTEGER",
    test: "packages/server/test/folder/Folder.test.ts"
  }
]
