/** Faults put in by hand, and the test that notices each. */
import type { Fault } from "@effect-mcp/spec/Fault"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "a question of a mounted tool goes to the user of the process that mounts it",
    file: "packages/client/src/answering/ForwardedRequests.ts",
    from: "if (oldest === undefined) return Effect.undefined",
    to: "if (oldest === undefined || id === undefined) return Effect.undefined",
    test: "packages/gateway/test/mounted.test.ts"
  },
  {
    name: "a question that names no call goes to the oldest of several callers",
    file: "packages/client/src/answering/ForwardedRequests.ts",
    from: "connection !== undefined && connection === oldest.connection",
    to: "connection !== null",
    test: "packages/gateway/test/mounted.test.ts"
  },
  {
    name: "contents of a mounted resource keep the URI that they have behind",
    file: "packages/server/src/features/ResourceRegistry.ts",
    from: "({ ...part, uri: prefix + part.uri })",
    to: "({ ...part })",
    test: "packages/gateway/test/mounted.test.ts"
  },
  {
    name: "calls of the same subject of two issuers share a conversation",
    file: "packages/gateway/src/Upstreams.ts",
    from: "JSON.stringify([callerKey(principal), revision.version,",
    to: "JSON.stringify([principal.subject, revision.version,",
    test: "packages/gateway/test/upstreams.test.ts"
  },
  {
    name: "clients of two revisions share a conversation",
    file: "packages/gateway/src/Upstreams.ts",
    from: "callerKey(principal), revision.version, clientInfo",
    to: "callerKey(principal), clientInfo",
    test: "packages/gateway/test/upstreams.test.ts"
  },
  {
    name: "the wire of a client is remembered after its end",
    file: "packages/gateway/src/Upstreams.ts",
    from: "      wires.delete(wire)\n",
    to: "",
    test: "packages/gateway/test/upstreams.test.ts"
  },
  {
    name: "a conversation that could not be opened is remembered",
    file: "packages/gateway/src/Upstreams.ts",
    from: "Exit.isFailure(exit) ? close(entry, forget) : Effect.void",
    to: "Exit.isFailure(exit) ? Scope.close(entry.scope, Exit.void) : Effect.void",
    test: "packages/gateway/test/upstreams.test.ts"
  },
  {
    name: "later rounds are not checked against their headers",
    file: "packages/gateway/src/UpstreamCalls.ts",
    from: "    yield* start.admit(known)\n",
    to: "",
    test: "packages/gateway/test/upstream-calls.test.ts"
  },
  {
    name: "the first attached request that ends cancels the call for the others",
    file: "packages/gateway/src/UpstreamCalls.ts",
    from: "if (call.attached > 0) return Effect.void",
    to: "",
    test: "packages/gateway/test/upstream-calls.test.ts"
  },
  {
    name: "a call waits without bound for an upstream server that is lost",
    file: "packages/gateway/src/Relay.ts",
    from: "    maxTotal: Duration.infinity,\n    reconnectTimeout,",
    to: "    maxTotal: Duration.infinity,",
    test: "packages/gateway/test/lost.test.ts"
  },
  {
    name: "a query waits for a minute for an upstream server that is lost",
    file: "packages/gateway/src/Relay.ts",
    from: "client.request(method, sent as never, { reconnectTimeout, ...",
    to: "client.request(method, sent as never, { ...",
    test: "packages/gateway/test/lost.test.ts"
  },
  {
    name: "a call of a gateway waits for all tries to resume its stream",
    file: "packages/gateway/src/Gateway.ts",
    from: "Context.add(services, Resume, { timeout: reconnectTimeout })",
    to: "Context.add(services, Resume, {})",
    test: "packages/gateway/test/lost-http.test.ts"
  },
  {
    name: "a call to a mounted tool goes to the source that was mounted first, whatever it lists",
    file: "packages/server/src/features/SourceOwners.ts",
    from: "if (offers.size <= 1 || first === undefined) return first",
    to: "if (first !== undefined || offers.size <= 1) return first",
    test: "packages/gateway/test/mounted.test.ts"
  },
  {
    name: "mounted tools have no prefix",
    file: "packages/server/src/features/ToolRegistry.ts",
    from: "({ ...tool, name: prefix + tool.name })",
    to: "tool",
    test: "packages/gateway/test/mounted.test.ts",
    ids: ["tools.name.disambiguated"]
  },
  {
    name: "mounted tools have the name of their server in theirs",
    file: "packages/client/src/mount/Sources.ts",
    from: "list: listed(client.listTools)",
    to: "list: Effect.map(listed(client.listTools), (all) => all.map((tool) => ({ ...tool, name: client.serverInfo.name + tool.name })))",
    test: "packages/gateway/test/mounted.test.ts",
    ids: ["tools.name.not-by-server-name"]
  }
]
