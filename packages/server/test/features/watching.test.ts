/** Updates of a resource go only to callers that may read it, each for the resource it would read, in both eras. */
import { Principal } from "@effect-mcp/core/Principal"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import * as Resources from "@effect-mcp/core/Resources"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Option, PubSub, Scope, Stream, Tracer } from "effect"
import { connect, everyVersion, serve } from "../support/raw.ts"
import { subscribe, until, updates } from "../support/subscribed.ts"

const principal = (subject: string) => ({ subject, scopes: [], claims: {} })
const onlyAnn = ({ subject }: Principal["Service"]) => subject === "ann"
const text = (value: string) => Effect.succeed(value)

/** Changes that the test triggers, and the number of running watchers. */
const source = Effect.gen(function* () {
  const hub = yield* PubSub.unbounded<void>()
  const count = { running: 0, started: 0 }
  const changes = Stream.unwrap(
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => {
          count.running++
          count.started++
        }),
        () => Effect.sync(() => count.running--)
      ),
      () => Stream.fromPubSub(hub)
    )
  )
  return { changes, count, change: PubSub.publish(hub, undefined) }
})

for (const version of everyVersion()) {
  describe(`Subscriptions in ${version}`, () => {
    it.effect(`A subscription in ${version} follows the resource that its caller can see at the URI`, () =>
      Effect.gen(function* () {
        const [secret, open] = [yield* source, yield* source]
        const server = yield* serve({
          features: Layer.merge(
            Resources.layer({ uri: "x://a", name: "s", visible: onlyAnn }, text("secret"), secret.changes),
            Resources.layerTemplate(
              { uriTemplate: "x://{id}", name: "t" },
              () => text("open"),
              () => open.changes
            )
          )
        })
        const ann = yield* connect(server, { version, principal: principal("ann") })
        const bob = yield* connect(server, { version, principal: principal("bob") })
        // The order must not matter: the second caller does not inherit the watcher of the first.
        for (const client of [bob, ann]) assert.isDefined(yield* subscribe(client, version, "x://a"))
        assert.deepStrictEqual([secret.count.running, open.count.running], [1, 1])
        yield* secret.change
        yield* until(() => updates(ann).length === 1)
        yield* open.change
        yield* until(() => updates(bob).length === 1)
        assert.deepStrictEqual([updates(ann), updates(bob)], [["x://a"], ["x://a"]])
      })
    )

    it.effect(
      `A subscription in ${version} to a hidden template member is rejected without side effects`,
      () =>
        Effect.gen(function* () {
          const inbox = yield* source
          const server = yield* serve({
            features: Resources.layerTemplate(
              {
                uriTemplate: "inbox://{user}",
                name: "inbox",
                visible: ({ subject }, uri) => uri === undefined || uri === `inbox://${subject}`,
                list: Effect.succeed(["ann", "bob"].map((name) => ({ uri: `inbox://${name}`, name })))
              },
              ({ user }) => text(user),
              () => inbox.changes
            )
          })
          const ann = yield* connect(server, { version, principal: principal("ann") })
          const bob = yield* connect(server, { version, principal: principal("bob") })
          assert.isUndefined(yield* subscribe(bob, version, "inbox://ann"))
          assert.strictEqual(inbox.count.started, 0)
          assert.isDefined(yield* subscribe(ann, version, "inbox://ann"))
          yield* inbox.change
          yield* until(() => updates(ann).length === 1)
          assert.deepStrictEqual(updates(bob), [])
          const { resources } = yield* bob.request("resources/list")
          assert.deepStrictEqual(
            resources.map((resource: { readonly uri: string }) => resource.uri),
            ["inbox://bob"]
          )
          const { code } = yield* bob.refused("resources/read", { uri: "inbox://ann" })
          assert.strictEqual(code, version >= "2026-07-28" ? -32602 : -32002)
          assert.strictEqual((yield* bob.request("resources/read", { uri: "inbox://bob" })).contents[0].text, "bob")
        }),
      verifies("resources.security.access-control", "resources.security.permission-checked")
    )

    it.effect(`A watcher in ${version} runs in the layer's context, not the first subscriber's`, () =>
      Effect.gen(function* () {
        const found: Array<boolean> = []
        const look = Stream.unwrap(
          Effect.gen(function* () {
            for (const tag of [Principal, RequestContext, Tracer.ParentSpan]) {
              found.push(Option.isSome(yield* Effect.serviceOption<unknown, unknown>(tag)))
            }
            return Stream.never
          })
        )
        const server = yield* serve({
          features: Layer.merge(
            Resources.layer({ uri: "x://a", name: "a" }, text(""), look),
            Resources.layerTemplate(
              { uriTemplate: "y://{id}", name: "t" },
              () => text(""),
              () => look
            )
          )
        })
        const ann = yield* connect(server, { version, principal: principal("ann") })
        yield* subscribe(ann, version, "x://a")
        yield* subscribe(ann, version, "y://a")
        assert.deepStrictEqual(found, [false, false, false, false, false, false])
      })
    )

    it.effect(`A watcher in ${version} stops with the last subscriber and restarts with the next`, () =>
      Effect.gen(function* () {
        const { change, changes, count } = yield* source
        const server = yield* serve({ features: Resources.layer({ uri: "x://a", name: "a" }, text(""), changes) })
        const scopes = yield* Effect.forEach(["ann", "bob", "ann"], () => Scope.make())
        const join = (index: number) =>
          Effect.gen(function* () {
            const client = yield* connect(server, { version, principal: principal(["ann", "bob", "ann"][index]!) })
            return { client, unsubscribe: (yield* subscribe(client, version, "x://a"))! }
          }).pipe(Scope.provide(scopes[index]!))
        for (let round = 1; round <= 2; round++) {
          const members = [yield* join(0), yield* join(1), yield* join(2)]
          assert.deepStrictEqual(count, { running: 1, started: round })
          yield* change
          yield* until(() => members.every(({ client }) => updates(client).length === 1))
          yield* members[0]!.unsubscribe
          yield* members[1]!.unsubscribe
          assert.deepStrictEqual(count, { running: 1, started: round })
          yield* members[2]!.unsubscribe
          yield* until(() => count.running === 0)
        }
        const last = [yield* join(0), yield* join(1)]
        assert.deepStrictEqual([last.length, count], [2, { running: 1, started: 3 }])
        for (const scope of scopes) yield* Scope.close(scope, Exit.void)
        yield* until(() => count.running === 0)
        assert.deepStrictEqual(yield* server.sessions, [])
      })
    )
  })
}
