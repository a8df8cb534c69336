/** Tasks over HTTP: the header that names a task, statuses, and the tasks of anonymous callers. */
import * as Meta from "@effect-mcp/protocol/model/Meta"
import * as McpServer from "@effect-mcp/server/McpServer"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import * as Tasks from "../../src/Tasks.ts"
import { declared, undeclared } from "../support/client.ts"
import { tool } from "../support/tools.ts"

const version = "2026-07-28"
const features = Layer.merge(
  tool("hello", "optional", () => Effect.succeed("Hello")),
  Tasks.layer()
)

/** The address that a header names. */
const addressed = HttpRouter.middleware((handler) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, (http) => {
    const remoteAddress = Option.fromUndefinedOr(http.headers["x-address"])
    return Effect.provideService(handler, HttpServerRequest.HttpServerRequest, http.modify({ remoteAddress }))
  })
).layer

/** Sends one request to a fetch handler, and returns its status and answer. */
const clientOf = Effect.fnUntraced(function* (served: typeof features) {
  const server = Layer.fresh(McpServer.layer({ name: "test", version: "1.0.0", features: served }))
  const app = Layer.provide(McpServer.layerHttp({ path: "/mcp" }), [server, addressed])
  const { dispose, handler } = HttpRouter.toWebHandler(app, { disableLogger: true })
  yield* Effect.addFinalizer(() => Effect.promise(dispose))
  return (method: string, params: object, name: string, capabilities: object = declared, address = "127.0.0.1") =>
    Effect.promise(async () => {
      const _meta = {
        [Meta.protocolVersion]: version,
        [Meta.clientInfo]: { name: "test", version: "0" },
        [Meta.clientCapabilities]: capabilities
      }
      const response = await handler(
        new Request("http://localhost:3000/mcp", {
          method: "POST",
          headers: {
            "content-type": "application/json",
            accept: "application/json, text/event-stream",
            "mcp-protocol-version": version,
            "mcp-method": method,
            "mcp-name": name,
            "x-address": address
          },
          body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } })
        })
      )
      const { error, result }: { readonly error?: { readonly code: number }; readonly result?: any } =
        await response.json()
      return { status: response.status, code: error?.code, result }
    })
})

const client = clientOf(features)

it.live("Anonymous tasks count against their address", () =>
  Effect.gen(function* () {
    const send = yield* clientOf(
      Layer.merge(
        tool("hang", "optional", () => Effect.never),
        Tasks.layer({ perOwner: 2 })
      )
    )
    const hang = (address: string) => send("tools/call", { name: "hang", arguments: {} }, "hang", declared, address)
    const first = yield* hang("2001:db8::1")
    yield* hang("2001:db8::2")
    assert.strictEqual((yield* hang("2001:db8::3")).code, -31_429)
    assert.isDefined((yield* hang("192.0.2.1")).result.taskId)
    // The id grants access to the task, from any address.
    const { taskId } = first.result
    const cancelled = yield* send("tasks/cancel", { taskId }, taskId, declared, "192.0.2.1")
    assert.strictEqual(cancelled.code, undefined)
    assert.isDefined((yield* hang("2001:db8::3")).result.taskId)
  })
)

it.live("A task over HTTP can be read by every client that knows its id", () =>
  Effect.gen(function* () {
    const send = yield* client
    const { result } = yield* send("tools/call", { name: "hello", arguments: {} }, "hello")
    const { taskId } = result
    const read = yield* send("tasks/get", { taskId }, taskId)
    assert.deepInclude(read.result, { taskId, status: "completed", resultType: "complete" })
    const other = yield* send("tasks/get", { taskId }, "other")
    assert.deepStrictEqual([other.status, other.code], [400, -32_020])
    const unknown = yield* send("tasks/cancel", { taskId: "other" }, "other")
    assert.deepStrictEqual([unknown.status, unknown.code], [200, -32_602])
    const lacking = yield* send("tasks/get", { taskId }, taskId, undeclared)
    assert.deepStrictEqual([lacking.status, lacking.code], [400, -32_021])
    const legacy = yield* send("tasks/result", { taskId }, taskId)
    assert.deepStrictEqual([legacy.status, legacy.code], [404, -32_601])
  }).pipe(Effect.scoped)
)
