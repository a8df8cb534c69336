/** Notifications of an extension in both directions, and methods that no extension describes. */
import * as ClientExtension from "@effect-mcp/client/ClientExtension"
import * as Extension from "@effect-mcp/core/Extension"
import type * as Peer from "@effect-mcp/core/Peer"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Queue, Stream } from "effect"
import { all, collect, quiesce } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"
import { added, declared, declaring, noted, Notes } from "../support/notes.ts"
import { fork, recovering } from "../support/recovering.ts"
import { following } from "../support/watching.ts"

const { removed, seen } = Notes.notifications

const tell = (peer: Peer.Peer, ids: Iterable<unknown>): void => {
  for (const id of ids) peer.notify(added, { id })
}
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i)

describe.each(all)("Extension notifications in %s", (version) => {
  it.effect("Extension notifications are handled one at a time, in order", () =>
    Effect.gen(function* () {
      const handled: Array<string> = []
      const gate = yield* Deferred.make<void>()
      const layer = ClientExtension.layer(Notes, {
        notifications: {
          added: ({ id }) =>
            Effect.andThen(
              Deferred.await(gate),
              Effect.sync(() => handled.push(`added ${id}`))
            ),
          removed: () => Effect.sync(() => handled.push("removed"))
        }
      })
      const answers = { "tools/list": () => Modern.complete({ tools: [] }) }
      const { client, server } = yield* Effect.provide(noted({ version, answers }), layer)
      tell(server.peer, [1, 2])
      server.peer.notify(removed.method)
      tell(server.peer, [3])
      assert.deepStrictEqual((yield* client.request("tools/list", {})).tools, [])
      assert.deepStrictEqual(handled, [])
      yield* Deferred.succeed(gate, undefined)
      yield* quiesce
      assert.deepStrictEqual(handled, ["added 1", "added 2", "removed", "added 3"])
    })
  )

  it.effect("An extension notification reaches every stream and handler of its method only", () =>
    Effect.gen(function* () {
      const handled: Array<number> = []
      const layer = ClientExtension.layer(Notes, {
        notifications: { added: ({ id }) => Effect.sync(() => handled.push(id)) }
      })
      const { client, server } = yield* Effect.provide(noted({ version }), layer)
      const streams = yield* Effect.forEach([1, 2], () =>
        fork(collect(Stream.take(client.notifications(Notes.notifications.added), 2)))
      )
      const others = yield* following(client.notifications(removed))
      yield* quiesce
      server.peer.notify(removed.method)
      tell(server.peer, [1, 2])
      for (const stream of streams) {
        assert.deepStrictEqual(yield* Fiber.join(stream), [{ id: 1 }, { id: 2 }])
      }
      yield* quiesce
      assert.strictEqual(yield* others.waiting, 1)
      assert.deepStrictEqual(handled, [1, 2])
    })
  )

  it.effect("A slow handler or stream keeps the newest 256 notifications per method", () =>
    Effect.gen(function* () {
      const handled: Array<number> = []
      const gate = yield* Deferred.make<void>()
      const layer = ClientExtension.layer(Notes, {
        notifications: {
          added: ({ id }) =>
            Effect.andThen(
              Deferred.await(gate),
              Effect.sync(() => handled.push(id))
            )
        }
      })
      const answers = { "tools/list": () => Modern.complete({ tools: [] }) }
      const { client, server } = yield* Effect.provide(noted({ version, answers }), layer)
      const read: Array<number> = []
      const slow = Stream.runForEach(client.notifications(Notes.notifications.added), ({ id }) =>
        Effect.andThen(
          Deferred.await(gate),
          Effect.sync(() => read.push(id))
        )
      )
      const other = yield* fork(collect(Stream.take(client.notifications(removed), 1)))
      yield* fork(slow)
      yield* quiesce
      server.peer.notify(removed.method)
      tell(server.peer, upTo(1000))
      yield* client.request("tools/list", {})
      yield* Deferred.succeed(gate, undefined)
      yield* quiesce
      yield* Fiber.join(other)
      assert.isAtMost(handled.length, 1 + 256)
      // The stream may have taken up to 256 at once before.
      assert.isAtMost(read.length, 256 + 256)
      for (const ids of [handled, read]) assert.deepStrictEqual(ids.slice(-256), upTo(1000).slice(-256))
    })
  )

  it.effect("A malformed notification or one that crashes its handler is reported and skipped", () =>
    Effect.gen(function* () {
      const dropped: Array<string> = []
      const handled: Array<number> = []
      const layer = ClientExtension.layer(Notes, {
        notifications: {
          added: ({ id }) => (id === 2 ? Effect.die(new Error("broken")) : Effect.sync(() => handled.push(id)))
        }
      })
      const { client, server } = yield* Effect.provide(
        noted({ version }, { dropped: (reason) => dropped.push(reason) }),
        layer
      )
      const stream = yield* fork(collect(Stream.take(client.notifications(Notes.notifications.added), 3)))
      yield* quiesce
      tell(server.peer, [1, "x", 2, 3])
      assert.deepStrictEqual(yield* Fiber.join(stream), [{ id: 1 }, { id: 2 }, { id: 3 }])
      yield* quiesce
      assert.deepStrictEqual(handled, [1, 3])
      assert.lengthOf(
        dropped.filter((reason) => reason.includes("Invalid notification")),
        2
      )
      assert.lengthOf(
        dropped.filter((reason) => reason.includes("broken")),
        1
      )
    })
  )

  it.effect("After an interrupted handler is reported, the next notification is handled", () =>
    Effect.gen(function* () {
      const dropped: Array<string> = []
      const handled: Array<number> = []
      const layer = ClientExtension.layer(Notes, {
        notifications: { added: ({ id }) => (id === 1 ? Effect.interrupt : Effect.sync(() => handled.push(id))) }
      })
      const { server } = yield* Effect.provide(noted({ version }, { dropped: (reason) => dropped.push(reason) }), layer)
      tell(server.peer, [1, 2, 3])
      yield* quiesce
      assert.deepStrictEqual(handled, [2, 3])
      assert.lengthOf(dropped, 1)
    })
  )

  it.effect("A notification is unknown without the extension's layer or the server's declaration", () =>
    Effect.gen(function* () {
      const unknownTo = (layer: Layer.Layer<never>, capabilities: object) =>
        Effect.gen(function* () {
          const dropped: Array<string> = []
          const { client, server } = yield* noted(
            { version, capabilities },
            { dropped: (reason) => dropped.push(reason) }
          )
          const error = yield* Effect.flip(Stream.runDrain(client.notifications(Notes.notifications.added)))
          assert.strictEqual(error._tag, "CapabilityMissing")
          tell(server.peer, [1])
          yield* quiesce
          assert.deepStrictEqual(dropped, [`Unknown notification: ${added}`])
        }).pipe(Effect.provide(layer))
      const handling = ClientExtension.layer(Notes, { notifications: { added: () => Effect.die("handled") } })
      yield* unknownTo(Layer.empty, declaring(version))
      yield* unknownTo(handling, {})
    })
  )

  it.effect("A closing client ends its notification streams and leaves no listener", () =>
    Effect.gen(function* () {
      const ended = yield* Effect.scoped(
        Effect.gen(function* () {
          const { client, server } = yield* declared({ version })
          const stream = yield* Effect.forkDetach(collect(client.notifications(Notes.notifications.added)), {
            startImmediately: true
          })
          const raw = yield* Effect.forkDetach(collect(client.raw.notifications), { startImmediately: true })
          yield* quiesce
          tell(server.peer, [1])
          yield* quiesce
          return { raw, stream }
        })
      )
      assert.deepStrictEqual(yield* Fiber.join(ended.stream), [{ id: 1 }])
      assert.deepStrictEqual(yield* Fiber.join(ended.raw), [])
    })
  )

  it.effect("A client notification includes the extension's declaration if there is no session", () =>
    Effect.gen(function* () {
      const { client, server } = yield* declared({ version })
      yield* client.notify(seen, { id: 7 })
      const heard = yield* Effect.repeat(server.notification, { until: ({ method }) => method === seen.method })
      assert.strictEqual(heard.params?.["id"], 7)
      assert.strictEqual(heard.params?._meta !== undefined, version === Modern.version)
    })
  )

  it.effect("A client notification is not sent without both declarations or with invalid params", () =>
    Effect.gen(function* () {
      const { client, server } = yield* declared({ version, capabilities: {} })
      assert.strictEqual((yield* Effect.flip(client.notify(seen, { id: 7 })))._tag, "CapabilityMissing")
      const undeclared = yield* noted({ version })
      assert.strictEqual((yield* Effect.flip(undeclared.client.notify(seen, { id: 7 })))._tag, "CapabilityMissing")
      const { client: declaring } = yield* declared({ version })
      assert.strictEqual((yield* Effect.flip(declaring.notify(seen, { id: 1.5 })))._tag, "McpError")
      yield* quiesce
      assert.notInclude(Modern.methods(server), seen.method)
    })
  )

  it.effect("A client notification waits while the transport is full or reconnects", () =>
    Effect.gen(function* () {
      const { client, server } = yield* recovering({
        version,
        script: () => ({ version, capabilities: declaring(version) }),
        wire: (transport, n) => (n > 0 ? transport : { ...transport, sink: { ...transport.sink, ready: Effect.never } })
      })
      const sent = yield* fork(client.notify(seen, { id: 1 }))
      yield* quiesce
      assert.notInclude(Modern.methods(server(0)), seen.method)
      server(0).cut()
      yield* Fiber.join(sent)
      yield* quiesce
      assert.include(Modern.methods(server(1)), seen.method)
    }).pipe(Effect.provide(ClientExtension.layer(Notes)))
  )
})

describe.each(all)("Undescribed methods in %s", (version) => {
  const method = "com.acme/any"
  const params = { a: { b: [1] }, _meta: { "com.acme/key": 1 } }

  it.effect("An undescribed method is sent unchanged, and its result is not decoded", () =>
    Effect.gen(function* () {
      const answer = { resultType: "com.acme", odd: [1], _meta: { x: 1 } }
      const { client, server } = yield* noted({ version, answers: { [method]: () => answer } })
      const events: Array<number> = []
      const result = yield* client.raw.request(method, params, {
        onProgress: ({ progress }) => void events.push(progress),
        meta: { "com.acme/more": 2 }
      })
      assert.deepStrictEqual(result, answer)
      const sent = server.requests(method)[0]?.params
      assert.deepStrictEqual(sent?.["a"], params.a)
      assert.deepInclude(sent?._meta, { "com.acme/key": 1, "com.acme/more": 2 })
      assert.property(sent?._meta, "progressToken")
    })
  )

  it.effect("An undescribed method fails with the server's unchanged error", () =>
    Effect.gen(function* () {
      const { client } = yield* noted({ version })
      const error = yield* Effect.flip(client.raw.request(method))
      assert.deepInclude(error, { _tag: "McpError", code: -32601 })
    })
  )

  it.effect("An unknown notification is received and sent undecoded", () =>
    Effect.gen(function* () {
      const dropped: Array<string> = []
      const { client, server } = yield* noted({ version }, { dropped: (reason) => dropped.push(reason) })
      const others = yield* following(client.raw.notifications)
      yield* quiesce
      server.peer.notify("notifications/com.acme/x", params)
      server.peer.notify("notifications/tools/list_changed")
      assert.deepStrictEqual(yield* others.next, { method: "notifications/com.acme/x", params, relatedTo: undefined })
      assert.deepStrictEqual(dropped, [])
      yield* Fiber.interrupt(others.fiber)
      server.peer.notify("notifications/com.acme/x", params)
      yield* quiesce
      assert.deepStrictEqual(dropped, ["Unknown notification: notifications/com.acme/x"])
      assert.strictEqual(yield* others.waiting, 0)
      yield* client.raw.notify("notifications/com.acme/y", params)
      const heard = yield* Effect.repeat(server.notification, {
        until: ({ method }) => method === "notifications/com.acme/y"
      })
      assert.deepStrictEqual(heard.params?.["a"], params.a)
    })
  )
})

it.effect("Questions in an undescribed result are answered, or returned on request", () =>
  Effect.gen(function* () {
    const { version } = Modern
    const asking = { resultType: "input_required", requestState: "s" }
    const { client } = yield* noted({
      version,
      answers: { "com.acme/any": ({ requestState }) => (requestState === "s" ? Modern.complete({ a: 1 }) : asking) }
    })
    assert.deepStrictEqual(yield* client.raw.request("com.acme/any"), Modern.complete({ a: 1 }))
    assert.deepStrictEqual(yield* client.raw.request("com.acme/any", {}, { questions: "returned" }), asking)
  })
)

it.effect("A slow notification handler does not delay another extension's notifications", () =>
  Effect.gen(function* () {
    const version = "2025-11-25"
    const Other = Extension.make("com.example/other", {
      notifications: { said: Extension.notification("notifications/com.example/other/said", { from: "server" }) }
    })
    const heard = yield* Queue.unbounded<string>()
    const layers = Layer.merge(
      ClientExtension.layer(Notes, { notifications: { added: () => Effect.never } }),
      ClientExtension.layer(Other, { notifications: { said: () => Effect.asVoid(Queue.offer(heard, "said")) } })
    )
    const capabilities = {
      experimental: { ...declaring(version).experimental, "com.example/other": {} }
    }
    const { server } = yield* Effect.provide(noted({ version, capabilities }), layers)
    tell(server.peer, [1])
    server.peer.notify(Other.notifications.said.method)
    assert.strictEqual(yield* Queue.take(heard), "said")
  })
)
