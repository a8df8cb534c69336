/** Our endpoint as a route of Express, next to others and behind authorization, used by the official clients. */
import { Principal, Tool, Tools } from "@effect-mcp/core"
import { serve } from "@effect-mcp/interop/reference/node"
import { McpServer } from "@effect-mcp/server"
import { Client as V1 } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport as V1Http } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { Client as V2, StreamableHTTPClientTransport as V2Http } from "@modelcontextprotocol/client"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http"
import { createRequire } from "node:module"

type Handler = (request: IncomingMessage & { user?: string }, response: ServerResponse, next: () => void) => void
interface Express extends RequestListener {
  readonly use: (path: string, ...handlers: ReadonlyArray<Handler>) => void
  readonly get: (path: string, handler: Handler) => void
}
// The version of Express that the SDK uses, so that it matches its users'.
const sdk = createRequire(import.meta.resolve("@modelcontextprotocol/sdk/server/express.js"))
const express: (() => Express) & { readonly json: () => Handler } = sdk("express")

const WhoAmI = Tool.make("whoami", { description: "Says who asks.", output: { subject: Schema.NullOr(Schema.String) } })
const server = McpServer.layer({
  name: "test",
  version: "1.0.0",
  features: Tools.layer(WhoAmI, () =>
    Effect.map(Effect.service(Principal.Principal), ({ subject = null }) => ({ subject }))
  )
})

const users = new WeakMap<IncomingMessage, string>()
const principal = (request: IncomingMessage) => ({ ...Principal.anonymous, subject: users.get(request) })

const origin = Effect.map(
  serve(server, { principal }, 0, (listener) => {
    const app = express()
    app.get("/health", (_, response) => response.end("well"))
    app.use("/api/parsed", express.json(), listener)
    app.use(
      "/api/mcp",
      (request, response, next) => {
        const [, user] = /^Bearer (\w+)$/.exec(request.headers.authorization ?? "") ?? []
        if (user === undefined) return response.writeHead(401).end()
        users.set(request, user)
        return next()
      },
      listener
    )
    return app
  }),
  (port) => `http://127.0.0.1:${port}`
)

const info = { name: "test", version: "1.0.0" }
const clients = [
  ["v1", () => new V1(info), V1Http],
  ["v2", () => new V2(info), V2Http],
  ["v2 in 2026-07-28", () => new V2(info, { versionNegotiation: { mode: { pin: "2026-07-28" } } }), V2Http]
] as const

describe("Express routes", () => {
  it.live.each(clients)("A route serves the TypeScript SDK %s and sees its principal", ([, make, Transport]) =>
    Effect.gen(function* () {
      const at = yield* origin
      for (const user of ["ada", "bob"]) {
        const transport: any = new Transport(new URL(`${at}/api/mcp`), {
          requestInit: { headers: { authorization: `Bearer ${user}` } }
        })
        const client: any = make()
        yield* Effect.acquireRelease(
          Effect.promise(() => client.connect(transport)),
          () => Effect.promise(() => client.close())
        )
        const { structuredContent } = yield* Effect.promise<any>(() =>
          client.callTool({ name: "whoami", arguments: {} })
        )
        assert.deepStrictEqual(structuredContent, { subject: user })
      }
    })
  )

  it.live("A route ignores other routes, rejects POSTs without a token, and accepts parsed bodies", () =>
    Effect.gen(function* () {
      const at = yield* origin
      const ask = (path: string, init?: RequestInit) =>
        Effect.promise(async () => {
          const response = await fetch(at + path, init)
          return [response.status, await response.text()] as const
        })
      assert.deepStrictEqual(yield* ask("/health"), [200, "well"])
      const post = {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
        body: "{}"
      }
      assert.strictEqual((yield* ask("/api/mcp", post))[0], 401)
      const [status, said] = yield* ask("/api/parsed", post)
      assert.strictEqual(status, 400, said)
      assert.include(said, "-32600")
    })
  )
})
