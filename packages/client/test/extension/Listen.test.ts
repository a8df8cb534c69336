/** Subscriptions of an extension (2026-07-28), which sessions do not have. */
import * as ClientExtension from "@effect-mcp/client/ClientExtension"
import { InvalidResult } from "@effect-mcp/client/ClientError"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { all, cancellation, quiesce, versions } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"
import { added, declared, declaring, noted, Notes } from "../support/notes.ts"
import { recovering } from "../support/recovering.ts"
import { endOf, following } from "../support/watching.ts"

const { version } = Modern
const { key } = Notes.subscriptions.added

const listening = (granting = true) =>
  Effect.gen(function* () {
    const granted = yield* Modern.subscriptions(granting)
    const opened = yield* declared({ version, answers: { "subscriptions/listen": granted.answer } })
    const { client } = opened
    const listen = (ids: ReadonlyArray<number>) =>
      following(client.listen(Notes.subscriptions.added, ids, Notes.notifications.added))
    return { ...opened, ...granted, listen }
  })

describe("Extension subscriptions", () => {
  it.effect("An extension subscription emits its grant, then only its own notifications", () =>
    Effect.gen(function* () {
      const { listen, next, server } = yield* listening()
      const first = yield* listen([1, 2])
      const one = yield* next
      const second = yield* listen([3])
      const two = yield* next
      assert.deepStrictEqual([one.filter, two.filter], [{ [key]: [1, 2] }, { [key]: [3] }])
      one.tell(added, { id: 1 })
      two.tell(added, { id: 3 })
      server.peer.notify(added, { id: 4 })
      one.tell(Notes.notifications.removed.method)
      one.tell(added, { id: 2 })
      const events = [yield* first.next, yield* first.next, yield* first.next]
      assert.deepStrictEqual(events, [
        { _tag: "Listening", granted: [1, 2] },
        { _tag: "Notification", params: { id: 1 } },
        { _tag: "Notification", params: { id: 2 } }
      ])
      assert.deepStrictEqual(
        [yield* second.next, yield* second.next].map(({ _tag }) => _tag),
        ["Listening", "Notification"]
      )
      yield* quiesce
      assert.strictEqual((yield* first.waiting) + (yield* second.waiting), 0)
    })
  )

  it.effect("An extension subscription can be granted in part", () =>
    Effect.gen(function* () {
      const { listen, next } = yield* listening(false)
      const events = yield* listen([1, 2])
      const { acknowledge } = yield* next
      acknowledge({ [key]: [2] })
      assert.deepStrictEqual(yield* events.next, { _tag: "Listening", granted: [2] })
      acknowledge({ [key]: [1] })
      yield* quiesce
      assert.strictEqual(yield* events.waiting, 0)
    })
  )

  it.effect("Ending the stream cancels an extension subscription once", () =>
    Effect.gen(function* () {
      const { listen, next, server } = yield* listening()
      const events = yield* listen([1])
      const { id } = yield* next
      yield* events.next
      yield* Fiber.interrupt(events.fiber)
      assert.strictEqual((yield* cancellation(server)).params?.requestId, id)
      yield* quiesce
      assert.deepStrictEqual(
        Modern.methods(server).filter((method) => method === "notifications/cancelled"),
        ["notifications/cancelled"]
      )
    })
  )

  it.effect("An extension subscription fails with CapabilityMissing if the server grants a different one", () =>
    Effect.gen(function* () {
      for (const granted of [{}, { toolsListChanged: true }, JSON.parse(`{"__proto__":{"${key}":[1]}}`)]) {
        const { listen, next, server } = yield* listening(false)
        const events = yield* listen([1])
        const { acknowledge } = yield* next
        acknowledge(granted)
        assert.deepInclude(yield* endOf(events), { _tag: "CapabilityMissing", capability: key })
        yield* cancellation(server)
        assert.strictEqual(yield* events.waiting, 0)
      }
    })
  )

  it.effect("An extension subscription fails with InvalidResult if its grant is malformed", () =>
    Effect.gen(function* () {
      const { listen, next } = yield* listening(false)
      const events = yield* listen([1])
      const { acknowledge } = yield* next
      acknowledge({ [key]: "all" })
      assert.instanceOf(yield* endOf(events), InvalidResult)
    })
  )

  it.effect("An extension subscription is reopened on the next connection and emits the new grant", () =>
    Effect.gen(function* () {
      const granted = yield* Modern.subscriptions(true)
      const { client, server } = yield* recovering({
        version,
        script: () => ({
          version,
          capabilities: declaring(version),
          answers: { "subscriptions/listen": granted.answer }
        })
      })
      const events = yield* following(client.listen(Notes.subscriptions.added, [1], Notes.notifications.added))
      yield* granted.next
      assert.deepStrictEqual(yield* events.next, { _tag: "Listening", granted: [1] })
      server(0).cut()
      const again = yield* granted.next
      again.tell(added, { id: 1 })
      assert.deepStrictEqual(yield* events.next, { _tag: "Listening", granted: [1] })
      assert.deepStrictEqual(yield* events.next, { _tag: "Notification", params: { id: 1 } })
    }).pipe(Effect.provide(ClientExtension.layer(Notes)))
  )

  it.effect("An extension subscription keeps the newest 256 events of a flood", () =>
    Effect.gen(function* () {
      const { client, next } = yield* listening()
      const ids: Array<number> = []
      const slow = client.listen(Notes.subscriptions.added, [1], Notes.notifications.added).pipe(
        Stream.mapEffect((event) => Effect.as(event._tag === "Listening" ? quiesce : Effect.void, event)),
        Stream.runForEach((event) => Effect.sync(() => event._tag === "Notification" && ids.push(event.params.id)))
      )
      yield* Effect.forkChild(slow, { startImmediately: true })
      const { tell } = yield* next
      for (let id = 0; id < 1000; id++) tell(added, { id })
      yield* quiesce
      yield* quiesce
      assert.isAtMost(ids.length, 512)
      assert.deepStrictEqual(
        ids.slice(-100),
        Array.from({ length: 100 }, (_, i) => 900 + i)
      )
    })
  )
})

describe.each(versions)("Extension subscriptions in %s", (version) => {
  it.effect("In a session, an extension subscription fails with CapabilityMissing and sends nothing", () =>
    Effect.gen(function* () {
      const { client, server } = yield* declared({ version })
      const error = yield* Effect.flip(Stream.runDrain(client.listen(Notes.subscriptions.added, [1])))
      assert.deepInclude(error, { _tag: "CapabilityMissing", capability: "subscriptions/listen" })
      assert.notInclude(Modern.methods(server), "subscriptions/listen")
    })
  )
})

it.effect.each(all)("An extension subscription fails in %s unless both sides declared it", (version) =>
  Effect.gen(function* () {
    const { client } = yield* noted({ version })
    const undeclared = yield* declared({ version, capabilities: {} })
    for (const { listen } of [client, undeclared.client]) {
      const error = yield* Effect.flip(Stream.runDrain(listen(Notes.subscriptions.added, [1])))
      assert.deepInclude(error, { _tag: "CapabilityMissing", capability: "com.example/notes" })
    }
  })
)
