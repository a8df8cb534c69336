/** Faults of the client, each with the test that detects it. */
import type { Fault } from "@effect-mcp/spec/Fault"
import { extension } from "./faults/extension.ts"
import { taskReceiver } from "./faults/receiver.ts"
import { tasks } from "./faults/tasks.ts"
import { servers } from "./faults/servers.ts"
import { statements } from "./faults/statements.ts"

const streamable = "packages/client/src/transport/http/Streamable.ts"
const model = "packages/client/test/transport/http/Streamable.model.test.ts"

export const faults: ReadonlyArray<Fault> = [
  ...statements,
  ...extension,
  ...tasks,
  ...taskReceiver,
  ...servers,
  {
    name: "a client fetches the URL of a question",
    file: "packages/client/src/answering/ServerRequests.ts",
    from: "Effect.andThen(service.elicit(params))",
    to: 'Effect.andThen(Effect.andThen(Effect.promise(async () => void ("url" in params && (await fetch(String(params.url), { signal: AbortSignal.timeout(50) }).catch(() => {})))), service.elicit(params)))',
    test: "packages/client/test/answering/UrlNotFetched.test.ts",
    ids: ["elicitation.url.not-prefetched"]
  },
  {
    name: "initialize declares no capability",
    file: "packages/client/src/connection/Negotiation.ts",
    from: "capabilities: options.capabilities,",
    to: "capabilities: {},",
    test: "packages/client/test/connection/Declarations.test.ts",
    ids: ["lifecycle.initialize.request"]
  },
  {
    name: "a client continues in the revision that it offered",
    file: "packages/client/src/connection/Negotiation.ts",
    from: "return { revision, serverInfo, serverCapabilities: capabilities, instructions }",
    to: "return { revision: offered, serverInfo, serverCapabilities: capabilities, instructions }",
    test: "packages/client/test/connection/Declarations.test.ts",
    ids: ["lifecycle.operation.version-respected"]
  },
  {
    name: "the length of another origin's compressed body counts as the length of the body",
    file: "packages/client/src/transport/http/FetchSender.ts",
    from: 'response.type === "cors"',
    to: "response.redirected",
    test: "packages/client/test/transport/Fetch.test.ts"
  },
  {
    name: "a URL with a password is requested",
    file: "packages/client/src/transport/http/Endpoint.ts",
    from: 'url.username + url.password === ""',
    to: "url.href",
    test: "packages/client/test/transport/http/NoEndpoint.test.ts"
  },
  {
    name: "exchanges are kept for ever",
    file: streamable,
    from: "this.exchanges.delete(id)",
    to: "void id",
    test: model
  },
  {
    name: "one malformed tool hides the others",
    file: "packages/client/src/connection/Salvage.ts",
    from: "if (kept.length === 0) return Effect.fail(message)",
    to: "if (kept.length < all.length) return Effect.fail(message)",
    test: "packages/client/test/connection/Salvage.test.ts"
  },
  {
    name: "lists have no bound in bytes",
    file: "packages/client/src/features/Lists.ts",
    from: "if (bytes > maxBytes) {",
    to: "if (bytes < 0) {",
    test: "packages/client/test/features/Budgets.test.ts"
  },
  {
    name: "entries that leave the cache keep their room",
    file: "packages/client/src/connection/ResponseCache.ts",
    from: "this.bytes -= this.responses.get(key)?.size ?? 0",
    to: "void key",
    test: "packages/client/test/features/Budgets.test.ts"
  },
  {
    name: "remembered tools have no bound",
    file: "packages/client/src/features/ToolCatalog.ts",
    from: "if (this.bytes <= this.maxBytes) return",
    to: "return",
    test: "packages/client/test/features/Budgets.test.ts"
  }
]
