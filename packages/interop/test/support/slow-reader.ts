/** A reader that stops in a flood, and a process that reports the memory this takes. */
import { assert } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { count, size } from "../fixtures/flooding-server.ts"
import { start } from "./http-server.ts"
import { fileOf } from "./our-client.ts"
import { initialize, initialized, json, type Reply, requestOf, send } from "./raw-http.ts"
import { call } from "./wire.ts"

const flood = { name: "flood", arguments: {}, _meta: { progressToken: "p" } }

/** Starts the flood on a stream that is not read. */
type Begin = (origin: string) => Effect.Effect<Reply, never, Scope.Scope>

const stateless: Begin = (origin) =>
  send(`${origin}/mcp`, {
    headers: { ...json, "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "flood" },
    body: requestOf(1, "tools/call", {
      ...flood,
      _meta: { ...flood._meta, ...call("flood")._meta }
    })
  })

const session: Begin = Effect.fnUntraced(function* (origin) {
  const opened = yield* send(`${origin}/mcp`, { body: initialize("2025-11-25") })
  yield* opened.read()
  const headers = {
    ...json,
    "mcp-session-id": opened.headers["mcp-session-id"],
    "mcp-protocol-version": "2025-11-25"
  }
  yield* send(`${origin}/mcp`, { headers, body: initialized })
  return yield* send(`${origin}/mcp`, { headers, body: requestOf(1, "tools/call", flood) })
})

const sse: Begin = Effect.fnUntraced(function* (origin) {
  const stream = yield* send(`${origin}/sse`, { method: "GET", headers: {} })
  const endpoint = /data: (\S+)/.exec(yield* stream.first)?.[1] ?? ""
  for (const body of [initialize("2025-11-25"), initialized, requestOf(1, "tools/call", flood)]) {
    const { status } = yield* send(`${origin}${endpoint}`, { body })
    assert.strictEqual(status, 202)
  }
  return stream
})

/** The streams of a flood: how each starts, and the arguments of its server. */
export const floods = [
  ["Streamable HTTP in 2026-07-28", stateless, []],
  ["Streamable HTTP in 2025-11-25", session, []],
  ["HTTP with SSE", sse, []],
  ["Streamable HTTP directly on node:http in 2026-07-28", stateless, ["--node"]],
  ["Streamable HTTP directly on node:http in 2025-11-25", session, ["--node"]]
] as const

/** The reader stops until the flood stalls, then reads all of it. Returns the bytes of memory that the stall took. */
export const stop = Effect.fnUntraced(function* (begin: Begin, args: ReadonlyArray<string>) {
  const { url: origin } = yield* start([fileOf("../fixtures/flooding-server.ts"), ...args])
  const measure = Effect.flatMap(send(`${origin}/measure`, { method: "GET" }), ({ read }) =>
    Effect.map(read(), ({ tail }): { readonly rss: number; readonly reported: number } => JSON.parse(tail))
  )
  const { rss: baseline } = yield* measure
  let highest = 0
  const measured = Effect.tap(measure, ({ rss }) => Effect.sync(() => (highest = Math.max(highest, rss))))
  const slow = yield* begin(origin)
  // It has stalled if this many answers in a row show no progress.
  let last = -1
  let standing = 0
  while (standing < 30) {
    const { reported } = yield* measured
    standing = reported > 0 && reported === last ? standing + 1 : 0
    last = reported
  }
  assert.isBelow(last, count / 2)
  const { bytes, marks, tail } = yield* slow.read('"text":"done"')
  assert.isAbove(bytes, count * size)
  // Every report has arrived, and then the answer.
  assert.isAtLeast(marks, count + 1)
  assert.include(tail, '"text":"done"')
  // Only the stall counts: the amount of garbage while everything is read at once depends on the collector.
  return highest - baseline
}, Effect.scoped)
