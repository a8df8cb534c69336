import { Tool, Tools } from "@effect-mcp/core"
import type { Nodes } from "@effect-mcp/nodes"
import { Admin } from "@effect-mcp/operate"
import { McpServer } from "@effect-mcp/server"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Logger, Redacted, Schema, Scope } from "effect"
import { networks } from "../../../../nodes/test/support/networks.ts"
import { ask, post, token } from "../../support/admin.ts"
import { clientOf, listener, portOf } from "../../support/served.ts"

const Hang = Tool.make("hang", { description: "Hangs" })

/** A node with its admin endpoint. */
const startNode = Effect.fnUntraced(function* (shared: Layer.Layer<Nodes.Services>) {
  const began = yield* Deferred.make<void>()
  const features = Tools.layer(Hang, () => Effect.andThen(Deferred.succeed(began, undefined), Effect.never))
  const context = yield* Layer.build(
    Layer.fresh(
      McpServer.serveHttp(Admin.layer({ token: Redacted.make(token) }), {
        disableLogger: true,
        disableListenLog: true
      }).pipe(
        Layer.provideMerge(McpServer.layer({ name: "test", version: "1", features })),
        Layer.provide(shared),
        Layer.provideMerge(listener),
        Layer.provide(Logger.layer([]))
      )
    )
  )
  const client = clientOf(context, "2025-11-25")
  return { port: portOf(context), client, began }
})

const snapshot = (port: number) =>
  Effect.map(ask(port), ({ text }) => Schema.decodeUnknownSync(Admin.Snapshot)(JSON.parse(text)))

/** Waits for a snapshot with both nodes, which learn of each other over the bus shortly after their start. */
const ofBoth = (port: number) => Effect.repeat(snapshot(port), { until: ({ nodes = [] }) => nodes.length === 2 })

for (const { missing, name, open } of networks) {
  describe(`Several nodes over ${name}`, () => {
    it.live.skipIf(missing !== undefined)(
      `Nodes can be viewed and controlled from any of them${missing === undefined ? "" : `: ${missing}`}`,
      () =>
        Effect.gen(function* () {
          const shared = yield* open
          const one = yield* startNode(shared())
          const two = yield* startNode(shared())
          yield* one.client
          const far = yield* two.client
          const call = yield* Effect.forkChild(Effect.flip(far.callTool(Hang, {})))
          yield* Deferred.await(two.began)
          const seen = yield* ofBoth(one.port)
          assert.deepStrictEqual(
            seen.nodes?.map(({ state }) => state),
            ["serving", "serving"]
          )
          // Each node has a session that it calls session-1.
          assert.lengthOf(seen.sessions, 2)
          assert.strictEqual(new Set(seen.sessions.map(({ id }) => id)).size, 2)
          const [stuck] = seen.requests
          const [self, other] = seen.nodes ?? []
          assert.strictEqual(stuck?.node, other?.name)
          assert.strictEqual(stuck?.session, seen.sessions.find(({ node }) => node === other?.name)?.id)

          const level = yield* post(one.port, "level", { session: stuck?.session, level: "debug" })
          assert.deepStrictEqual(JSON.parse(level.text), { level: "debug" })
          const path = `/admin/messages?session=${encodeURIComponent(stuck?.session ?? "")}`
          assert.deepStrictEqual(JSON.parse((yield* ask(one.port, { path })).text), { messages: [], began: true })

          const interrupted = yield* post(one.port, "interrupt", { key: stuck?.key, reason: "It hangs" })
          assert.deepStrictEqual(JSON.parse(interrupted.text), { interrupted: true })
          assert.include((yield* Fiber.join(call)).message, "It hangs")
          const sent = JSON.parse((yield* ask(one.port, { path })).text).messages
          assert.strictEqual(sent[0]?.kind, "error")

          yield* post(one.port, "drain", { node: other?.name })
          const drained = yield* snapshot(one.port)
          assert.deepStrictEqual(
            drained.nodes?.map(({ name, state }) => [name, state]),
            [
              [self?.name, "serving"],
              [other?.name, "draining"]
            ]
          )
          assert.isFalse(drained.draining)
          const unknown = yield* post(one.port, "interrupt", { key: "1@nowhere", reason: "No" })
          assert.strictEqual(unknown.status, 404)
          assert.include(unknown.text, "nowhere")
        }).pipe(Effect.scoped)
    )

    it.live.skipIf(missing !== undefined)(
      `A stopped node is shown as unreachable until it is forgotten${missing === undefined ? "" : `: ${missing}`}`,
      () =>
        Effect.gen(function* () {
          const shared = yield* open
          const one = yield* startNode(shared())
          const scope = yield* Scope.make()
          yield* Scope.provide(startNode(shared()), scope)
          yield* ofBoth(one.port)
          yield* Scope.close(scope, yield* Effect.exit(Effect.void))
          const { nodes = [] } = yield* snapshot(one.port)
          assert.deepStrictEqual(
            nodes.map(({ state }) => state),
            ["serving", "unreachable"]
          )
        }).pipe(Effect.scoped)
    )
  })
}
