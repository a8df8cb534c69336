/** Gateways whose upstream server leads back to them, or is never reached. */
import { Memory, Peer } from "@effect-mcp/core"
import type { Transport } from "@effect-mcp/core/Transport"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpServer from "@effect-mcp/server/McpServer"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, type Scope } from "effect"
import { TestClock } from "effect/testing"
import * as Gateway from "../src/Gateway.ts"
import { join, layer, pairs } from "./support/gateway.ts"
import { post } from "./support/post.ts"

const newest = ["2025-11-25", "2026-07-28"]
const ofEachEra = pairs.filter(
  (pair) => newest.includes(pair.downstream.version) && newest.includes(pair.upstream.version)
)

/** Gateways in a ring: each has the next one as its upstream server. */
const ring = Effect.fnUntraced(function* (gateways: number, upstream?: Revision.Revision) {
  const servers = Array.from({ length: gateways }, () => Deferred.makeUnsafe<McpServer.McpServer["Service"]>())
  const to = (index: number): Effect.Effect<Transport, never, Scope.Scope> =>
    Effect.gen(function* () {
      const { connect } = yield* Deferred.await(servers[index % gateways]!)
      const [client, end] = yield* Memory.pair()
      yield* connect(end)
      return client
    })
  const contexts = yield* Effect.forEach(servers, (server, index) =>
    Effect.gen(function* () {
      const client = upstream === undefined ? {} : { revisions: [upstream.version] }
      const built = yield* Layer.build(Layer.fresh(Gateway.layer({ connector: to(index + 1), client })))
      yield* Deferred.succeed(server, Context.get(built, McpServer.McpServer))
      return built
    })
  )
  return contexts[0]!
})

describe.each([1, 3])("A ring of %i gateways", (gateways) => {
  describe.each(ofEachEra)("$title", ({ downstream, upstream }) => {
    it.effect("A connecting client fails immediately", () =>
      Effect.gen(function* () {
        const first = yield* ring(gateways, upstream)
        const error = yield* Effect.flip(Effect.provide(join(downstream), first))
        assert.deepInclude(error, { code: -31508, message: "This gateway's upstream server leads back to the gateway" })
        assert.strictEqual(Context.get(first, Gateway.Gateway).upstreams(), 0)
      })
    )
  })

  it.effect("A sessionless request fails immediately", () =>
    Effect.gen(function* () {
      const { error } = yield* Effect.provide(post("tools/list", {}), yield* ring(gateways))
      assert.strictEqual(error.code, -31508)
    })
  )
})

describe.each(ofEachEra)("Chained gateways, $title", ({ downstream, upstream }) => {
  it.effect("A client reaches the server behind both gateways", () =>
    Effect.gen(function* () {
      const behind = Context.get(yield* Layer.build(Layer.fresh(layer(upstream))), McpServer.McpServer)
      const connector = Effect.gen(function* () {
        const [client, end] = yield* Memory.pair()
        yield* behind.connect(end)
        return client
      })
      const front = yield* Layer.build(Layer.fresh(Gateway.layer({ connector })))
      const client = yield* Effect.provide(join(downstream), front)
      assert.strictEqual(client.serverInfo.name, "behind")
    })
  )
})

it.effect("A stuck connector fails its requests after the client's timeout", () =>
  Effect.gen(function* () {
    const options = { connector: Effect.never, client: { timeout: "5 seconds" } } as const
    const gateway = yield* Layer.build(Gateway.layer(options))
    const waiting = yield* Effect.forkChild(Effect.provide(post("tools/list", {}), gateway), { startImmediately: true })
    yield* TestClock.adjust("5 seconds")
    const { error } = yield* Fiber.join(waiting)
    assert.deepInclude(error, { code: -32603 })
    assert.include(error.message, "timed out while connecting")
    assert.strictEqual(Context.get(gateway, Gateway.Gateway).upstreams(), 0)
  })
)

describe.each([Revision.stateful[0]!, Revision.stateful.at(-1)!])("Gateway chains in $version", ({ version }) => {
  const initialize = (path: unknown) => ({
    protocolVersion: version,
    capabilities: {},
    clientInfo: { name: "client", version: "1" },
    _meta: { "effect-mcp/gateways": path }
  })
  const open = (path: unknown) =>
    Effect.gen(function* () {
      const gateway = Context.get(yield* Layer.build(Layer.fresh(layer(Revision.get(version)!))), McpServer.McpServer)
      const [client, end] = yield* Memory.pair()
      yield* gateway.connect(end)
      const peer = yield* Peer.make(client, { request: () => Effect.never, notification: () => {} })
      return yield* Effect.result(peer.request("initialize", initialize(path)))
    })

  it.effect("A chain of more than 16 gateways is rejected", () =>
    Effect.gen(function* () {
      const ids = Array.from({ length: 16 }, (_, index) => `gateway ${index}`)
      const longest = yield* open(ids)
      assert.include(longest._tag === "Failure" ? longest.failure.message : "", "more than 16 gateways")
      assert.strictEqual((yield* open(ids.slice(1)))._tag, "Success")
    })
  )

  it.effect.each([null, "gateway", [1], { length: 20 }, Array.from({ length: 10_000 }, () => ({}))])(
    "A path of %o is ignored",
    (path) =>
      Effect.gen(function* () {
        assert.strictEqual((yield* open(path))._tag, "Success")
      })
  )
})
