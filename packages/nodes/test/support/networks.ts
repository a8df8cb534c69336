/** The available kinds of networks, each with a function that creates a place that is isolated from other tests. */
import { Nodes } from "@effect-mcp/nodes"
import { PgClient } from "@effect/sql-pg"
import { Effect, Exit, Layer, Redacted, type Scope } from "effect"
import { createClient } from "redis"

export const postgresUrl = process.env["DATABASE_URL"] ?? "postgres://postgres@127.0.0.1:5432/postgres"
export const redisUrl = process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379"

const client = (options: Partial<PgClient.PgPoolConfig> = {}) =>
  PgClient.layer({ url: Redacted.make(postgresUrl), connectTimeout: "2 seconds", maxConnections: 6, ...options })

const once = (statement: string) =>
  Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe(statement)).pipe(
    Effect.provide(client(), { local: true }),
    Effect.scoped
  )

const connected = await Effect.runPromiseExit(once("SELECT 1"))

const redisClient = () =>
  createClient({ url: redisUrl, socket: { connectTimeout: 2000, reconnectStrategy: false } }).on("error", () => {})

const hasRedis = await (async () => {
  const redis = redisClient()
  try {
    await redis.connect()
    redis.destroy()
    return true
  } catch {
    return false
  }
})()

const unique = () => `mcp_test_${crypto.randomUUID().replaceAll("-", "")}`

/** Creates the name of a Postgres schema, which is dropped after the test. */
export const schema = Effect.acquireRelease(
  Effect.suspend(() => {
    const name = unique()
    return Effect.orDie(Effect.as(once(`CREATE SCHEMA ${name}`), name))
  }),
  (name) => Effect.orDie(once(`DROP SCHEMA ${name} CASCADE`))
)

/** Creates a prefix for Redis keys, which are removed after the test. */
const prefix = Effect.acquireRelease(
  Effect.sync(() => `${unique()}:`),
  (prefix) =>
    Effect.promise(async () => {
      const redis = await redisClient().connect()
      for await (const keys of redis.scanIterator({ MATCH: `${prefix}*` })) if (keys.length > 0) await redis.del(keys)
      redis.destroy()
    })
)

/** The client of nodes with tables in this schema, which also names the connections. */
export const databaseOf = (name: string) =>
  Layer.orDie(client({ applicationName: name, startupParameters: { search_path: name } }))

/** Creates the layer of a node. */
export const nodeAt = (kind: string, place: string, options: Nodes.Options = {}): Layer.Layer<Nodes.Services> => {
  // Short, so that tests that kill nodes need not wait long.
  const local = { lease: "1500 millis", ...options, host: "127.0.0.1" } as const
  return Layer.orDie(
    kind === "redis"
      ? Nodes.layerRedis({ ...local, url: redisUrl, prefix: place })
      : Layer.provide(Nodes.layerPostgres(local), Layer.fresh(databaseOf(place)))
  )
}

export interface NetworkKind {
  readonly name: string
  /** The reason why the network is not available. */
  readonly missing: string | undefined
  /** Creates a place, as an argument for a process. */
  readonly place: Effect.Effect<string, never, Scope.Scope>
  /** Returns a function that creates a layer for each node of a new network. */
  readonly open: Effect.Effect<(options?: Nodes.Options) => Layer.Layer<Nodes.Services>, never, Scope.Scope>
}

const kindOf = (name: string, missing: string | undefined, place: NetworkKind["place"]): NetworkKind => ({
  name,
  missing,
  place,
  open: Effect.map(place, (at) => (options) => nodeAt(name, at, options))
})

export const databases: ReadonlyArray<NetworkKind> = [
  kindOf("postgres", Exit.isSuccess(connected) ? undefined : "no Postgres at DATABASE_URL or 127.0.0.1:5432", schema),
  kindOf("redis", hasRedis ? undefined : "no Redis at REDIS_URL or 127.0.0.1:6379", prefix)
]

export const networks: ReadonlyArray<NetworkKind> = [
  {
    name: "memory",
    missing: undefined,
    place: Effect.succeed(""),
    open: Effect.sync(() => {
      const network = new Nodes.Network()
      return (options) => Layer.orDie(Nodes.layerMemory(network, options))
    })
  },
  ...databases
]
