/** Which upstream connections are shared, and that ended or failed ones leave nothing behind. */
import * as Revision from "@effect-mcp/protocol/Revision"
import { boundsOf } from "@effect-mcp/core/internal/inFlight"
import { Memory } from "@effect-mcp/core"
import { TransportError } from "@effect-mcp/core/Transport"
import * as McpServer from "@effect-mcp/server/McpServer"
import { assert, describe, it } from "@effect/vitest"
import type { McpError } from "@effect-mcp/protocol/McpError"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import * as Upstreams from "../../src/upstream/Upstreams.ts"
import { Behind, behind } from "../support/gateway.ts"

const stateless = Revision.get("2026-07-28")!
const alone: Upstreams.DownstreamClient = {
  capabilities: {},
  clientInfo: { name: "client", version: "1" },
  connection: undefined,
  principal: { subject: "ada", scopes: [], claims: { iss: "https://one.example" } },
  address: undefined,
  path: [],
  revision: stateless
}

/** Connections of a server; the first `failing` of them cannot be opened. */
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
      { id: "gateway", connector, client: {}, projects: false, context: Context.empty(), unsupported: new Set() },
      { idle: "1 minute", capacity: boundsOf(8, 0.5) }
    )
  })

/** A client with a dedicated session or wire, which lasts as long as the scope. */
const onWire = (scope: Scope.Scope): Upstreams.DownstreamClient => ({
  ...alone,
  // The rest of a connection is for questions and notifications, which do not occur here.
  connection: { scope, input: undefined } as unknown as NonNullable<Upstreams.DownstreamClient["connection"]>
})

describe("Sessionless requests", () => {
  const others: ReadonlyArray<readonly [string, Partial<Upstreams.DownstreamClient>]> = [
    ["subject of another issuer", { principal: { ...alone.principal, claims: { iss: "https://two.example" } } }],
    ["subject", { principal: { ...alone.principal, subject: "bob" } }],
    ["revision", { revision: Revision.latestStateful }],
    ["client", { clientInfo: { name: "other", version: "1" } }],
    ["declaration", { capabilities: { roots: {} } }]
  ]
  for (const [what, other] of others) {
    it.effect(`Equal sessionless requests share a connection, but requests with another ${what} do not`, () =>
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

describe("Ended connections", () => {
  it.effect("A client connection that ends leaves no upstream connection", () =>
    Effect.gen(function* () {
      const upstreams = yield* make()
      const wire = yield* Scope.make()
      yield* Effect.scoped(upstreams.acquire(onWire(wire), false))
      assert.deepStrictEqual([upstreams.size(), upstreams.wires()], [1, 1])
      yield* Scope.close(wire, Exit.void)
      assert.deepStrictEqual([upstreams.size(), upstreams.wires()], [0, 0])
    }).pipe(Effect.provide(Behind.layer))
  )

  it.effect("An upstream connection used by a task outlives its client's until the task ends", () =>
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
    it.effect(`A ${kind} connection that failed to open is not kept, and the next attempt opens another`, () =>
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

/** Opens a connection that ends with the scope, each time as another client of the caller. */
const opening = (upstreams: Upstreams.Upstreams) => {
  let count = 0
  return (subject: string, wire?: Scope.Scope) => {
    const client = wire === undefined ? alone : onWire(wire)
    const principal = { ...alone.principal, subject }
    const clientInfo = { name: `client ${++count}`, version: "1" }
    return upstreams.acquire({ ...client, clientInfo, principal }, false)
  }
}

const messageOf = (refused: Effect.Effect<unknown, McpError, Scope.Scope>) =>
  Effect.map(Effect.flip(refused), ({ message }) => message)

describe("Caller's share of connections", () => {
  it.effect("A caller with stuck requests holds only its share of connections", () =>
    Effect.gen(function* () {
      const upstreams = yield* make()
      const open = opening(upstreams)
      for (let hanging = 0; hanging < 4; hanging++) yield* open("eve")
      const message = yield* messageOf(open("eve"))
      assert.strictEqual(message, "Too many connections from this caller to the upstream server are open (limit 4)")
      for (const subject of ["ada", "bob", "cid", "dan"]) yield* open(subject)
      assert.strictEqual(
        yield* messageOf(open("fay")),
        "Too many connections to the upstream server are open (limit 8)"
      )
      assert.strictEqual(upstreams.size(), 8)
    }).pipe(Effect.provide(Behind.layer))
  )

  it.effect("An idle session gives up its connection to a caller that holds fewer", () =>
    Effect.gen(function* () {
      const upstreams = yield* make()
      const open = opening(upstreams)
      const wire = yield* Effect.scope
      const eve = { ...onWire(wire), principal: { ...alone.principal, subject: "eve" } }
      yield* Effect.scoped(upstreams.acquire(eve, false))
      for (let more = 0; more < 3; more++) yield* Effect.scoped(open("eve", wire))
      for (let busy = 0; busy < 4; busy++) yield* open("mal")
      yield* open("ada")
      yield* open("ada")
      assert.strictEqual(upstreams.size(), 8)
      // Now both hold two.
      assert.strictEqual(
        yield* messageOf(open("ada")),
        "Too many connections to the upstream server are open (limit 8)"
      )
      assert.strictEqual(
        yield* messageOf(upstreams.acquire(eve, false)),
        "Too many connections to the upstream server are open (limit 8)"
      )
    }).pipe(Effect.provide(Behind.layer))
  )

  it.effect("The caller's own idle connection is closed before the caller is rejected", () =>
    Effect.gen(function* () {
      const upstreams = yield* make()
      const open = opening(upstreams)
      for (let idle = 0; idle < 6; idle++) yield* Effect.scoped(open("eve"))
      assert.strictEqual(upstreams.size(), 4)
    }).pipe(Effect.provide(Behind.layer))
  )
})
