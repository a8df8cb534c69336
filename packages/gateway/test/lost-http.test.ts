/**
 * An upstream HTTP server that dies during a call whose stream could be resumed: the call ends, although no GET is answered.
 */
import * as Http from "@effect-mcp/client/Http"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpServer from "@effect-mcp/server/McpServer"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer } from "effect"
import { FetchHttpClient } from "effect/http"
import * as Gateway from "../src/Gateway.ts"
import { Behind, behind, join } from "./support/gateway.ts"

/** A `fetch` that reaches the upstream server until it dies; then open bodies end and requests fail. */
const mortal = Effect.gen(function* () {
  const record = yield* Behind
  const served = behind.pipe(Layer.provide(Layer.succeed(Behind, record)))
  const { dispose, handler } = McpServer.toWebHandler(served, { path: "/mcp", drain: 0 })
  yield* Effect.addFinalizer(() => Effect.promise(dispose))
  const primed = yield* Deferred.make<void>()
  const ends = new Set<() => void>()
  let dead = false
  const text = new TextDecoder()
  const fetch = async (input: string | URL | Request, init?: RequestInit) => {
    if (dead) throw new TypeError("connect ECONNREFUSED")
    const response = await handler(new Request(input, init))
    if (response.body === null) return response
    const reader = response.body.getReader()
    let end = () => {}
    const body = new ReadableStream({
      start: (controller) => {
        end = () => {
          if (ends.delete(end)) controller.close()
        }
        ends.add(end)
      },
      pull: async (controller) => {
        const { done, value } = await reader.read()
        if (done) return end()
        if (!ends.has(end)) return
        controller.enqueue(value)
        if (init?.method === "POST" && text.decode(value).includes("id:")) Deferred.doneUnsafe(primed, Effect.void)
      }
    })
    return new Response(body, response)
  }
  const die = Effect.sync(() => {
    dead = true
    for (const end of ends) end()
  })
  return { die, fetch, primed }
})

describe.each(["2025-11-25", "2026-07-28"] as const)(
  "A gateway, %s, in front of a resumable HTTP server",
  (version) => {
    it.live("A call ends with a protocol error soon after its HTTP server crashes", () =>
      Effect.gen(function* () {
        const { die, fetch, primed } = yield* mortal
        const gateway = yield* Layer.build(
          Gateway.layer({
            connector: Http.open({ url: "http://127.0.0.1/mcp" }),
            client: { revisions: ["2025-11-25"] }
          }).pipe(Layer.provide(FetchHttpClient.layer), Layer.provide(Layer.succeed(FetchHttpClient.Fetch, fetch)))
        )
        const client = yield* Effect.provide(join(Revision.get(version)!), gateway)
        const call = yield* Effect.forkChild(Effect.flip(client.callToolByName("hang")), { startImmediately: true })
        yield* Deferred.await(primed)
        yield* die
        const error = yield* Effect.timeout(Fiber.join(call), "4 seconds")
        assert.deepInclude(error, { _tag: "McpError", code: McpError.InternalError })
        assert.strictEqual(Context.get(gateway, Gateway.Gateway).calls(), 0)
      }).pipe(Effect.provide(Behind.layer))
    )
  }
)
