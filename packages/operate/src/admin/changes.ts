/** What runs at a server whenever that changes, as lines of JSON. */
import type { Server } from "@effect-mcp/server/McpServer"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Cluster } from "./Cluster.ts"

/** Milliseconds between two snapshots at least, and for each row of one: a large one is dear to make, to send and to draw. */
const pause = 200
const pausePerRow = 1

/**
 * A snapshot at once, and one after each change; changes that come meanwhile are one. One comes every five seconds in any case, for what
 * no change announces, such as bytes that are not read; every second where there are other nodes.
 *
 * All followers have the lines of one reader, which reads while there is a follower. A new one begins with the last line. One that does
 * not read loses lines, and is owed no more than the last.
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
