/**
 * A third-party extension through a gateway over HTTP, in both directions: from our client, and from the official one by names alone.
 */
import { ClientExtension } from "@effect-mcp/client"
import * as Http from "@effect-mcp/client/Http"
import * as McpClient from "@effect-mcp/client/McpClient"
import { Tools } from "@effect-mcp/core"
import { Add } from "@effect-mcp/examples/calculator"
import { meter } from "@effect-mcp/examples/meter/features"
import { Meter } from "@effect-mcp/examples/meter/meter"
import { serve } from "@effect-mcp/interop/reference/node"
import { Gateway } from "@effect-mcp/gateway"
import * as Revision from "@effect-mcp/protocol/Revision"
import { McpServer } from "@effect-mcp/server"
import { assert, describe, it } from "@effect/vitest"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { Effect, Fiber, Layer, Logger, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import * as z from "zod"
import { clientInfo } from "../support/official.ts"

const add = Tools.layer(Add, ({ a, b }) => Effect.succeed({ sum: a + b }))
const urlOf = (port: number): string => `http://127.0.0.1:${port}/mcp`

/** The URL of a gateway in front of a server with the extension, which starts at zero. */
const served = Effect.gen(function* () {
  const features = Layer.fresh(Layer.merge(add, meter))
  const behind = yield* serve(McpServer.layer({ name: "metered", version: "1.0.0", features }), { path: "/mcp" })
  const gateway = Layer.merge(Gateway.layer({ connector: Http.open({ url: urlOf(behind) }) }), Logger.layer([]))
  return urlOf(yield* serve(Layer.provide(gateway, FetchHttpClient.layer), { path: "/mcp" }))
})

const refusal = "The budget of 2 is spent"

describe.each(Revision.all)("The com.acme/meter extension through a gateway over HTTP in $version", (revision) => {
  it.live("A gateway serves our client an extension's request, notification, setting and tools/call hook", () =>
    Effect.gen(function* () {
      const url = yield* served
      const { callTool, notifications, request } = yield* McpClient.open(Http.open({ url }), {
        revisions: [revision.version]
      })
      const charged = yield* Effect.forkChild(
        Stream.runCollect(Stream.take(notifications(Meter.notifications.charged), 2)),
        { startImmediately: true }
      )
      yield* callTool(Add, { a: 1, b: 2 })
      yield* callTool(Add, { a: 3, b: 4 })
      assert.strictEqual((yield* Effect.flip(callTool(Add, { a: 5, b: 6 }))).message, refusal)
      assert.deepStrictEqual(yield* request(Meter.requests.spent, {}), { total: 2 })
      const told = (yield* Fiber.join(charged)).map(({ total }) => total)
      assert.deepStrictEqual(told, [1, 2])
    }).pipe(
      Effect.scoped,
      Effect.provide([ClientExtension.layer(Meter, { settings: { budget: 2 } }), FetchHttpClient.layer])
    )
  )

  it.live("A gateway serves an extension to the official SDK v2 client, which only knows the method names", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const url = yield* served
        const { era, rules, version } = revision
        const client = new Client(clientInfo, {
          capabilities: { [rules.extensions]: { [Meter.id]: { budget: 2 } } },
          ...(era === "stateless"
            ? { versionNegotiation: { mode: { pin: version } } }
            : { supportedProtocolVersions: [version] })
        })
        const told: Array<unknown> = []
        const { method } = Meter.notifications.charged
        client.setNotificationHandler(method, { params: z.object({ total: z.number() }) }, ({ total }) => {
          told.push(total)
        })
        yield* Effect.acquireRelease(
          Effect.promise(() => client.connect(new StreamableHTTPClientTransport(new URL(url)))),
          () => Effect.promise(() => client.close())
        )
        const call = Effect.tryPromise(() => client.callTool({ name: "add", arguments: { a: 1, b: 2 } }))
        yield* call
        yield* call
        assert.include(String((yield* Effect.flip(call)).cause), refusal)
        const spent = { method: Meter.requests.spent.method, params: {} }
        const { total } = yield* Effect.promise(() => client.request(spent, z.object({ total: z.number() })))
        assert.strictEqual(total, 2)
        assert.deepStrictEqual(told, [1, 2])
      })
    )
  )
})
