/** Which conversations with the upstream server are shared, and that nothing is left of those that ended or never began. */
import * as Revision from "@effect-mcp/protocol/Revision"
import { Memory } from "@effect-mcp/core"
import { TransportError } from "@effect-mcp/core/Transport"
import * as McpServer from "@effect-mcp/server/McpServer"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import * as Upstreams from "../../src/upstream/Upstreams.ts"
import { Behind, behind } from "../support/gateway.ts"

const stateless = Revision.get("2026-07-28")!
const alone: Upstreams.DownstreamClient = {
  capabilities: {},
  clientInfo: { name: "client", version: "1" },
  connection: undefined,
  principal: { subject: "ada", scopes: [], claims: { iss: "https://one.example" } },
  revision: stateless
}

/** Conversations of a server; the first `failing` of them cannot be opened. */
const make = (failing = 0) =>
  Effect.gen(function* () {
    const { connect } = Context.get(yield* Layer.build(behind), McpServer.McpServer)
    let tries = 0
    const connector = Effect.gen(function* () {
      if (++tries <= failing) return yield* new TransportError({ reason: "Open", message: "not yet" })
      const [client, server] = yield* Memory.pair()
      yield* connect(server)
      return client
    })
    return yield* Upstreams.make(
      { connector, client: {}, context: Context.empty(), unsupported: new Set() },
      { idle: "1 minute", capacity: 8 }
    )
  })

/** A client with a session or a wire of its own, which lasts as long as the scope. */
const onWire = (scope: Scope.Scope): Upstreams.DownstreamClient => ({
  ...alone,
  // The rest of a connection is for questions and news, of which there are none here.
  connection: { scope, input: undefined } as unknown as NonNullable<Upstreams.DownstreamClient["connection"]>
})

describe("Requests without a session", () => {
  const others: ReadonlyArray<readonly [string, Partial<Upstreams.DownstreamClient>]> = [
    ["subject of another issuer", { principal: { ...alone.principal, claims: { iss: "https://two.example" } } }],
    ["subject", { principal: { ...alone.principal, subject: "bob" } }],
    ["revision", { revision: Revision.latestStateful }],
    ["client", { clientInfo: { name: "other", version: "1" } }],
    ["declaration", { capabilities: { roots: {} } }]
  ]
  for (const [what, other] of others) {
    it.effect(`Requests without a session share a conversation with their like, and none with another ${what}`, () =>
      Effect.gen(function* () {
        const upstreams = yield* make()
        const first = yield* upstreams.acquire(alone, false)
        assert.strictEqual(yield* upstreams.acquire({ ...alone }, false), first)
        assert.notStrictEqual(yield* upstreams.acquire({ ...alone, ...other }, false), first)
        assert.strictEqual(upstreams.size(), 2)
      }).pipe(Effect.provide(Behind.layer))
    )
  }
})

describe("Conversations that end", () => {
  it.effect("A connection that ends leaves no conversation", () =>
    Effect.gen(function* () {
      const upstreams = yield* make()
      const wire = yield* Scope.make()
      yield* Effect.scoped(upstreams.acquire(onWire(wire), false))
      assert.deepStrictEqual([upstreams.size(), upstreams.wires()], [1, 1])
      yield* Scope.close(wire, Exit.void)
      assert.deepStrictEqual([upstreams.size(), upstreams.wires()], [0, 0])
    }).pipe(Effect.provide(Behind.layer))
  )

  it.effect("A conversation that a task uses outlives its connection until the task has ended", () =>
    Effect.gen(function* () {
      const upstreams = yield* make()
      const wire = yield* Scope.make()
      const task = yield* Scope.make()
      const { client } = yield* Scope.provide(upstreams.acquire(onWire(wire), false), task)
      yield* Scope.close(wire, Exit.void)
      assert.deepStrictEqual([upstreams.size(), upstreams.wires()], [1, 0])
      yield* client.ping
      yield* Scope.close(task, Exit.void)
      assert.strictEqual(upstreams.size(), 0)
    }).pipe(Effect.provide(Behind.layer))
  )

  for (const kind of ["a wire", "requests that come alone"] as const) {
    it.effect(`A conversation of ${kind} that could not be opened is not kept: the next try opens another`, () =>
      Effect.gen(function* () {
        const upstreams = yield* make(1)
        const client = kind === "a wire" ? onWire(yield* Effect.scope) : alone
        const error = yield* Effect.flip(Effect.scoped(upstreams.acquire(client, false)))
        assert.include(error.message, "not yet")
        assert.strictEqual(upstreams.size(), 0)
        const upstream = yield* upstreams.acquire(client, false)
        assert.strictEqual(upstream.client.serverInfo.name, "behind")
      }).pipe(Effect.provide(Behind.layer))
    )
  }
})
