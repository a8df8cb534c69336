/**
 * Answers that are nested too deeply: the request fails with an error that names both depths, and the conversation continues.
 */
import * as McpError from "@effect-mcp/protocol/McpError"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Queue } from "effect"
import { FetchHttpClient } from "effect/http"
import { ask, sessions, shakeHands, wired } from "./http/support/peer.ts"
import * as Raw from "./http/support/raw.ts"
import * as Sse from "../support/sse.ts"

const arrays = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`
/** An answer of that depth, as text because JSON.stringify cannot create very deep values. */
const resultOf = (id: unknown, depth: number) =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"a":${arrays(depth - 2)}}}`
const errorOf = (id: unknown, depth: number) =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":1,"message":"","data":${arrays(depth - 2)}}}`

const isRefused = Effect.fnUntraced(function* (asked: Fiber.Fiber<unknown, unknown>, depth: number, allowed = 256) {
  const error = yield* Effect.flip(Fiber.join(asked))
  assert.instanceOf(error, McpError.McpError)
  assert.deepInclude(error, {
    code: -32600,
    message: `The message is nested ${depth} levels deep; at most ${allowed} are allowed`
  })
})

/** How an answer arrives over Streamable HTTP. */
const bodies: ReadonlyArray<{
  readonly body: string
  readonly answer: (hit: Raw.Hit, text: string) => Effect.Effect<void>
}> = [
  { body: "a JSON body", answer: (hit, text) => hit.status(200, text, { "content-type": "application/json" }) },
  {
    body: "a body of unknown length",
    answer: (hit, text) =>
      Effect.andThen(hit.stream({ "content-type": "application/json" }), Effect.andThen(hit.write(text), hit.end))
  },
  {
    body: "a stream of events",
    answer: (hit, text) => Effect.andThen(hit.stream(), Effect.andThen(hit.event({ data: text }), hit.end))
  }
]
const versions = ["2026-07-28", ...sessions] as const

describe.each(bodies.flatMap((body) => versions.map((version) => ({ ...body, version }))))(
  "Overly deep answers, by $body in $version",
  ({ answer, version }) => {
    const open = Effect.fnUntraced(function* (maxMessageDepth?: number) {
      const server = yield* Raw.open
      const peer = yield* wired({ url: server.url, maxMessageDepth })
      if (version !== "2026-07-28") yield* (yield* shakeHands(peer, server, { version })).status(405)
      return { server, peer }
    })

    it.effect("An overly deep answer fails only its request", () =>
      Effect.gen(function* () {
        const { peer, server } = yield* open()
        const slow = yield* ask(peer, "tools/list")
        const slower = yield* server.take("POST")
        for (const depth of [257, 20_000]) {
          for (const textOf of [resultOf, errorOf]) {
            const asked = yield* ask(peer, "tools/call")
            const hit = yield* server.take("POST")
            yield* answer(hit, textOf(hit.message.id, depth))
            yield* isRefused(asked, depth)
          }
        }
        const deepest = yield* ask(peer, "tools/call")
        const hit = yield* server.take("POST")
        yield* answer(hit, resultOf(hit.message.id, 256))
        assert.property(yield* Fiber.join(deepest), "a")
        yield* answer(slower, `{"jsonrpc":"2.0","id":${slower.message.id},"result":{"tools":[]}}`)
        assert.deepStrictEqual(yield* Fiber.join(slow), { tools: [] })
      }).pipe(Effect.provide(FetchHttpClient.layer))
    )

    it.effect("An answer's depth is measured against the client's own limit", () =>
      Effect.gen(function* () {
        const { peer, server } = yield* open(10)
        const asked = yield* ask(peer, "tools/call")
        const hit = yield* server.take("POST")
        yield* answer(hit, resultOf(hit.message.id, 11))
        yield* isRefused(asked, 11, 10)
      }).pipe(Effect.provide(FetchHttpClient.layer))
    )
  }
)

describe.each(sessions)("Overly deep server messages in %s", (version) => {
  it.effect("An overly deep server message is dropped, and later messages on both streams are read", () =>
    Effect.gen(function* () {
      const server = yield* Raw.open
      const peer = yield* wired({ url: server.url })
      const standing = yield* shakeHands(peer, server, { version })
      yield* standing.stream()
      const asked = yield* ask(peer, "tools/call")
      const hit = yield* server.take("POST")
      yield* hit.stream()
      for (const stream of [standing, hit]) {
        yield* stream.event({
          data: `{"jsonrpc":"2.0","method":"notifications/deep","params":{"a":${arrays(20_000)}}}`
        })
        // A bare peer answers a message it cannot read; a client only reports it.
        const told = yield* server.take("POST")
        assert.strictEqual(told.message.error.code, -32600)
        yield* told.status(202)
        yield* stream.event({ data: { jsonrpc: "2.0", method: "notifications/fine" } })
        assert.strictEqual((yield* Queue.take(peer.heard)).method, "notifications/fine")
      }
      yield* hit.event({ data: `{"jsonrpc":"2.0","id":${hit.message.id},"result":{}}` })
      assert.deepStrictEqual(yield* Fiber.join(asked), {})
    }).pipe(Effect.provide(FetchHttpClient.layer))
  )
})

describe("Answer depth over HTTP with SSE", () => {
  it.live.each([
    [undefined, 256],
    [10, 10]
  ] as const)("A %s limit allows %i levels, and a deeper answer fails only its request", ([option, allowed]) =>
    Effect.gen(function* () {
      const server = yield* Sse.serving({
        posted: ({ answer, message }) => {
          answer(202)
          const text = resultOf(message.id, allowed + (message.method === "deep" ? 1 : 0))
          for (const stream of server.streams) stream.write(`event: message\ndata: ${text}\n\n`)
        }
      })
      const peer = yield* Sse.peerOf({ url: server.url, maxMessageDepth: option })
      yield* isRefused(yield* Effect.forkChild(peer.request("deep")), allowed + 1, allowed)
      assert.property(yield* peer.request("fine"), "a")
    })
  )
})
