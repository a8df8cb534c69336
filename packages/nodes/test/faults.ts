/** Small faults in this package, each with the test that detects it: `npm run requirements -- --prove`. */
import type { Fault } from "@effect-mcp/spec/Fault"

const relay = "packages/nodes/test/relay/TcpRelay.test.ts"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "The sizes of sessions that other nodes took over are kept for ever",
    file: "packages/nodes/src/events/Sizes.ts",
    from: "if (this.streams.size <= maxStreams) break",
    to: "if (this.streams.size > 0) break",
    test: "packages/nodes/test/events/Sizes.test.ts"
  },
  {
    name: "A wrong URL of a Redis is told with its password",
    file: "packages/nodes/src/redis/layer.ts",
    from: "yield* checked(url)",
    to: "yield* Effect.ignore(checked(url))",
    test: "packages/nodes/test/process/redis/redis.test.ts"
  },
  {
    name: "A relay takes requests without the secret of the nodes",
    file: "packages/nodes/src/relay/handshake.ts",
    from: "timingSafeEqual(given, expected)",
    to: "timingSafeEqual(given, given)",
    test: relay
  }
]
