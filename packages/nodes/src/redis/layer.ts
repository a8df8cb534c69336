/** A node that shares a Redis server with other nodes. */
import { NodesUnavailable } from "@effect-mcp/server/Nodes"
import * as Effect from "effect/Effect"
import { createClient } from "redis"
import { Topics } from "../events/Topics.ts"
import { layerOf, type Options, timesOf } from "../layerOf.ts"
import * as TcpRelay from "../relay/TcpRelay.ts"
import { ratesIn } from "./rates.ts"
import { type RedisClient, command, directoryOf, eventsIn, repliesIn } from "./stores.ts"

export interface RedisOptions extends Options, TcpRelay.Options {
  /** Redis URL, including the password: `redis://` or `rediss://`. It must be a single Redis server, not a cluster. */
  readonly url: string
  /** Prefix for its keys and channel. Servers that don't share anything need different prefixes. Default `mcp:`. */
  readonly prefix?: string | undefined
}

/** Fails if this is not a Redis URL. The parser's own errors would reveal the password. */
const checked = (url: string): Effect.Effect<void, NodesUnavailable> =>
  URL.canParse(url) && /^rediss?:$/.test(new URL(url).protocol) && /^\/?\d*$/.test(new URL(url).pathname)
    ? Effect.void
    : Effect.fail(
        new NodesUnavailable({
          message: "Invalid Redis URL. Expected redis://user:password@host:port/number, or rediss:// for TLS"
        })
      )

/** Connects until the scope closes, and reconnects whenever the connection drops. */
const connected = (url: string) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const client: RedisClient = createClient({
          url,
          disableOfflineQueue: true,
          socket: { connectTimeout: 2000, reconnectStrategy: (tries) => Math.min(20 * 2 ** tries, 1000) }
        })
        // A failing command reports its own error. Without a listener the event would end the process.
        client.on("error", () => {})
        const failing = new Promise<never>((_, reject) => {
          const timer = setTimeout(() => reject(new Error("Could not connect within 5 seconds")), 5000)
          timer.unref()
        })
        try {
          await Promise.race([client.connect(), failing])
        } catch (cause) {
          client.destroy()
          throw cause
        }
        return client
      },
      catch: (cause) => new NodesUnavailable({ message: "Could not connect to Redis", cause })
    }),
    (client) => Effect.sync(() => client.destroy())
  )

const hex = (bytes: number): string => Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("hex")

/** Returns a secret shared by the nodes. The first node creates it. */
const secret = (redis: RedisClient, key: string) =>
  command(async () => {
    await redis.set(key, hex(32), { NX: true })
    return String(await redis.get(key))
  })

export const layer = ({ prefix = "mcp:", url, ...options }: RedisOptions) =>
  layerOf(
    Effect.gen(function* () {
      yield* checked(url)
      const redis = yield* connected(url)
      const times = timesOf(options)
      const key = yield* secret(redis, `${prefix}secret:state`)
      const { address, relay } = yield* TcpRelay.make(options, yield* secret(redis, `${prefix}secret:relay`))
      const channel = `${prefix}hints`
      const bus = yield* Topics.make((payloads) =>
        Effect.forEach(payloads, (payload) => command(() => redis.publish(channel, payload)), {
          concurrency: "unbounded",
          discard: true
        })
      )
      const subscriber = yield* connected(url)
      yield* command(() => subscriber.subscribe(channel, (payload) => bus.receive(payload)))
      return {
        times,
        address,
        relay,
        bus,
        store: directoryOf(redis, prefix, times),
        events: eventsIn(redis, prefix, times),
        replies: repliesIn(redis, prefix),
        rates: options.sharedRateLimits === true ? ratesIn(redis, prefix) : undefined,
        key: Buffer.from(key, "hex")
      }
    })
  )
