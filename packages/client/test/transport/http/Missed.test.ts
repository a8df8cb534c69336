/** Messages that a session's own stream may have missed while it was not open (2025-03-26 to 2025-11-25). */
import * as McpClient from "@effect-mcp/client/McpClient"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Queue, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { everything, initializeResult } from "../../support/scripted.ts"
import { sessions } from "./support/peer.ts"
import * as Raw from "./support/raw.ts"

const following = <A, E>(stream: Stream.Stream<A, E>) =>
  Effect.gen(function* () {
    const events = yield* Queue.unbounded<A>()
    const fiber = yield* Effect.forkScoped(Stream.runForEach(stream, (event) => Queue.offer(events, event)))
    return { next: Queue.take(events), leave: Fiber.interrupt(fiber) }
  })

/** A client that watches `a:b`, and the GET that opens its session's stream. */
const watching = Effect.fnUntraced(function* (version: (typeof sessions)[number]) {
  const server = yield* Raw.open
  const opening = yield* Effect.forkChild(
    Layer.build(
      McpClient.layerHttp({
        url: server.url,
        revisions: [version],
        resume: { delay: "1 millis", maxDelay: "1 millis" }
      }).pipe(Layer.provide(FetchHttpClient.layer), Layer.fresh)
    )
  )
  const hello = yield* server.take("POST")
  const result = initializeResult({ version, capabilities: everything })
  yield* hello.result(result, { "mcp-session-id": "session-1" })
  yield* (yield* server.take("POST")).status(202)
  const client = Context.get(yield* Fiber.join(opening), McpClient.McpClient)
  const get = yield* server.take("GET")
  yield* get.stream()
  const watch = yield* following(client.watchResource("a:b"))
  yield* (yield* server.take("POST")).result({})
  assert.strictEqual((yield* watch.next)._tag, "Watching")
  const changed = yield* following(client.toolChanges)
  // Nothing remains to be sent when the client is closed.
  const leave = Effect.gen(function* () {
    yield* watch.leave
    yield* (yield* server.take("POST")).result({})
    const ping = yield* Effect.forkChild(client.ping)
    yield* (yield* server.take("POST")).result({})
    yield* Fiber.join(ping)
  })
  return { get, next: watch.next, changed: changed.next, leave, server }
})

const updated = { jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri: "a:b" } }

describe.each(sessions)("The session stream in %s", (version) => {
  it.live("Watchers and listeners are notified when a reopened session stream may have missed events", () =>
    Effect.gen(function* () {
      const { changed, get, leave, next, server } = yield* watching(version)
      yield* get.event({ data: updated })
      assert.strictEqual((yield* next)._tag, "Updated")
      yield* get.destroy
      const again = yield* server.take("GET")
      assert.notProperty(again.headers, "last-event-id")
      yield* again.stream()
      assert.deepStrictEqual(yield* next, { _tag: "Watching", uri: "a:b" })
      yield* changed
      yield* again.event({ data: updated })
      assert.strictEqual((yield* next)._tag, "Updated")
      yield* leave
    })
  )

  it.live("A resumed session stream misses no events", () =>
    Effect.gen(function* () {
      const { get, leave, next, server } = yield* watching(version)
      yield* get.event({ id: "1", data: updated })
      assert.strictEqual((yield* next)._tag, "Updated")
      yield* get.destroy
      const again = yield* server.take("GET")
      assert.strictEqual(again.headers["last-event-id"], "1")
      yield* again.stream()
      yield* again.event({ id: "2", data: updated })
      assert.deepStrictEqual(yield* next, { _tag: "Updated", uri: "a:b" })
      yield* leave
    })
  )

  it.live("A session stream that cannot be resumed is reopened", () =>
    Effect.gen(function* () {
      const { get, leave, next, server } = yield* watching(version)
      yield* get.event({ id: "1", data: updated })
      assert.strictEqual((yield* next)._tag, "Updated")
      yield* get.destroy
      const forgotten = yield* server.take("GET")
      assert.strictEqual(forgotten.headers["last-event-id"], "1")
      yield* forgotten.status(410)
      const again = yield* server.take("GET")
      assert.notProperty(again.headers, "last-event-id")
      yield* again.stream()
      assert.strictEqual((yield* next)._tag, "Watching")
      yield* leave
    })
  )
})
