/** The kinds of networks that are here, each with a way to open places whose nodes share nothing with other tests. */
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

/** The name of a new schema of Postgres, which is dropped after the test. */
export const schema = Effect.acquireRelease(
  Effect.suspend(() => {
    const name = unique()
    return Effect.orDie(Effect.as(once(`CREATE SCHEMA ${name}`), name))
  }),
  (name) => Effect.orDie(once(`DROP SCHEMA ${name} CASCADE`))
)

/** How keys of Redis begin, which are removed after the test. */
const prefix = Effect.acquireRelease(
  Effect.sync(() => `${unique()}:`),
  (prefix) =>
    Effect.promise(async () => {
      const redis = await redisClient().connect()
      for await (const keys of redis.scanIterator({ MATCH: `${prefix}*` })) if (keys.length > 0) await redis.del(keys)
      redis.destroy()
    })
)

/** The client of nodes whose tables are in a schema, which its connections are named by, too. */
export const databaseOf = (name: string) =>
  Layer.orDie(client({ applicationName: name, startupParameters: { search_path: name } }))

/** A node of a kind of network, at a place. */
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
  /** Why there is none. */
  readonly missing: string | undefined
  /** A new place, as text for a process. */
  readonly place: Effect.Effect<string, never, Scope.Scope>
  /** Gives a layer for each node of a new place. */
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
