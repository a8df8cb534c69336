/** Faults put in by hand, and the test of the interop suite that notices each. */
import type { Fault } from "@effect-mcp/spec/Fault"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "an endpoint for HTTP with SSE beside the other answers at no path",
    file: "packages/server/src/http/legacy/SseEndpoint.ts",
    from: 'Effect.andThen(router.add("*", options.path, open), router',
    to: 'Effect.andThen(router.add("*", `${options.path}/none`, open), router',
    test: "packages/everything/test/process/http-and-sse.test.ts",
    ids: ["http.compatibility.server-hosts-both"]
  }
]
