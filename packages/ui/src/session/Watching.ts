/** Watched resources, which are read again after each update. */
import type * as McpClient from "@effect-mcp/client/McpClient"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import * as Stream from "effect/Stream"
import type { Watched } from "../messages/Events.ts"
import type { Board } from "./Board.ts"

/** Creates a connection's watches, which end with the scope. */
export const make = Effect.fnUntraced(function* (client: McpClient.Client, board: Board, now: () => number) {
  const fibers = yield* FiberMap.make<string>()
  const found = (uri: string) => board.state.watched.find((each) => each.uri === uri)
  const others = (uri: string) => board.state.watched.filter((each) => each.uri !== uri)
  const change = (uri: string, part: Partial<Watched>): void =>
    board.watched([...others(uri), { uri, updates: 0, changedAt: now(), ...found(uri), ...part }])
  const follow = (uri: string) =>
    client.watchResource(uri).pipe(
      Stream.runForEach(({ _tag }) => {
        change(uri, { updates: (found(uri)?.updates ?? 0) + (_tag === "Updated" ? 1 : 0), changedAt: now() })
        return Effect.map(client.readResource(uri, { fresh: true }), ({ contents }) =>
          change(uri, { contents, error: undefined })
        )
      }),
      Effect.match({
        onSuccess: () => change(uri, { error: "The server ended the subscription" }),
        onFailure: ({ message }) => change(uri, { error: message })
      })
    )
  return {
    watch: (uri: string) => FiberMap.run(fibers, uri, follow(uri), { onlyIfMissing: true }),
    unwatch: (uri: string) =>
      Effect.andThen(
        FiberMap.remove(fibers, uri),
        Effect.sync(() => board.watched(others(uri)))
      )
  }
})
