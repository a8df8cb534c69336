/** How often a client reconnects to a server whose streams end at once, whatever the server says. */
import { RemoteEndpoint } from "../../../src/transport/http/Endpoint.ts"
import * as HttpClientSender from "../../../src/transport/http/HttpClientSender.ts"
import type { Options } from "../../../src/transport/http/Resume.ts"
import { ResumeStream } from "../../../src/transport/http/ResumeStream.ts"
import * as Body from "../../../src/transport/http/Body.ts"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import * as Sleeps from "./support/clock.ts"
import * as Fake from "../../support/fake.ts"

/** Streams that end after their first event; `lasting` says how long each was open, in milliseconds. */
const scene = Effect.fnUntraced(function* (event: string, lasting: (at: number) => number, options?: Options) {
  const { clock, wake } = yield* Sleeps.make
  let now = 0
  let count = 0
  const http = Fake.client(() =>
    Effect.sync(() => {
      now += lasting(++count)
      return new Response(event, { headers: { "content-type": "text/event-stream" } })
    })
  )
  const nanos = () => BigInt(now) * 1_000_000n
  const timed: Clock.Clock = Object.assign({}, clock, {
    monotonicTimeNanosUnsafe: nanos,
    monotonicTimeNanos: Effect.sync(nanos)
  })
  const endpoint = new RemoteEndpoint(HttpClientSender.make(http), new URL("https://mcp.example.com/mcp"))
  endpoint.session = "1"
  const reconnect = new ResumeStream(endpoint, 1000, options)
  const waits = (times: number) => Effect.forEach(Array.from({ length: times }), () => wake(() => true))
  return { reconnect, timed, waits }
})

const always = Effect.fnUntraced(function* (
  kind: "stand" | "resume",
  event: string,
  lasting: (at: number) => number,
  times: number,
  options?: Options
) {
  const { reconnect, timed, waits } = yield* scene(event, lasting, options)
  const deliver = () => Effect.void
  const run =
    kind === "stand"
      ? reconnect.standalone(
          deliver,
          () => {},
          () => {}
        )
      : reconnect.resume(Body.start(), deliver, () => false)
  yield* Effect.forkChild(Effect.provideService(run, Clock.Clock, timed), { startImmediately: true })
  return yield* waits(times)
})

const message = 'id: 1\ndata: {"jsonrpc":"2.0","method":"a"}\n\n'

describe.each(["stand", "resume"] as const)("Streams that end immediately (%s)", (kind) => {
  // The first wait of a request's stream precedes the first connection.
  const start = kind === "stand" ? 1 : 0

  for (const [what, event] of [
    ["a message and retry: 1", `retry: 1\n${message}`],
    ["an empty event and retry: 0", "retry: 0\nid: 1\ndata:\n\n"],
    ["only retry: 1", "retry: 1\n\n"]
  ] as const) {
    it.effect(`Streams that end after ${what} are reopened after delays that double from 100 ms to 2 seconds`, () =>
      Effect.gen(function* () {
        const waits = yield* always(kind, event, () => 0, 8)
        const least = [100, 200, 400, 800, 1600, 2000, 2000, 2000, 2000].slice(start, start + 8)
        assert.isTrue(
          waits.every((wait, at) => wait >= least[at]! - 0.001),
          waits.join()
        )
        // Never longer than that, or than the first wait without a hint from the server.
        assert.isTrue(
          waits.every((wait, at) => wait <= Math.max(500, least[at]!)),
          waits.join()
        )
      })
    )
  }

  it.effect("An ended stream waits for the configured delay", () =>
    Effect.gen(function* () {
      const waits = yield* always(kind, `retry: 1\n${message}`, () => 0, 7, { minDelay: "10 millis", delay: 0 })
      assert.deepStrictEqual(waits, [10, 20, 40, 80, 160, 200, 200, 200].slice(start, start + 7))
    })
  )

  it.effect("An ended stream waits for the server's delay if that is longer", () =>
    Effect.gen(function* () {
      const waits = yield* always(kind, `retry: 5000\n${message}`, () => 0, 6)
      assert.isTrue(
        waits.slice(1).every((wait) => wait >= 5000 && wait <= 5500),
        waits.join()
      )
    })
  )

  it.effect("A stream that has lasted a second resets the delays", () =>
    Effect.gen(function* () {
      const lasting = (at: number) => (at === 4 ? 1000 : 0)
      const waits = yield* always(kind, `retry: 1\n${message}`, lasting, 6, { minDelay: "10 millis", delay: 0 })
      const expected = kind === "stand" ? [20, 40, 80, 10, 20, 40] : [10, 20, 40, 80, 10, 20]
      assert.deepStrictEqual(waits, expected)
    })
  )
})
