/** HTTP with SSE behind a fetch handler, without a Node server. */
import * as Sse from "../../../src/http/legacy/SseEndpoint.ts"
import * as McpServer from "@effect-mcp/server/McpServer"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import { request } from "./support/sse.ts"

it.live("A fetch handler session lasts until its stream is cancelled or the handler is disposed", () =>
  Effect.gen(function* () {
    const server = McpServer.layer({ name: "web", version: "1", features: Layer.empty })
    const app = Layer.provide(Sse.layer({ path: "/sse" }), server)
    const { dispose, handler } = HttpRouter.toWebHandler(app, { disableLogger: true })
    const fetch = (path: string, init?: RequestInit) =>
      Effect.promise(() => handler(new Request(new URL(path, "http://localhost"), init)))
    const connect = Effect.gen(function* () {
      const response = yield* fetch("/sse")
      assert.strictEqual(response.status, 200)
      const reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader()
      const next = Effect.map(
        Effect.promise(() => reader.read()),
        ({ value }) => new TextDecoder().decode(value)
      )
      const endpoint = (yield* next).replace("event: endpoint\ndata: ", "").trim()
      const post = (message: object) => {
        const headers = { "content-type": "application/json" }
        return Effect.map(
          fetch(endpoint, { method: "POST", headers, body: JSON.stringify(message) }),
          ({ status }) => status
        )
      }
      return { next, post, cancel: Effect.promise(() => reader.cancel()) }
    })

    const first = yield* connect
    const second = yield* connect
    assert.strictEqual(yield* first.post(request("ping")), 202)
    assert.include(yield* first.next, `data: {"jsonrpc":"2.0","id":1,"result":{}}`)
    yield* first.cancel
    // The session is gone as soon as the handler notices.
    yield* Effect.repeat(first.post(request("ping")), { until: (status) => status === 404 })
    assert.strictEqual(yield* second.post(request("ping")), 202)
    assert.include(yield* second.next, `"id":1`)
    yield* Effect.promise(dispose)
    assert.strictEqual(yield* second.next, "")
  })
)
