/** Faults of the gateway, each with the test that detects it. */
import type { Fault } from "@effect-mcp/spec/Fault"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "calls of the same subject of two issuers share a connection",
    file: "packages/gateway/src/upstream/Upstreams.ts",
    from: "JSON.stringify([callerKey(principal), revision.version,",
    to: "JSON.stringify([principal.subject, revision.version,",
    test: "packages/gateway/test/upstream/Upstreams.test.ts"
  },
  {
    name: "a call that waits cancels the call of another caller",
    file: "packages/gateway/src/upstream/UpstreamCalls.ts",
    from: "oldestOfHeaviest(among, undefined, caller)",
    to: "among[0]",
    test: "packages/gateway/test/upstream/UpstreamCalls.test.ts"
  },
  {
    name: "a call waits for ever for an upstream server that is lost",
    file: "packages/gateway/src/downstream/Relay.ts",
    from: "  maxTotal: Duration.infinity,\n  reconnectTimeout,",
    to: "  maxTotal: Duration.infinity,",
    test: "packages/gateway/test/lost.test.ts"
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
    name: "mounted tools contain the name of their server",
    file: "packages/client/src/mount/Sources.ts",
    from: "list: listed(client.listTools)",
    to: "list: Effect.map(listed(client.listTools), (all) => all.map((tool) => ({ ...tool, name: client.serverInfo.name + tool.name })))",
    test: "packages/gateway/test/mounted.test.ts",
    ids: ["tools.name.not-by-server-name"]
  },
  {
    name: "skills and views are lost between sessions and 2026-07-28",
    file: "packages/gateway/src/Translation.ts",
    from: "sameInBothEras.has(id)",
    to: "id === undefined",
    test: "packages/interop/test/official-extensions.test.ts"
  }
]
