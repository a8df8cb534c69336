/** What runs at a server whenever that changes, as lines of JSON. */
import type { Server } from "@effect-mcp/server/McpServer"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Cluster } from "./Cluster.ts"

/** Milliseconds between two snapshots at least, and for each row of one: a large one is dear to make, to send and to draw. */
const pause = 200
const pausePerRow = 1

/**
 * A snapshot at once, and one after each change; changes that come meanwhile are one. One comes every five seconds in any case, for what
 * no change announces, such as bytes that are not read; every second where there are other nodes. `count` is called with 1 and -1 when it begins and ends.
 */
export const changes = (
  server: Server,
  cluster: Cluster,
  closing: Effect.Effect<void>,
  count: (by: 1 | -1) => void
): Stream.Stream<Uint8Array> =>
  Stream.unwrap(
    Effect.gen(function* () {
      yield* Effect.acquireRelease(
        Effect.sync(() => count(1)),
        () => Effect.sync(() => count(-1))
      )
      let wait = 0
      const line = Effect.suspend(() =>
        Effect.map(Effect.delay(cluster.snapshot, wait), (snapshot) => {
          wait = pause + pausePerRow * (snapshot.requests.length + snapshot.sessions.length)
          return `${JSON.stringify(snapshot)}\n`
        })
      )
      return Stream.merge(Stream.tick(cluster.isShared ? "1 second" : "5 seconds"), server.requests.changes).pipe(
        Stream.buffer({ capacity: 1, strategy: "sliding" }),
        Stream.mapEffect(() => line),
        Stream.interruptWhen(closing),
        Stream.encodeText
      )
    })
  )
