/** Resources and templates: lists, reads, missing resources and subscriptions. */
import { anonymous, type Principal } from "@effect-mcp/core/Principal"
import * as Resources from "@effect-mcp/core/Resources"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as ResourceRegistry from "../../src/features/ResourceRegistry.ts"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Effect, Exit, Layer, Queue, Scope, Stream } from "effect"
import { connect, everyVersion, serve, session, quiesce, versions } from "../support/raw.ts"

const bytes = new Uint8Array([0, 255, 128, 10, 13])
const menu = Resources.layer(
  {
    uri: "menu://today",
    name: "menu",
    title: "Menu",
    description: "What there is",
    mimeType: "text/markdown",
    size: 4,
    annotations: { audience: ["user"], priority: 1, lastModified: "2026-01-01T00:00:00Z" },
    icons: [{ src: "data:image/png;base64,AA==" }],
    meta: { "example.com/a": 1 }
  },
  Effect.succeed("söup")
)
const photo = Resources.layer({ uri: "menu://photo", name: "photo" }, Effect.succeed(bytes))
const dish = Resources.layerTemplate(
  { uriTemplate: "dish://{course}/{name}", name: "dish", title: "Dish", mimeType: "text/plain", meta: { b: 2 } },
  ({ course, name }) =>
    name === "nothing"
      ? Effect.fail(new Resources.ResourceNotFound({ uri: `dish://${course}/nothing` }))
      : Effect.succeed(`${course}: ${name}`)
)
const all = Layer.mergeAll(menu, photo, dish)

describe("resources/list and resources/templates/list", () => {
  for (const version of everyVersion()) {
    it.effect(`resources/list and resources/templates/list send the fields defined by ${version}`, () =>
      Effect.gen(function* () {
        const client = yield* session(all, { version })
        const { resources } = yield* client.request("resources/list")
        assert.deepStrictEqual(
          resources.map((resource: any) => resource.uri),
          ["menu://today", "menu://photo"]
        )
        const annotations = { audience: ["user"], priority: 1 }
        assert.deepStrictEqual(resources[0], {
          uri: "menu://today",
          name: "menu",
          description: "What there is",
          mimeType: "text/markdown",
          size: 4,
          annotations: version >= "2025-06-18" ? { ...annotations, lastModified: "2026-01-01T00:00:00Z" } : annotations,
          ...(version >= "2025-06-18" ? { title: "Menu", _meta: { "example.com/a": 1 } } : undefined),
          ...(version >= "2025-11-25" ? { icons: [{ src: "data:image/png;base64,AA==" }] } : undefined)
        })
        assert.deepStrictEqual((yield* client.request("resources/templates/list")).resourceTemplates, [
          {
            uriTemplate: "dish://{course}/{name}",
            name: "dish",
            mimeType: "text/plain",
            ...(version >= "2025-06-18" ? { title: "Dish", _meta: { b: 2 } } : undefined)
          }
        ])
      })
    )
  }

  it.effect("resources/list merges template members with static resources, listing each URI once", () =>
    Effect.gen(function* () {
      const client = yield* session(
        Layer.merge(
          menu,
          Resources.layerTemplate(
            {
              uriTemplate: "menu://{day}",
              name: "day",
              list: Effect.succeed([
                { uri: "menu://today", name: "twice" },
                { uri: "menu://monday", name: "monday" }
              ])
            },
            ({ day }) => Effect.succeed(day)
          )
        )
      )
      const { resources } = yield* client.request("resources/list")
      assert.deepStrictEqual(
        resources.map((resource: any) => resource.name),
        ["menu", "monday"]
      )
    })
  )

  it.effect(
    "A resource with an invalid URI is a defect",
    () =>
      Effect.gen(function* () {
        for (const uri of [
          "",
          "menu",
          "/etc/passwd",
          "1menu://x",
          "menu://a b",
          "menu://ü",
          "menu://%zz",
          "menu://a\n"
        ]) {
          const exit = yield* Effect.exit(session(Resources.layer({ uri, name: "x" }, Effect.succeed(""))))
          assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause), uri)
        }
        for (const uri of ["urn:isbn:1", "file:///a/b%20c", "a+b.c-d://[::1]:80/x?y=z#f"]) {
          yield* session(Resources.layer({ uri, name: "x" }, Effect.succeed("")))
        }
      }),
    verifies("resources.uri.rfc3986")
  )
})

it.effect("A resource or template with an invalid type, annotation or icon is a defect that names it", () =>
  Effect.gen(function* () {
    const read = Effect.succeed("")
    for (const [wrong, word] of [
      [{ mimeType: "text" }, "mimeType"],
      [{ annotations: { priority: 2 } }, "annotations.priority"],
      [{ annotations: { lastModified: "yesterday" } }, "annotations.lastModified"],
      [{ icons: [{ src: "http://example.com/i.png" }] }, "icon"]
    ] as const) {
      for (const layer of [
        Resources.layer({ uri: "x:", name: "it", ...wrong }, read),
        Resources.layerTemplate({ uriTemplate: "x:{a}", name: "it", ...wrong }, () => read)
      ]) {
        const exit = yield* Effect.exit(session(layer))
        assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
        assert.match(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", new RegExp(`Resource it.*${word}`))
      }
    }
    const icons = [{ src: "http://example.com/i.png" }]
    const exit = yield* Effect.exit(serve({ features: all, icons }))
    assert.match(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", /Server test: .*icon.*https or data/)
  })
)

describe("resources/read", () => {
  for (const version of everyVersion()) {
    it.effect(
      `resources/read returns text as text and bytes as base64 in ${version}`,
      () =>
        Effect.gen(function* () {
          const client = yield* session(all, { version })
          const read = (uri: string) => client.request("resources/read", { uri })
          assert.deepStrictEqual(yield* read("menu://today"), {
            contents: [{ uri: "menu://today", mimeType: "text/markdown", text: "söup" }]
          })
          const { contents } = yield* read("menu://photo")
          assert.deepStrictEqual(contents, [
            { uri: "menu://photo", mimeType: "application/octet-stream", blob: Buffer.from(bytes).toString("base64") }
          ])
          assert.deepStrictEqual(yield* read("dish://main/fish%20soup"), {
            contents: [{ uri: "dish://main/fish%20soup", mimeType: "text/plain", text: "main: fish soup" }]
          })
        }),
      verifies("resources.contents.text-is-text", "resources.security.binary-encoded")
    )

    it.effect(
      `resources/read fails with ${version >= "2026-07-28" ? -32602 : -32002} in ${version} for a missing URI, never with empty contents`,
      () =>
        Effect.gen(function* () {
          const hidden = Resources.layerTemplate(
            { uriTemplate: "hidden://{name}", name: "hidden", visible: () => false },
            () => Effect.succeed("")
          )
          const client = yield* session(Layer.merge(all, hidden), { version })
          const unknown = [
            "hidden://dish",
            "menu://tomorrow",
            "dish://main",
            "dish://main/fish/cold",
            "dish://main/nothing",
            "menu://today/",
            "not a uri",
            "",
            "MENU://today"
          ]
          for (const uri of unknown) {
            const error = yield* client.refused("resources/read", { uri })
            assert.deepStrictEqual([error.code, error.data], [version >= "2026-07-28" ? -32602 : -32002, { uri }], uri)
          }
          for (const params of [undefined, {}, { uri: 1 }]) {
            assert.strictEqual((yield* client.refused("resources/read", params)).code, -32602)
          }
        }),
      verifies("resources.read.not-found", "resources.read.not-empty", "resources.security.uri-validated")
    )
  }

  for (const version of everyVersion()) {
    it.effect(
      `resources/read sends the handler's own errors and hides the rest: -32603 (${version})`,
      () =>
        Effect.gen(function* () {
          const chosen = Resources.layer({ uri: "x:chosen", name: "a" }, Effect.fail(McpError.invalidParams("Closed")))
          const dead = Resources.layer({ uri: "x:dead", name: "b" }, Effect.die(new Error("secret")))
          const client = yield* session(Layer.merge(chosen, dead), { version })
          const one = yield* client.refused("resources/read", { uri: "x:chosen" })
          assert.deepStrictEqual([one.code, one.message], [-32602, "Closed"])
          const two = yield* client.refused("resources/read", { uri: "x:dead" })
          assert.deepStrictEqual([two.code, two.message], [-32603, "Internal error"])
        }),
      verifies("resources.error.internal")
    )
  }

  for (const version of everyVersion()) {
    it.effect(
      `A resource can be hidden from other callers' lists, reads and subscriptions (${version})`,
      () =>
        Effect.gen(function* () {
          const visible = ({ subject }: Principal["Service"]) => subject === "ann"
          const server = yield* serve({
            features: Layer.mergeAll(
              Resources.layer({ uri: "x://secret", name: "s", visible }, Effect.succeed("secret"), Stream.never),
              Resources.layerTemplate({ uriTemplate: "y://{a}", name: "t", visible }, () => Effect.succeed("secret")),
              Resources.layerTemplate({ uriTemplate: "{+any}", name: "any" }, (_, uri) =>
                uri === "x://secret" ? Effect.succeed("public") : Effect.fail(new Resources.ResourceNotFound({ uri }))
              )
            )
          })
          const principal = (subject: string) => ({ subject, scopes: [], claims: {} })
          const ann = yield* connect(server, { version, principal: principal("ann") })
          const bob = yield* connect(server, { version, principal: principal("bob") })
          const names = (client: typeof ann, method: string, key: string) =>
            Effect.map(client.request(method), (result) => result[key].map((item: any) => item.name))
          assert.deepStrictEqual(yield* names(ann, "resources/list", "resources"), ["s"])
          assert.deepStrictEqual(yield* names(bob, "resources/list", "resources"), [])
          assert.deepStrictEqual(yield* names(ann, "resources/templates/list", "resourceTemplates"), ["t", "any"])
          assert.deepStrictEqual(yield* names(bob, "resources/templates/list", "resourceTemplates"), ["any"])
          const read = (client: typeof ann, uri: string) =>
            Effect.map(client.request("resources/read", { uri }), (result) => result.contents[0].text)
          assert.strictEqual(yield* read(ann, "x://secret"), "secret")
          // A hidden resource does not exist for the caller, so the next match answers.
          assert.strictEqual(yield* read(bob, "x://secret"), "public")
          assert.strictEqual(yield* read(ann, "y://1"), "secret")
          assert.strictEqual(
            (yield* bob.refused("resources/read", { uri: "y://1" })).code,
            version >= "2026-07-28" ? -32602 : -32002
          )
        }),
      verifies("resources.security.access-control", "resources.security.permission-checked")
    )
  }
})

/** A resource that changes when the test asks, and counts how often its stream starts and stops. */
const counted = Effect.gen(function* () {
  const changes = yield* Queue.unbounded<string>()
  const counts = { started: 0, stopped: 0 }
  const stream = Stream.unwrap(
    Effect.as(
      Effect.acquireRelease(
        Effect.sync(() => counts.started++),
        () => Effect.sync(() => counts.stopped++)
      ),
      Stream.fromQueue(changes)
    )
  )
  return { counts, change: Effect.andThen(Queue.offer(changes, "x"), quiesce), stream }
})

describe("Subscriptions", () => {
  const version = "2025-11-25"

  for (const version of versions()) {
    it.effect(
      `A client receives updates from subscribe to unsubscribe in ${version}`,
      () =>
        Effect.gen(function* () {
          const { change, stream } = yield* counted
          const server = yield* serve({
            features: Layer.merge(
              Resources.layer({ uri: "x:1", name: "x" }, Effect.succeed("")),
              Resources.layer({ uri: "x:2", name: "y" }, Effect.succeed(""), stream)
            )
          })
          const one = yield* connect(server, { version })
          const two = yield* connect(server, { version })
          assert.deepStrictEqual(yield* one.request("resources/subscribe", { uri: "x:2" }), {})
          assert.deepStrictEqual(yield* two.request("resources/subscribe", { uri: "x:1" }), {})
          yield* change
          assert.deepStrictEqual(
            one.notes("notifications/resources/updated").map((note) => note.params),
            [{ uri: "x:2" }]
          )
          yield* change
          assert.strictEqual(one.notes("notifications/resources/updated").length, 2)
          assert.deepStrictEqual(yield* one.request("resources/unsubscribe", { uri: "x:2" }), {})
          yield* change
          assert.strictEqual(one.notes("notifications/resources/updated").length, 2)
          assert.deepStrictEqual(two.notes("notifications/resources/updated"), [])
        }),
      verifies("resources.updated.only-subscribed")
    )
  }

  it.effect("All sessions share one watcher of a resource", () =>
    Effect.gen(function* () {
      const { change, counts, stream } = yield* counted
      const server = yield* serve({ features: Resources.layer({ uri: "x:", name: "x" }, Effect.succeed(""), stream) })
      const scopes = yield* Effect.forEach(Array.from({ length: 20 }), () => Scope.make())
      const clients = yield* Effect.forEach(scopes, (scope) => Scope.provide(connect(server), scope))
      assert.deepStrictEqual(counts, { started: 0, stopped: 0 })
      for (const client of clients) {
        yield* client.request("resources/subscribe", { uri: "x:" })
        yield* client.request("resources/subscribe", { uri: "x:" })
      }
      assert.deepStrictEqual(counts, { started: 1, stopped: 0 })
      yield* change
      for (const client of clients) assert.strictEqual(client.notes("notifications/resources/updated").length, 1)
      for (const client of clients.slice(0, 10)) yield* client.request("resources/unsubscribe", { uri: "x:" })
      for (const scope of scopes.slice(10, 19)) yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(counts, { started: 1, stopped: 0 })
      yield* Scope.close(scopes[19]!, Exit.void)
      assert.deepStrictEqual(counts, { started: 1, stopped: 1 })
      yield* clients[0]!.request("resources/subscribe", { uri: "x:" })
      assert.deepStrictEqual(counts, { started: 2, stopped: 1 })
      for (const scope of scopes.slice(0, 10)) yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(counts, { started: 2, stopped: 2 })
      assert.deepStrictEqual(yield* server.sessions, [])
    })
  )

  it.effect("Two hundred sessions get one update per burst, spread over several turns", () =>
    Effect.gen(function* () {
      const bursts = yield* Queue.unbounded<number>()
      const stream = Stream.fromQueue(bursts)
      const server = yield* serve({ features: Resources.layer({ uri: "x:", name: "x" }, Effect.succeed(""), stream) })
      const clients = yield* Effect.forEach(Array.from({ length: 200 }), () => connect(server))
      for (const client of clients) yield* client.request("resources/subscribe", { uri: "x:" })
      const heard = () => clients.map((client) => client.notes("notifications/resources/updated").length)
      Queue.offerAllUnsafe(bursts, [1, 2, 3])
      yield* quiesce
      assert.deepStrictEqual(
        heard(),
        clients.map(() => 1)
      )
      Queue.offerUnsafe(bursts, 4)
      while (heard()[0] === 1) yield* Effect.yieldNow
      assert.strictEqual(heard().at(-1), 1)
      yield* quiesce
      assert.deepStrictEqual(
        heard(),
        clients.map(() => 2)
      )
    })
  )

  it.effect("An update does not reach subscriptions that its listeners add", () =>
    Effect.gen(function* () {
      const updates = yield* Queue.unbounded<number>()
      const { context, resources } = yield* ResourceRegistry.make
      const feature = Resources.layer({ uri: "x:", name: "x" }, Effect.succeed(""), Stream.fromQueue(updates))
      yield* Effect.provideContext(Layer.build(feature), context)
      const told: Array<string> = []
      yield* resources.subscribe("x:", anonymous, { resourceUpdated: (uri) => void told.push(uri) })
      const subscribe: Effect.Effect<void> = Effect.gen(function* () {
        const scope = yield* Scope.make()
        const resourceUpdated = (uri: string) => {
          if (told.push(uri) < 100) Effect.runSync(Effect.andThen(Scope.close(scope, Exit.void), subscribe))
        }
        yield* Scope.provide(resources.subscribe("x:", anonymous, { resourceUpdated }), scope)
      })
      yield* subscribe
      for (const length of [2, 4]) {
        Queue.offerUnsafe(updates, length)
        yield* quiesce
        assert.strictEqual(told.length, length)
      }
    })
  )

  it.effect("A subscription to a template member uses that member's watcher", () =>
    Effect.gen(function* () {
      const watched: Array<unknown> = []
      const client = yield* session(
        Resources.layerTemplate(
          { uriTemplate: "x://{id}", name: "x" },
          ({ id }) => Effect.succeed(id),
          ({ id }) => {
            watched.push(id)
            return id === "1" ? Stream.concat(Stream.fromEffect(Effect.as(quiesce, "x")), Stream.never) : Stream.never
          }
        )
      )
      yield* client.request("resources/subscribe", { uri: "x://1" })
      yield* client.request("resources/subscribe", { uri: "x://2" })
      yield* quiesce
      yield* quiesce
      assert.deepStrictEqual(watched, ["1", "2"])
      assert.deepStrictEqual(
        client.notes("notifications/resources/updated").map((note) => note.params.uri),
        ["x://1"]
      )
    })
  )

  it.effect("A subscription fails if `changes` throws, and the next one restarts the watcher", () =>
    Effect.gen(function* () {
      let made = 0
      const updates = yield* Queue.unbounded<string>()
      const server = yield* serve({
        features: Resources.layerTemplate(
          { uriTemplate: "x://{id}", name: "x" },
          () => Effect.succeed(""),
          () => {
            if (made++ === 0) throw new Error("not connected")
            return Stream.fromQueue(updates)
          }
        )
      })
      const [a, b] = [yield* connect(server, { version }), yield* connect(server, { version })]
      assert.strictEqual((yield* a.refused("resources/subscribe", { uri: "x://1" })).code, -32603)
      for (const client of [a, b]) yield* client.request("resources/subscribe", { uri: "x://1" })
      Queue.offerUnsafe(updates, "x")
      yield* quiesce
      for (const client of [a, b]) assert.lengthOf(client.notes("notifications/resources/updated"), 1)
      assert.strictEqual(made, 2)
    })
  )

  it.effect("A subscription starts a new watcher if the previous one died", () =>
    Effect.gen(function* () {
      let made = 0
      const server = yield* serve({
        features: Resources.layerTemplate(
          { uriTemplate: "x://{id}", name: "x" },
          () => Effect.succeed(""),
          () => (made++ === 0 ? Stream.die(new Error("cut")) : Stream.concat(Stream.succeed("x"), Stream.never))
        )
      })
      for (const count of [1, 2]) {
        const client = yield* connect(server, { version })
        yield* client.request("resources/subscribe", { uri: "x://1" })
        yield* quiesce
        assert.strictEqual(made, count)
      }
    })
  )

  it.effect("Subscribing to a missing resource fails with -32002, and unsubscribing is accepted", () =>
    Effect.gen(function* () {
      const client = yield* session(Resources.layer({ uri: "x:", name: "x" }, Effect.succeed(""), Stream.never))
      assert.strictEqual((yield* client.refused("resources/subscribe", { uri: "y:" })).code, -32002)
      assert.strictEqual((yield* client.refused("resources/subscribe", {})).code, -32602)
      assert.deepStrictEqual(yield* client.request("resources/unsubscribe", { uri: "y:" }), {})
    })
  )

  it.effect("Subscriptions over the session limit are rejected with a clear error", () =>
    Effect.gen(function* () {
      const client = yield* session(
        Resources.layerTemplate(
          { uriTemplate: "x://{id}", name: "x" },
          () => Effect.succeed(""),
          () => Stream.never
        )
      )
      for (let id = 0; id < 1024; id++) yield* client.request("resources/subscribe", { uri: `x://${id}` })
      const error = yield* client.refused("resources/subscribe", { uri: "x://1024" })
      assert.strictEqual(error.code, McpError.LimitExceeded)
      yield* client.request("resources/unsubscribe", { uri: "x://5" })
      assert.deepStrictEqual(yield* client.request("resources/subscribe", { uri: "x://1024" }), {})
    })
  )

  it.effect("A session survives a crashed watcher", () =>
    Effect.gen(function* () {
      const client = yield* session(
        Resources.layer({ uri: "x:", name: "x" }, Effect.succeed("still"), Stream.die(new Error("watcher")))
      )
      yield* client.request("resources/subscribe", { uri: "x:" })
      yield* quiesce
      assert.strictEqual((yield* client.request("resources/read", { uri: "x:" })).contents[0].text, "still")
    })
  )

  it.effect("A removed resource stops its watcher before releasing its services", () =>
    Effect.gen(function* () {
      const events: Array<string> = []
      const registry = yield* Deferred.make<Resources.ResourceRegistry["Service"]>()
      const client = yield* session(
        Layer.effectDiscard(Effect.flatMap(Resources.ResourceRegistry, (tag) => Deferred.succeed(registry, tag))),
        {},
        { dynamic: true }
      )
      const build = (name: string) =>
        Effect.gen(function* () {
          const scope = yield* Scope.make()
          yield* Scope.addFinalizer(
            scope,
            Effect.sync(() => events.push(`${name} services released`))
          )
          const changes = Stream.ensuring(
            Stream.onStart(
              Stream.never,
              Effect.sync(() => events.push(`${name} started`))
            ),
            Effect.sync(() => events.push(`${name} stopped`))
          )
          const layer = Resources.layer({ uri: "x:", name }, Effect.succeed(name), changes)
          yield* Layer.buildWithScope(layer, scope).pipe(
            Effect.provideService(Resources.ResourceRegistry, yield* Deferred.await(registry))
          )
          return scope
        })
      const first = yield* build("first")
      yield* client.request("resources/subscribe", { uri: "x:" })
      yield* Scope.close(first, Exit.void)
      assert.deepStrictEqual(events, ["first started", "first stopped", "first services released"])
      assert.strictEqual((yield* client.refused("resources/read", { uri: "x:" })).code, -32002)
      yield* build("second")
      yield* client.request("resources/unsubscribe", { uri: "x:" })
      yield* client.request("resources/subscribe", { uri: "x:" })
      assert.deepStrictEqual(events.slice(3), ["second started"])
    })
  )
})

for (const version of versions()) {
  it.effect(
    `list_changed is sent when a resource or template is added or removed (${version})`,
    () =>
      Effect.gen(function* () {
        const registry = yield* Deferred.make<Resources.ResourceRegistry["Service"]>()
        const client = yield* session(
          Layer.effectDiscard(Effect.flatMap(Resources.ResourceRegistry, (tag) => Deferred.succeed(registry, tag))),
          { version },
          { dynamic: true }
        )
        const tag = yield* Deferred.await(registry)
        const count = () => client.notes("notifications/resources/list_changed").length
        for (const layer of [menu, dish]) {
          const scope = yield* Scope.make()
          const before = count()
          yield* Layer.buildWithScope(layer, scope).pipe(Effect.provideService(Resources.ResourceRegistry, tag))
          yield* quiesce
          assert.strictEqual(count(), before + 1)
          yield* Scope.close(scope, Exit.void)
          yield* quiesce
          assert.strictEqual(count(), before + 2)
        }
        yield* tag.changed
        yield* quiesce
        assert.strictEqual(count(), 5)
      }),
    verifies("resources.list-changed.sent")
  )
}
