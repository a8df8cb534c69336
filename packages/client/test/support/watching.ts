/** Watchers of a hand-written server. */
import type * as McpClient from "@effect-mcp/client/McpClient"
import type { Exit } from "effect"
import { Effect, Fiber, Queue, Stream } from "effect"
import type * as Scripted from "./scripted.ts"

export const updated = "notifications/resources/updated"
export const subscribes: Scripted.Script["answers"] = {
  "resources/subscribe": () => ({}),
  "resources/unsubscribe": () => ({})
}

/** Runs a stream in a fiber and returns its events one by one. */
export const following = <A, E>(stream: Stream.Stream<A, E>) =>
  Effect.gen(function* () {
    const events = yield* Queue.unbounded<A>()
    const fiber = yield* Effect.forkChild(
      Effect.exit(Stream.runForEach(stream, (event) => Queue.offer(events, event))),
      { startImmediately: true }
    )
    return { next: Queue.take(events), fiber, waiting: Queue.size(events) }
  })

export const endOf = (watch: { readonly fiber: Fiber.Fiber<Exit.Exit<unknown, McpClient.ClientError>> }) =>
  Effect.flip(Effect.flatten(Fiber.join(watch.fiber)))

export const tags = (watch: { readonly next: Effect.Effect<McpClient.WatchEvent> }, count: number) =>
  Effect.forEach(Array.from({ length: count }), () => Effect.map(watch.next, ({ _tag }) => _tag))
