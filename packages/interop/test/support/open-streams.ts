/** Many open streams of every kind, at a server that ends. */
import { assert } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { start } from "./http-server.ts"
import { fileOf } from "./our-client.ts"
import { initialize, initialized, json, type Reply, requestOf, send } from "./raw-http.ts"
import { meta } from "./wire.ts"

const stateless = { ...json, "mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen" }

/** The standalone stream of a session. */
const standing = Effect.fnUntraced(function* (origin: string) {
  const opened = yield* send(`${origin}/mcp`, { body: initialize("2025-11-25") })
  yield* opened.read()
  const session = { ...json, "mcp-session-id": opened.headers["mcp-session-id"] }
  yield* send(`${origin}/mcp`, { headers: session, body: initialized })
  return yield* send(`${origin}/mcp`, { method: "GET", headers: session })
})
const subscription = (origin: string) =>
  send(`${origin}/mcp`, {
    headers: stateless,
    body: requestOf(1, "subscriptions/listen", { notifications: { toolsListChanged: true }, _meta: meta() })
  })
const sse = Effect.fnUntraced(function* (origin: string) {
  const stream = yield* send(`${origin}/sse`, { method: "GET", headers: {} })
  const endpoint = /data: (\S+)/.exec(yield* stream.first)?.[1] ?? ""
  for (const body of [initialize("2024-11-05"), initialized]) yield* send(`${origin}${endpoint}`, { body })
  return stream
})
type Kind = (origin: string) => Effect.Effect<Reply>
/** The servers, and the kinds of streams of each. */
export const servers: ReadonlyArray<
  readonly [name: string, kinds: ReadonlyArray<Kind>, ...args: ReadonlyArray<string>]
> = [
  ["", [standing, subscription, sse]],
  [" directly on node:http", [standing, subscription], "--node"]
]

/** Opens `count` streams and ends the server; all streams must end cleanly. Returns how long the end took. */
export const end = Effect.fnUntraced(function* (
  count: number,
  kinds: ReadonlyArray<Kind>,
  args: ReadonlyArray<string>
) {
  const { terminate, url: origin } = yield* start([fileOf("../fixtures/flooding-server.ts"), ...args])
  const streams = yield* Effect.forEach(
    Array.from({ length: count }, (_, index) => kinds[index % kinds.length] ?? sse),
    (open) => open(origin),
    { concurrency: 20 }
  )
  assert.isTrue(streams.every(({ status }) => status === 200))
  const reading = Effect.forEach(streams, ({ read }) => read(), { concurrency: "unbounded" })
  const ends = yield* Effect.forkChild(reading, { startImmediately: true })
  const [took] = yield* Effect.timed(terminate)
  const incomplete = (yield* Fiber.join(ends)).filter(({ complete }) => !complete)
  assert.strictEqual(incomplete.length, 0)
  return took
}, Effect.scoped)
