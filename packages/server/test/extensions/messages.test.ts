/**
 * The client's half of an extension as handlers use it: questions, notifications in both directions, and subscriptions.
 */
import { CapabilityMissing } from "@effect-mcp/core/ClientInput"
import * as Extensions from "@effect-mcp/core/Extensions"
import * as Once from "@effect-mcp/core/Once"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Version } from "@effect-mcp/protocol/Revision"
import { subscriptionId } from "@effect-mcp/protocol/model/Meta"
import * as Scripted from "@effect-mcp/testing/Scripted"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Queue, Schema, Scope, Stream } from "effect"
import * as Extension from "@effect-mcp/core/Extension"
import { TestClock } from "effect/testing"
import { metaOf, open } from "../support/modern.ts"
import { declaring, id, Notes } from "../support/notes.ts"
import {
  type Client,
  type ConnectOptions,
  connect,
  everyVersion,
  quiesce,
  serve,
  session,
  versions
} from "../support/raw.ts"

const { pick } = Notes.questions
const { added, seen } = Notes.notifications

/** The whole extension; parts that a test does not exercise do nothing. */
const notes = (handlers: {
  readonly find?: Effect.Effect<{ readonly ids: ReadonlyArray<number> }, any, any>
  readonly seen?: (params: { readonly id: number }) => Effect.Effect<void, never, any>
  readonly added?: (
    filter: ReadonlyArray<number>
  ) => Effect.Effect<Extensions.Granted<ReadonlyArray<number>, never> | undefined, McpError.McpError, any>
}): Layer.Layer<never, never, Extensions.ExtensionRegistry> =>
  Extensions.layer(Notes, {
    settings: { limit: 1 },
    requests: { find: () => handlers.find ?? Effect.succeed({ ids: [] }) },
    notifications: { seen: handlers.seen ?? (() => Effect.void) },
    subscriptions: { added: handlers.added ?? (() => Effect.undefined) }
  }) as Layer.Layer<never, never, Extensions.ExtensionRegistry>

const find = ({ request }: Pick<Client, "request">) => request(Notes.requests.find.method, { text: "" })

const picking = (answer: NonNullable<ConnectOptions["answer"]>, version: (typeof all)[number]): ConnectOptions => ({
  version,
  capabilities: declaring(version),
  answer
})
const all = everyVersion()

describe("Extension questions", () => {
  const asking = notes({ find: Effect.map(Extensions.ask(pick, { ids: [1, 2] }), ({ id }) => ({ ids: [id] })) })

  for (const version of all) {
    it.effect(`An extension question returns the client's answer to the handler (${version})`, () =>
      Effect.gen(function* () {
        const client = yield* session(
          asking,
          picking((_method, { ids }) => Effect.succeed({ id: ids[1] }), version)
        )
        assert.deepStrictEqual(yield* find(client), { ids: [2] })
        assert.deepStrictEqual(client.asked, [{ method: pick.method, params: { ids: [1, 2] } }])
      })
    )

    it.effect(`A tool can ask an extension question (${version})`, () =>
      Effect.gen(function* () {
        const Pick = Tool.make("pick", { description: "Picks" })
        const tool = Tools.layer(Pick, () =>
          Effect.map(Effect.catch(Extensions.ask(pick, { ids: [1] }), Effect.die), ({ id }) => `Picked ${id}`)
        )
        const features = Layer.merge(tool, notes({}))
        const client = yield* session(
          features,
          picking(() => Effect.succeed({ id: 1 }), version)
        )
        assert.strictEqual((yield* client.call("pick")).content[0].text, "Picked 1")
      })
    )

    it.effect(
      `An extension question is not sent to a client without the extension (${version})`,
      () =>
        Effect.gen(function* () {
          const Pick = Tool.make("pick", { description: "Picks" })
          const tool = Tools.layer(Pick, () =>
            Effect.as(Extensions.ask(pick, { ids: [] }), "Picked").pipe(
              Effect.catch((error) =>
                error instanceof CapabilityMissing ? Effect.succeed(`lacks ${error.capability}`) : Effect.die(error)
              )
            )
          )
          const client = yield* session(Layer.merge(tool, notes({})), { version })
          assert.strictEqual((yield* client.call("pick")).content[0].text, `lacks ${id}`)
          assert.deepStrictEqual(client.asked, [])
        }),
      verifies("versioning.extension.unsupported")
    )
  }

  for (const version of versions()) {
    it.effect(
      `An extension question fails with its declared failure if the client returns that error (${version})`,
      () =>
        Effect.gen(function* () {
          const failing = notes({
            find: Effect.matchEffect(Extensions.ask(pick, { ids: [] }), {
              onSuccess: () => Effect.die("unexpected"),
              onFailure: (failure) => Effect.succeed({ ids: ["none" in failure && failure.none ? 1 : 0] })
            })
          })
          const data = { [Extension.failureKey]: { none: true } }
          const error = new McpError.McpError({ code: Extension.failureCode, message: "None", data })
          const client = yield* session(
            failing,
            picking(() => Effect.fail(error), version)
          )
          assert.deepStrictEqual(yield* find(client), { ids: [1] })
        })
    )

    it.effect(`An extension question fails on an invalid answer or a client error (${version})`, () =>
      Effect.gen(function* () {
        const unfit = yield* session(
          asking,
          picking(() => Effect.succeed({ id: "a" }), version)
        )
        assert.deepInclude(yield* Effect.flip(find(unfit)), { code: McpError.InternalError })
        const other = yield* session(
          asking,
          picking(() => Effect.fail(McpError.methodNotFound("pick")), version)
        )
        assert.deepInclude(yield* Effect.flip(find(other)), { code: McpError.MethodNotFound })
      })
    )
  }

  it.effect("An extension question is interrupted when the client disconnects", () =>
    Effect.gen(function* () {
      const ended = yield* Deferred.make<Exit.Exit<unknown, unknown>>()
      const server = yield* serve({
        features: notes({
          find: Effect.onExit(Effect.as(Extensions.ask(pick, { ids: [] }), { ids: [] }), (exit) =>
            Deferred.succeed(ended, exit)
          )
        })
      })
      const scope = yield* Scope.make()
      const client = yield* Scope.provide(connect(server, { capabilities: declaring("2025-11-25") }), scope)
      yield* Effect.forkChild(find(client))
      yield* client.nextAsk
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(Exit.isFailure(yield* Deferred.await(ended)))
      yield* quiesce
      assert.deepStrictEqual(yield* server.sessions, [])
    })
  )

  it.effect("A 2026-07-28 extension question takes a round, and earlier steps run only once", () =>
    Effect.gen(function* () {
      let steps = 0
      const step = Once.run(
        "step",
        Schema.Int,
        Effect.sync(() => ++steps)
      )
      const features = notes({
        find: Effect.flatMap(step, (first) =>
          Effect.map(Extensions.ask(pick, { ids: [first] }, { key: "which" }), ({ id }) => ({ ids: [first, id] }))
        )
      })
      const client = yield* open(features, { capabilities: declaring("2026-07-28") })
      const { asked, result } = yield* client.play(Notes.requests.find.method, { text: "a" }, () => ({ id: 5 }))
      assert.deepStrictEqual(result.ids, [1, 5])
      assert.deepStrictEqual(asked, [[{ method: pick.method, params: { ids: [1] } }]])
      assert.strictEqual(steps, 1)
      const { requestState } = yield* client.request(Notes.requests.find.method, { text: "a" })
      const answers = { requestState, inputResponses: { which: { id: 5 } } }
      const other = yield* client.refused(Notes.requests.find.method, { text: "b", ...answers })
      assert.strictEqual(other.code, McpError.InvalidParams)
      const again = yield* client.request(Notes.requests.find.method, { text: "a", ...answers })
      assert.deepStrictEqual(again.ids, [2, 5])
    })
  )

  it.effect("An extension question is asked again after an invalid answer", () =>
    Effect.gen(function* () {
      const features = notes({
        find: Effect.matchEffect(Extensions.ask(pick, { ids: [] }), {
          onSuccess: ({ id }) => Effect.succeed({ ids: [id] }),
          onFailure: (failure) => Effect.succeed({ ids: ["none" in failure ? -1 : 0] })
        })
      })
      const client = yield* open(features, { capabilities: declaring("2026-07-28") })
      const answers: Array<object> = [{ id: "unfit" }, { _meta: { [Extension.failureKey]: { none: true } } }]
      const { asked, result } = yield* client.play(Notes.requests.find.method, { text: "" }, () => answers.shift())
      assert.deepStrictEqual([asked.length, result.ids], [2, [-1]])
    })
  )
})

describe("Server notifications", () => {
  for (const version of all) {
    it.effect(`A server notification is sent on its request's stream, before the answer (${version})`, () =>
      Effect.gen(function* () {
        const features = notes({ find: Effect.as(Extensions.notify(added, { id: 3 }), { ids: [3] }) })
        const client = yield* session(features, { version, capabilities: declaring(version) })
        yield* find(client)
        yield* quiesce
        assert.deepStrictEqual(
          client.notes(added.method).map(({ params }: any) => params),
          [{ id: 3 }]
        )
        const at = client.received.findIndex(({ method }) => method === added.method)
        assert.isTrue(at < client.received.findIndex(({ result }) => result?.ids !== undefined))
      })
    )

    it.effect(
      `A server notification is not sent to a client without the extension (${version})`,
      () =>
        Effect.gen(function* () {
          const Add = Tool.make("add", { description: "Adds" })
          const add = Tools.layer(Add, () => Effect.as(Extensions.notify(added, { id: 3 }), "Added"))
          const client = yield* session(Layer.merge(add, notes({})), { version })
          yield* client.call("add")
          yield* quiesce
          assert.deepStrictEqual(client.notes(added.method), [])
        }),
      verifies("versioning.extension.unsupported")
    )

    it.effect(`A notification after the answer is sent only on a session connection (${version})`, () =>
      Effect.gen(function* () {
        const later = yield* Queue.unbounded<Effect.Effect<void>>()
        const features = notes({
          find: Effect.contextWith((context) => {
            const send = (on: "request" | "connection") =>
              Effect.provideContext(Extensions.notify(added, { id: 3 }, { on }), context as any)
            return Effect.as(Queue.offerAll(later, [send("request"), send("connection")]), { ids: [] })
          })
        })
        const client = yield* session(features, { version, capabilities: declaring(version) })
        yield* find(client)
        yield* yield* Queue.take(later)
        yield* quiesce
        assert.lengthOf(client.notes(added.method), 0)
        yield* yield* Queue.take(later)
        yield* quiesce
        assert.lengthOf(client.notes(added.method), version === "2026-07-28" ? 0 : 1)
      })
    )
  }

  it.effect("A connection's notification is dropped if the client opens no session in time", () =>
    Effect.gen(function* () {
      const told = yield* Queue.unbounded<void>()
      const telling = Effect.andThen(
        Extensions.notify(added, { id: 1 }, { on: "connection" }),
        Queue.offer(told, undefined)
      )
      const server = yield* serve({ features: notes({ find: Effect.as(telling, { ids: [] }) }) })
      const client = yield* connect(server, { capabilities: declaring("2025-11-25"), handshake: "answered" })
      const finding = yield* Effect.forkChild(find(client), { startImmediately: true })
      yield* TestClock.adjust("29 seconds")
      assert.isUndefined(finding.pollUnsafe())
      yield* TestClock.adjust("1 second")
      yield* Queue.take(told)
      yield* Fiber.join(finding)
      assert.deepStrictEqual(client.notes(added.method), [])
    })
  )

  for (const version of all) {
    it.effect(`A server notification waits for a slow reader and is sent when it resumes reading (${version})`, () =>
      Effect.gen(function* () {
        const sent: Array<number> = []
        const features = notes({
          find: Effect.as(
            Effect.forEach([1, 2, 3], (id) =>
              Effect.andThen(
                Extensions.notify(added, { id }),
                Effect.sync(() => sent.push(id))
              )
            ),
            { ids: [] }
          )
        })
        const server = yield* serve({ features })
        const wire = yield* Scripted.make
        yield* server.connect(wire.transport)
        const isStateless = version === "2026-07-28"
        const capabilities = declaring(version)
        if (!isStateless) {
          const params = { protocolVersion: version, capabilities, clientInfo: { name: "scripted", version: "0" } }
          yield* wire.push({ jsonrpc: "2.0", id: 0, method: "initialize", params })
          yield* wire.take
          yield* wire.push({ jsonrpc: "2.0", method: "notifications/initialized" })
        }
        const before = (yield* wire.sent).length
        const left = Effect.map(wire.sent, (all) => all.slice(before).map(({ json }) => json))
        yield* wire.setWritable(false)
        const params = { text: "", ...(isStateless && { _meta: metaOf(capabilities) }) }
        yield* wire.push({ jsonrpc: "2.0", id: 1, method: Notes.requests.find.method, params })
        yield* quiesce
        assert.deepStrictEqual([sent, yield* left], [[], []])
        yield* wire.setWritable(true)
        yield* quiesce
        assert.deepStrictEqual(sent, [1, 2, 3])
        const messages: ReadonlyArray<any> = yield* left
        assert.deepStrictEqual(
          messages.map(({ id, params }) => params?.id ?? { answers: id }),
          [1, 2, 3, { answers: 1 }]
        )
      })
    )
  }

  it.effect("A server notification with invalid params is a defect", () =>
    Effect.gen(function* () {
      const features = notes({ find: Effect.as(Extensions.notify(added, { id: 1.5 }), { ids: [] }) })
      const client = yield* session(features, { capabilities: declaring("2025-11-25") })
      assert.deepInclude(yield* Effect.flip(find(client)), { code: McpError.InternalError })
    })
  )
})

describe("Client notifications", () => {
  const tell = (client: Client, version: Version, params: object, capabilities: object = declaring(version)) =>
    client.notify(seen.method, version === "2026-07-28" ? { ...params, _meta: metaOf(capabilities) } : params)

  for (const version of all) {
    it.effect(`Client notifications are handled in order of arrival, with their session's services (${version})`, () =>
      Effect.gen(function* () {
        const heard: Array<unknown> = []
        const features = notes({
          seen: ({ id }) =>
            Effect.gen(function* () {
              yield* Effect.yieldNow
              const { clientInfo, revision } = yield* RequestContext
              heard.push([id, clientInfo?.name, revision.version])
            })
        })
        const client = yield* session(features, { version, capabilities: declaring(version) })
        const name = version === "2026-07-28" ? "modern" : "raw"
        for (const id of [1, 2, 3]) yield* tell(client, version, { id })
        yield* quiesce
        assert.deepStrictEqual(
          heard,
          [1, 2, 3].map((id) => [id, name, version])
        )
      })
    )

    it.effect(
      `An invalid or undeclared client notification is dropped (${version})`,
      () =>
        Effect.gen(function* () {
          const heard: Array<number> = []
          const features = notes({ seen: ({ id }) => Effect.sync(() => heard.push(id)) })
          const client = yield* session(features, { version, capabilities: declaring(version) })
          yield* tell(client, version, { id: "a" })
          yield* tell(client, version, {})
          yield* tell(client, version, { id: 1 })
          const stranger = yield* session(features, { version })
          yield* tell(stranger, version, { id: 2 }, {})
          yield* quiesce
          assert.deepStrictEqual(heard, [1])
          assert.lengthOf(
            client.received.filter((message) => message.error !== undefined),
            0
          )
        }),
      verifies("json-rpc.notification.no-response")
    )
  }

  it.effect("A defect in a notification handler does not stop later notifications", () =>
    Effect.gen(function* () {
      const heard: Array<number> = []
      const features = notes({
        seen: ({ id }) => (id === 1 ? Effect.die("no") : Effect.sync(() => heard.push(id)))
      })
      const client = yield* session(features, { capabilities: declaring("2025-11-25") })
      for (const id of [1, 2]) yield* tell(client, "2025-11-25", { id })
      assert.deepStrictEqual(heard, [2])
    })
  )

  it.effect("A client notification is dropped if 1024 are already queued", () =>
    Effect.gen(function* () {
      let handled = 0
      const release = yield* Deferred.make<void>()
      const features = notes({
        seen: () =>
          Effect.andThen(
            Deferred.await(release),
            Effect.sync(() => handled++)
          )
      })
      const client = yield* session(features, { capabilities: declaring("2025-11-25") })
      client.peer.notify(seen.method, { id: 0 })
      yield* quiesce
      for (let id = 1; id < 5000; id++) client.peer.notify(seen.method, { id })
      yield* quiesce
      yield* Deferred.succeed(release, undefined)
      yield* quiesce
      assert.strictEqual(handled, 1025)
    })
  )

  it.effect("A waiting notification handler ends with its session", () =>
    Effect.gen(function* () {
      const exits: Array<boolean> = []
      const features = notes({
        seen: () => Effect.onExit(Effect.never, (exit) => Effect.sync(() => exits.push(Exit.isFailure(exit))))
      })
      const server = yield* serve({ features })
      const scope = yield* Scope.make()
      const client = yield* Scope.provide(connect(server, { capabilities: declaring("2025-11-25") }), scope)
      for (const id of [1, 2]) yield* tell(client, "2025-11-25", { id })
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(exits, [true])
    })
  )
})

describe("Extension subscriptions", () => {
  const key = Notes.subscriptions.added.key

  const feed = Effect.gen(function* () {
    const queue = yield* Queue.unbounded<number>()
    const closed = yield* Deferred.make<void>()
    const features = notes({
      added: (filter) =>
        Effect.gen(function* () {
          yield* Effect.addFinalizer(() => Deferred.succeed(closed, undefined))
          const granted = filter.filter((id) => id > 0)
          const messages = Stream.map(Stream.fromQueue(queue), (id) => Extensions.message(added, { id }))
          return granted.length === 0 ? undefined : { granted, messages }
        })
    })
    return { queue, closed, features }
  })

  it.effect(
    "An extension subscription is acknowledged first, and each message carries its id",
    () =>
      Effect.gen(function* () {
        const { closed, features, queue } = yield* feed
        const client = yield* open(features, { capabilities: declaring("2026-07-28") })
        const listening = yield* client.listen({ [key]: [1, -1], "com.example/unknown": true })
        yield* Queue.offerAll(queue, [1, 2])
        yield* quiesce
        assert.deepStrictEqual(
          listening.messages().map(({ method, params }) => [method, params]),
          [
            [
              "notifications/subscriptions/acknowledged",
              { notifications: { [key]: [1] }, _meta: { [subscriptionId]: listening.id } }
            ],
            [added.method, { id: 1, _meta: { [subscriptionId]: listening.id } }],
            [added.method, { id: 2, _meta: { [subscriptionId]: listening.id } }]
          ]
        )
        yield* listening.cancel
        yield* Deferred.await(closed)
        yield* Queue.offer(queue, 3)
        yield* quiesce
        assert.lengthOf(listening.messages(), 3)
      }),
    verifies("meta.notification.subscription", "subscriptions.acknowledged.subset")
  )

  it.effect("The acknowledgement omits a rejected extension subscription", () =>
    Effect.gen(function* () {
      const { features } = yield* feed
      const client = yield* open(features, { capabilities: declaring("2026-07-28") })
      const listening = yield* client.listen({ [key]: [-1] })
      assert.deepStrictEqual(listening.messages()[0].params.notifications, {})
    })
  )

  it.effect(
    "An extension subscription is rejected for an undeclared extension or an invalid filter",
    () =>
      Effect.gen(function* () {
        const { features } = yield* feed
        const stranger = yield* open(features)
        const refused = yield* stranger.refused("subscriptions/listen", { notifications: { [key]: [1] } })
        assert.strictEqual(refused.code, McpError.MissingClientCapability)
        assert.deepStrictEqual(refused.data, { requiredCapabilities: declaring("2026-07-28") })
        const client = yield* open(features, { capabilities: declaring("2026-07-28") })
        const unfit = yield* client.refused("subscriptions/listen", { notifications: { [key]: ["a"] } })
        assert.strictEqual(unfit.code, McpError.InvalidParams)
        assert.deepStrictEqual(yield* client.session.peer.inFlight, [])
      }),
    verifies("versioning.extension.unsupported")
  )

  it.effect("An extension subscription emits messages only as fast as the client reads", () =>
    Effect.gen(function* () {
      let pulled = 0
      const features = notes({
        added: (filter) =>
          Effect.succeed({
            granted: filter,
            messages: Stream.fromIterable(Array.from({ length: 100_000 }, (_, id) => id)).pipe(
              Stream.rechunk(1),
              Stream.map((id) => {
                pulled = id
                return Extensions.message(added, { id })
              })
            )
          })
      })
      const server = yield* serve({ features })
      const wire = yield* Scripted.make
      yield* server.connect(wire.transport)
      yield* wire.setWritable(false)
      const params = { notifications: { [key]: [1] }, _meta: metaOf(declaring("2026-07-28")) }
      yield* wire.push({ jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params })
      yield* quiesce
      assert.isBelow(pulled, 10)
    })
  )

  it.effect("An extension subscription that emits an undeclared notification is a defect", () =>
    Effect.gen(function* () {
      const Other = Extension.make("com.example/other", { notifications: Notes.notifications })
      const features = notes({
        added: (granted) =>
          Effect.succeed({
            granted,
            messages: Stream.make(Extensions.message(Other.notifications.added, { id: 1 }))
          })
      })
      const client = yield* open(features, { capabilities: declaring("2026-07-28") })
      const refused = yield* client.refused("subscriptions/listen", { notifications: { [key]: [1] } })
      assert.strictEqual(refused.code, McpError.InternalError)
    })
  )

  it.effect("Closing an extension layer ends only its own part of a subscription", () =>
    Effect.gen(function* () {
      const { features, queue } = yield* feed
      const registry = yield* Deferred.make<Extensions.ExtensionRegistry["Service"]>()
      const capture = Layer.effectDiscard(
        Effect.flatMap(Extensions.ExtensionRegistry, (found) => Deferred.succeed(registry, found))
      )
      const client = yield* open(capture, { capabilities: declaring("2026-07-28") })
      const scope = yield* Scope.make()
      const late = Layer.provide(features, Layer.effect(Extensions.ExtensionRegistry, Deferred.await(registry)))
      yield* Scope.provide(Layer.build(late), scope)
      const listening = yield* client.listen({ [key]: [1] })
      yield* Scope.close(scope, Exit.void)
      yield* Queue.offer(queue, 1)
      yield* quiesce
      assert.lengthOf(listening.messages(), 1)
      assert.isUndefined(listening.fiber.pollUnsafe())
      yield* Fiber.interrupt(listening.fiber)
    })
  )
})
