/** Leases on Postgres survive faults of connections. */
import { Nodes } from "@effect-mcp/nodes"
import { Nodes as Node } from "@effect-mcp/server/Nodes"
import { needs } from "@effect-mcp/spec/skip"
import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, Redacted } from "effect"
import { type AddressInfo, createConnection, createServer, type Socket } from "node:net"
import { databaseOf, databases, postgresUrl } from "../../support/networks.ts"
import { record } from "../../support/record.ts"

const postgres = databases.find(({ name }) => name === "postgres")!

/** A node whose program uses the same pool. */
const join = (database: Layer.Layer<PgClient.PgClient>) =>
  Effect.gen(function* () {
    const layer = Layer.provideMerge(Nodes.layerPostgres({ host: "127.0.0.1" }), database)
    const context = yield* Layer.build(Layer.fresh(layer))
    return { ...Context.get(context, Node), sql: Context.get(context, PgClient.PgClient) }
  })

/** Returns true if the lease of the only node is renewed before it ends, for two more seconds. */
const isRenewed = (place: string) =>
  Effect.gen(function* () {
    const { sql } = yield* Effect.map(Layer.build(Layer.fresh(databaseOf(place))), (context) => ({
      sql: Context.get(context, PgClient.PgClient)
    }))
    const look = Effect.map(
      sql.unsafe<{ readonly until: number; readonly now: number }>(
        `SELECT extract(epoch from until)::float8 AS until, extract(epoch from clock_timestamp())::float8 AS now
         FROM mcp_node`
      ),
      ([row]) => row!
    )
    const first = yield* look
    let last = first
    while (last.until > last.now && last.until < first.until + 2) {
      yield* Effect.sleep("50 millis")
      last = yield* look
    }
    return last.until > last.now
  })

/** A proxy in front of Postgres whose connections can hang: they stay open, but no byte arrives. */
const hanging = Effect.gen(function* () {
  const sockets = new Set<Socket>()
  const { hostname, port } = new URL(postgresUrl)
  const proxy = createServer((near) => {
    const far = createConnection(Number(port || 5432), hostname)
    for (const [from, to] of [
      [near, far],
      [far, near]
    ] as const) {
      sockets.add(from)
      from.pipe(to)
      from.on("error", () => {})
      from.on("close", () => to.destroy())
    }
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void proxy.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () =>
      Effect.sync(() => {
        proxy.close()
        for (const socket of sockets) socket.destroy()
      })
  )
  const url = new URL(postgresUrl)
  url.host = "127.0.0.1"
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens at a port
  url.port = String((proxy.address() as AddressInfo).port)
  const hang = Effect.sync(() => {
    for (const socket of sockets) socket.unpipe().pause()
  })
  return { url: url.href, hang }
})

describe("Nodes on Postgres", needs(postgres.missing === undefined, postgres.missing ?? ""), () => {
  it.live("A node on Postgres renews its lease while its program uses every pool connection", () =>
    Effect.gen(function* () {
      const place = yield* postgres.place
      const { sql } = yield* join(databaseOf(place))
      const done = yield* Deferred.make<void>()
      // The number of connections in `databaseOf`.
      for (let n = 0; n < 6; n++) {
        const held = yield* Deferred.make<void>()
        const hold = Effect.andThen(Deferred.succeed(held, undefined), Deferred.await(done))
        yield* Effect.forkScoped(sql.withTransaction(Effect.andThen(sql.unsafe("SELECT 1"), hold)))
        yield* Deferred.await(held)
      }
      assert.isTrue(yield* isRenewed(place))
      yield* Deferred.succeed(done, undefined)
    })
  )

  it.live("A node on Postgres renews its lease on a new connection if the old one hangs", () =>
    Effect.gen(function* () {
      const place = yield* postgres.place
      const { hang, url } = yield* hanging
      const pool = PgClient.layer({
        url: Redacted.make(url),
        minConnections: 1,
        maxConnections: 1,
        startupParameters: { search_path: place }
      })
      const { directory } = yield* join(Layer.orDie(pool))
      yield* directory.open("s", record)
      yield* hang
      const opened = yield* Effect.forkScoped(Effect.flip(directory.open("t", record)), { startImmediately: true })
      assert.isTrue(yield* isRenewed(place))
      assert.strictEqual((yield* Fiber.join(opened))._tag, "NodesUnavailable")
    })
  )
})
