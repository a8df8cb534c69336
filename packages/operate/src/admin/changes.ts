/** Streams snapshots as lines of JSON whenever something changes. */
import type { Server } from "@effect-mcp/server/McpServer"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Cluster } from "./Cluster.ts"

/**
 * Minimum time between snapshots in milliseconds, plus extra time per row, because a large snapshot is expensive to build, send and draw.
 */
const pause = 200
const pausePerRow = 1

/**
 * Emits a snapshot immediately, and another after each change; changes in quick succession share one. Also emits one every five seconds for
 * values that change without notice, such as unread bytes, or every second if there are other nodes.
 *
 * All followers share a single reader, which runs as long as there is a follower. A new follower starts with the latest line. A follower
 * that reads too slowly misses lines, but never the latest one.
 */
export const changes = (
  { requests }: Pick<Server, "requests">,
  cluster: Pick<Cluster, "isShared" | "snapshot">
): Effect.Effect<Stream.Stream<Uint8Array>, never, Scope.Scope> =>
  Stream.suspend(() => {
    let wait = 0
    const line = Effect.suspend(() =>
      Effect.map(Effect.delay(cluster.snapshot, wait), (snapshot) => {
        wait = pause + pausePerRow * (snapshot.requests.length + snapshot.sessions.length)
        return `${JSON.stringify(snapshot)}\n`
      })
    )
    return Stream.merge(Stream.tick(cluster.isShared ? "1 second" : "5 seconds"), requests.changes).pipe(
      Stream.buffer({ capacity: 1, strategy: "sliding" }),
      Stream.mapEffect(() => line),
      Stream.encodeText
    )
  }).pipe(Stream.share({ capacity: 1, strategy: "sliding", replay: 1 }))
