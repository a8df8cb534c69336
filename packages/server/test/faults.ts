/** Small faults in what the server offers, each with the test that notices it. */
import type { Fault } from "@effect-mcp/spec/Fault"
import { coreFaults } from "./faults/core.ts"
import { statements } from "./faults/statements.ts"
import { viewFaults } from "./faults/view.ts"
import { httpFaults } from "./faults/http.ts"

export const faults: ReadonlyArray<Fault> = [
  ...statements,
  ...httpFaults,
  ...coreFaults,
  ...viewFaults,
  {
    name: "the drain of a session ends at once in a fiber that is interrupted",
    file: "packages/server/src/session/Session.ts",
    from: "Effect.timeoutOption(Effect.interruptible(this.peer.idle), duration)",
    to: "Effect.interruptible(Effect.timeoutOption(this.peer.idle, duration))",
    test: "packages/server/test/dispatch/requests.test.ts"
  },
  {
    name: "a simple expression of a template decodes to a path that climbs",
    file: "packages/protocol/src/UriTemplate.ts",
    from: "!operators[operator].free && unconfined",
    to: "false && unconfined",
    test: "packages/server/test/features/confinement.test.ts",
    ids: ["resources.security.uri-validated"]
  },
  {
    name: "a completer of a template is called with a value that climbs",
    file: "packages/core/src/features/Completions.ts",
    from: "admits(name, value) && Object",
    to: "Object",
    test: "packages/server/test/features/confinement.test.ts"
  },
  {
    name: "a completer of a template is called beside an argument that climbs",
    file: "packages/core/src/features/Completions.ts",
    from: ".every(([other, set]) => admits(other, set))",
    to: ".every(() => true)",
    test: "packages/server/test/features/confinement.test.ts"
  },
  {
    name: "a watcher of a resource runs in the context of its first subscriber",
    file: "packages/server/src/features/ResourceWatchers.ts",
    from: "Effect.updateContext<never, never>(() => this.context)",
    to: "Effect.updateContext<never, never>((own) => own)",
    test: "packages/server/test/features/watching.test.ts"
  },
  {
    name: "a subscriber is told of a hidden resource whose URI a visible template shares",
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
    name: "bytes of a picture are hexadecimal",
    file: "packages/core/src/contract/Content.ts",
    from: "Base64.encode(data)",
    to: 'Array.from(data, (byte) => byte.toString(16).padStart(2, "0")).join("")',
    test: "packages/server/test/features/prompts.test.ts",
    ids: ["prompts.content.image"]
  },
  {
    name: "a picture has no media type",
    file: "packages/core/src/contract/Content.ts",
    from: "mimeType: Validate.mimeType(owner, mimeType),",
    to: 'mimeType: "",',
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
    name: "a hidden prompt is offered to everyone",
    file: "packages/server/src/features/PromptRegistry.ts",
    from: "entry.visible?.(principal) !== false",
    to: "true",
    test: "packages/server/test/dispatch/stateless/features.test.ts",
    ids: ["caching.access.controlled"]
  },
  {
    name: "a hidden template is read by everyone",
    file: "packages/server/src/features/ResourceEntries.ts",
    from: "const [match] = seen(matching, caller, uri)",
    to: "const [match] = matching",
    test: "packages/server/test/dispatch/stateless/features.test.ts",
    ids: ["caching.access.controlled"]
  },
  {
    name: "a folder that became a link is opened",
    file: "packages/core/src/folder/Places.ts",
    from: "real === absolute ? place",
    to: "real !== absolute || real === absolute ? place",
    test: "packages/server/test/features/folder.test.ts"
  },
  {
    name: "without descriptors a file that was opened is not compared",
    file: "packages/core/src/folder/Places.ts",
    from: "!descriptors && !isSame",
    to: "!descriptors && false && !isSame",
    test: "packages/server/test/features/folder.test.ts"
  },
  {
    name: "a folder offers hidden files",
    file: "packages/core/src/folder/Names.ts",
    from: '(options.hidden || !name.startsWith("."))',
    to: '(options.hidden || name !== "..")',
    test: "packages/server/test/features/folder.test.ts"
  },
  {
    name: "a file is read whatever its size",
    file: "packages/core/src/folder/Tree.ts",
    from: "if (Number(info.size) > maxBytes) return yield* new TooLarge({ maxBytes })",
    to: "maxBytes = Number.MAX_SAFE_INTEGER",
    test: "packages/server/test/features/folder.test.ts"
  },
  {
    name: "later subscribers join a watcher that died",
    file: "packages/server/src/features/ResourceWatchers.ts",
    from: "if (!Cause.hasDies(cause)) return Effect.void\n        this.forget(name, watcher)",
    to: "if (!Cause.hasDies(cause)) return Effect.void",
    test: "packages/server/test/features/resources.test.ts"
  },
  {
    name: "a change of a list is told after the end of its server",
    file: "packages/server/src/dispatch/ListChanges.ts",
    from: "if (closed) return",
    to: "",
    test: "packages/server/test/dispatch/list-changes.test.ts"
  },
  {
    name: "a changed question gets the answer to the earlier one",
    file: "packages/core/src/request/questionKey.ts",
    from: "`${given ?? method}:${digest(`${method} ${canonicalJson(params)}`)}`",
    to: "`${given ?? method}:${method}`",
    test: "packages/server/test/mrtr/Replay.test.ts"
  }
]
