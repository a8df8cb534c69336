/** Faults with the interop test that detects each. */
import type { Fault } from "@effect-mcp/spec/Fault"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "an endpoint for HTTP with SSE next to the other has no path",
    file: "packages/server/src/http/legacy/SseEndpoint.ts",
    from: 'Effect.andThen(router.add("*", options.path, open), router',
    to: 'Effect.andThen(router.add("*", `${options.path}/none`, open), router',
    test: "packages/interop/test/process/http-and-sse.test.ts",
    ids: ["http.compatibility.server-hosts-both"]
  }
]
