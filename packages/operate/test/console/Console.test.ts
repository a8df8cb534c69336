import { NodeHttpServer } from "@effect/platform-node"
import { Principal } from "@effect-mcp/core"
import { Admin } from "@effect-mcp/operate"
import * as Console from "@effect-mcp/operate/console"
import { McpServer } from "@effect-mcp/server"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger } from "effect"
import { HttpRouter, HttpServer, HttpServerRequest } from "effect/http"
import { createServer, request } from "node:http"
import { busy, readOnly, token } from "../support/busy.ts"

interface Answer {
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

/** By `node:http`, which sends any header. */
const ask = (
  port: number,
  path: string,
  { method = "GET", ...headers }: Readonly<Record<string, string>> = {},
  body?: object
): Effect.Effect<Answer> =>
  Effect.callback((resume) => {
    const sent = request({ port, host: "127.0.0.1", path, method, headers }, (response) => {
      let text = ""
      response.on("data", (part) => (text += part))
      const { headers, statusCode: status } = response
      response.on("end", () => resume(Effect.succeed({ status, headers, text })))
    })
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })

const statusOf = (...asked: Parameters<typeof ask>) => Effect.map(ask(...asked), ({ status }) => status)
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** A middleware of a program, which takes a token for the list of its scopes. */
const authorization = HttpRouter.middleware<{ provides: Principal.Principal }>()((route) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
    Effect.provideService(route, Principal.Principal, {
      subject: "ada",
      scopes: (headers["authorization"] ?? "").replace("Bearer ", "").split("+"),
      claims: {}
    })
  )
)

const serve = (routes: Layer.Layer<never, never, McpServer.McpServer | HttpRouter.HttpRouter>) =>
  Effect.gen(function* () {
    const context = yield* Layer.build(
      McpServer.serveHttp(routes, { disableLogger: true, disableListenLog: true }).pipe(
        Layer.provide(McpServer.layer({ name: "test", version: "1", features: Layer.empty })),
        Layer.provideMerge(Layer.orDie(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))),
        Layer.provide(Logger.layer([]))
      )
    )
    const { address } = Context.get(context, HttpServer.HttpServer)
    return address._tag === "UnixPathAddress" ? 0 : address.port
  })

describe("Console page", () => {
  it.live("The page and its files run only their own code, cannot be framed and contain no token", () =>
    Effect.gen(function* () {
      const { port } = yield* busy()
      const html = yield* ask(port, "/console")
      assert.strictEqual(html.status, 200)
      const files = [...html.text.matchAll(/(?:href|src)="(\/[^"]+)"/g)].map(([, file = ""]) => file)
      assert.lengthOf(files, 2)
      const seen = new Set<string>()
      const walk = (file: string): Effect.Effect<void> =>
        Effect.gen(function* () {
          if (seen.has(file)) return
          seen.add(file)
          const { headers, status, text } = yield* ask(port, file)
          assert.strictEqual(status, 200, file)
          const policy = String(headers["content-security-policy"])
          assert.include(policy, "default-src 'none'")
          assert.include(policy, "frame-ancestors 'none'")
          assert.notMatch(policy, /unsafe|\*|https?:/)
          assert.strictEqual(headers["x-content-type-options"], "nosniff")
          assert.notMatch(text, new RegExp(`${token}|${readOnly}`))
          assert.notMatch(text, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(/)
          const imported = [...text.matchAll(/from "(\.\/[\w-]+\.js)"/g)].map(([, name = ""]) => name)
          for (const name of imported) yield* walk(new URL(name, `http://host${file}`).pathname)
        })
      for (const file of files) yield* walk(file)
      assert.isAbove(seen.size, 5)
      // Nothing inline: no script without a source, no style, no handler.
      assert.notMatch(html.text, /<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/)
    }).pipe(Effect.scoped)
  )

  it.live("The page is not served for rebound names, other sites or proxied requests", () =>
    Effect.gen(function* () {
      const { port } = yield* busy()
      for (const path of ["/console", "/console/style.css", "/console/page/main.js", "/console/api/access"]) {
        assert.strictEqual(yield* statusOf(port, path, { ...bearer(token), host: "evil.example" }), 403, path)
        assert.strictEqual(yield* statusOf(port, path, { ...bearer(token), origin: "https://evil.example" }), 403, path)
        assert.strictEqual(yield* statusOf(port, path, { ...bearer(token), "x-forwarded-for": "127.0.0.1" }), 403, path)
      }
      assert.strictEqual(yield* statusOf(port, "/console/page/../api.js"), 404)
    }).pipe(Effect.scoped)
  )

  it.live("The page's token travels in a header, so that other sites cannot forge its requests", () =>
    Effect.gen(function* () {
      const { port, requests } = yield* busy()
      const [{ key } = { key: "" }] = yield* requests.list
      const post = { method: "POST", "content-type": "application/json" }
      const interrupt = (headers: Readonly<Record<string, string>>) =>
        statusOf(port, "/console/api/interrupt", { ...post, ...headers }, { key, reason: "no" })
      assert.strictEqual(yield* interrupt({ cookie: `token=${token}` }), 401)
      assert.strictEqual(yield* interrupt({ ...bearer(readOnly) }), 403)
      assert.strictEqual(yield* statusOf(port, `/console/api/requests?token=${token}`), 401)
      assert.isTrue((yield* requests.list).some((row) => row.key === key))
      assert.strictEqual(yield* interrupt(bearer(token)), 200)
    }).pipe(Effect.scoped)
  )

  it.live("A page behind the program's authorization uses its scopes, under the configured names", () =>
    Effect.gen(function* () {
      const allowedHosts = ["mcp.example.com"]
      const scopes = { see: "ops:see", steer: "ops:steer" }
      const api = Admin.layer({ path: "/ops/api", scopes, allowedHosts })
      const port = yield* serve(
        Layer.merge(Layer.provide(api, authorization.layer), Console.layerPage({ path: "/ops", allowedHosts }))
      )
      const host = { host: "mcp.example.com", "x-forwarded-for": "192.0.2.1" }
      for (const path of ["/ops", "/ops/page/main.js"]) {
        assert.strictEqual(yield* statusOf(port, path, host), 200)
        assert.strictEqual(yield* statusOf(port, path, { host: "evil.example" }), 403)
      }
      const right = (token: string) => ask(port, "/ops/api/access", { ...host, ...bearer(token) })
      assert.strictEqual((yield* right("files:read+ops")).status, 403)
      assert.deepInclude(JSON.parse((yield* right("files:read+ops:see")).text), { right: "see", history: false })
      assert.deepInclude(JSON.parse((yield* right("ops:steer")).text), { right: "steer" })
      const post = (token: string, type = "application/json", more = {}) => {
        const headers = { ...host, method: "POST", "content-type": type, ...bearer(token), ...more }
        return statusOf(port, "/ops/api/interrupt", headers, { key: "1", reason: "no" })
      }
      assert.strictEqual(yield* post("ops:see"), 403)
      assert.strictEqual(yield* post("ops:steer"), 200)
      // Requests that a form on another site could send with the caller's cookies.
      assert.strictEqual(yield* post("ops:steer", "text/plain"), 415)
      assert.strictEqual(yield* post("ops:steer", "application/json", { origin: "null" }), 403)
    }).pipe(Effect.scoped)
  )

  it.live("The admin endpoint with scopes but no middleware admits no caller", () =>
    Effect.gen(function* () {
      const port = yield* serve(Admin.layer({ scopes: { see: "a", steer: "b" } }))
      assert.strictEqual(yield* statusOf(port, "/admin/requests", bearer("a")), 403)
    }).pipe(Effect.scoped)
  )
})
