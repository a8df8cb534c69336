/** Promise servers over HTTP: standalone, in frameworks, with authentication, and with the official clients. */
import { type HttpOptions, McpClient, McpError, McpServer, RequestError } from "@effect-mcp/promise"
import { assert, describe, it } from "@effect/vitest"
import express from "express"
import fastify from "fastify"
import { Hono } from "hono"
import { createServer, type RequestListener } from "node:http"
import { onTestFinished } from "vitest"
import { z } from "zod"
import { boom, fatal, quiet } from "../support/fatal.ts"
import { sdks } from "../support/sdks.ts"
import { gate, rejection, revisions, serverOf, textOf } from "../support/revisions.ts"

/** A tool that names its caller, and one that asks a question. */
const offering = (): McpServer => {
  const server = serverOf()
  server.tool("user", { description: "The caller" }, (_, { principal }) => principal.subject ?? "anonymous")
  server.tool(
    "ask",
    { description: "Asks" },
    async (_, { ask }) => (await ask("Name?", z.object({ name: z.string() }))).name
  )
  server.tool("steps", { description: "Steps" }, async (_, { progress }) => {
    await progress(1)
    await progress(2)
  })
  return server
}

/** Listens until the end of the test, and returns the URL. */
const listening = async (listener: RequestListener): Promise<string> => {
  const http = createServer(listener)
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve))
  onTestFinished(() => {
    http.close()
    http.closeAllConnections()
  })
  const address = http.address()
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/mcp`
}

/** Serves a fetch handler with `node:http`. */
const ofFetch =
  (handler: (request: Request) => Response | Promise<Response>): RequestListener =>
  (incoming, outgoing) => {
    const chunks: Array<Buffer> = []
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk))
    incoming.on("end", () => {
      const { method = "GET" } = incoming
      const request = new Request(`http://${incoming.headers.host}${incoming.url}`, {
        method,
        headers: Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)]),
        ...(method === "POST" && { body: Buffer.concat(chunks) })
      })
      void Promise.resolve(handler(request)).then(async (response) => {
        outgoing.writeHead(response.status, Object.fromEntries(response.headers))
        for await (const chunk of response.body ?? []) outgoing.write(chunk)
        outgoing.end()
      })
    })
  }

/** The ways to serve HTTP. Each returns the URL of its endpoint. */
const ways: { readonly [name: string]: (server: McpServer, options: HttpOptions) => Promise<string> } = {
  "listen()": async (server, options) => (await server.listen({ ...options, signals: false })).url,
  "node:http": (server, options) => listening(server.toListener({ path: "/mcp", ...options })),
  Express: (server, options) => {
    const app = express()
    app.use(express.json())
    app.use("/mcp", server.toListener(options))
    return listening(app)
  },
  Fastify: async (server, options) => {
    const app = fastify()
    const listener = server.toListener(options)
    app.all("/mcp", (request, reply) => {
      reply.hijack()
      listener(Object.assign(request.raw, { body: request.body }), reply.raw)
    })
    onTestFinished(() => app.close())
    return `${await app.listen({ port: 0, host: "127.0.0.1" })}/mcp`
  },
  Hono: (server, options) => {
    const app = new Hono()
    const handler = server.toFetch(options)
    app.all("/mcp", (context) => handler(context.req.raw))
    return listening(ofFetch((request) => app.fetch(request)))
  }
}

const users = new Map([["secret", { subject: "ada", scopes: ["admin"] }]])

describe.each(Object.entries(ways))("HTTP through %s", (_, serve) => {
  it.each(revisions)("Calls, progress and questions work over HTTP in %s", async (revision) => {
    const url = await serve(offering(), {})
    await using client = await McpClient.connect(
      { url },
      { revisions: [revision], elicitation: { form: () => ({ action: "accept", content: { name: "Ada" } }) } }
    )
    assert.strictEqual(client.revision, revision)
    assert.strictEqual(textOf(await client.callTool("user")), "anonymous")
    const seen: Array<number> = []
    await client.callTool("steps", {}, { onProgress: ({ progress }) => seen.push(progress) })
    assert.deepStrictEqual(seen, [1, 2])
    const asked = await client.callTool("ask")
    if (revision >= "2025-06-18") assert.strictEqual(textOf(asked), "Ada")
    else assert.isTrue(asked.isError)
  })

  it.each(revisions)(
    "A verified token provides the principal, and any other token gets 401 in %s",
    async (revision) => {
      const resourceMetadata = "https://example.com/.well-known/oauth-protected-resource"
      const url = await serve(offering(), {
        auth: { verify: async (token) => users.get(token ?? ""), resourceMetadata }
      })
      const connect = (authorization: string) =>
        McpClient.connect({ url, headers: { authorization } }, { revisions: [revision] })
      await using client = await connect("Bearer secret")
      assert.strictEqual(textOf(await client.callTool("user")), "ada")
      for (const wrong of ["Bearer other", "Basic secret"]) {
        const error = await rejection(connect(wrong))
        assert.instanceOf(error, RequestError)
        assert.strictEqual(error.reason, "Unauthorized")
      }
      const refused = await fetch(url, { method: "POST", headers: { authorization: "Bearer other" } })
      assert.strictEqual(
        refused.headers.get("www-authenticate"),
        `Bearer error="invalid_token", resource_metadata="${resourceMetadata}"`
      )
      const unknown = {
        error: "invalid_token",
        error_description: "Invalid token. Ask the server's operator for a valid one"
      }
      assert.deepStrictEqual(await refused.json(), unknown)
      const anonymous = await fetch(url, { method: "POST" })
      assert.deepStrictEqual(await anonymous.json(), {
        error: "unauthorized",
        error_description: "Missing token. Send the header Authorization: Bearer TOKEN"
      })
    }
  )

  it("A page from a listed site passes the preflight and can read a 401", async () => {
    const cors = { maxAge: 60_000, exposedHeaders: ["X-Trace"] }
    const allowedOrigins = ["https://app.example.com"]
    const url = await serve(offering(), { cors, allowedOrigins, auth: { verify: (token) => users.get(token ?? "") } })
    const preflight = (origin: string) =>
      fetch(url, {
        method: "OPTIONS",
        headers: { origin, "access-control-request-headers": "authorization,mcp-session-id" }
      })
    const { headers, status } = await preflight("https://app.example.com")
    const headersOf = (headers: Headers, ...names: ReadonlyArray<string>) =>
      names.map((name) => headers.get(`access-control-${name}`))
    assert.deepStrictEqual(
      [status, ...headersOf(headers, "allow-origin", "allow-headers", "allow-methods", "max-age")],
      [204, "https://app.example.com", "authorization,mcp-session-id", "GET, POST, DELETE", "60"]
    )
    assert.deepStrictEqual(headersOf((await preflight("https://evil.example")).headers, "allow-origin"), [null])
    const post = await fetch(url, { method: "POST", headers: { origin: "https://app.example.com" } })
    assert.deepStrictEqual(
      [post.status, ...headersOf(post.headers, "allow-origin", "expose-headers")],
      [401, "https://app.example.com", "Mcp-Session-Id, Retry-After, WWW-Authenticate, DPoP-Nonce, X-Trace"]
    )
  })

  it("Closing the server lets a running call finish and rejects a later one", async () => {
    const server = offering()
    const started = gate()
    const go = gate()
    server.tool("wait", { description: "Waits" }, async () => {
      started.resolve()
      await go.promise
      return "finished"
    })
    const url = await serve(server, {})
    await using client = await McpClient.connect({ url }, { revisions: ["2025-11-25"], reconnect: false })
    const call = client.callTool("wait")
    await started.promise
    const closed = server.close()
    const refused = await rejection(client.callTool("user"))
    assert.instanceOf(refused, McpError)
    assert.strictEqual(refused.message, "The server is shutting down and did not start the request. Send it again")
    go.resolve()
    assert.strictEqual(textOf(await call), "finished")
    await closed
  })

  it("A verification error is answered with 500 and reported", async () => {
    const errors: Array<unknown> = []
    const server = serverOf({ onError: (error, { kind }) => errors.push([error, kind]) })
    const error = new Error("The database is away")
    const url = await serve(server, { auth: { verify: () => Promise.reject(error) } })
    const response = await fetch(url, { method: "POST" })
    assert.deepStrictEqual([response.status, await response.text()], [500, ""])
    assert.deepStrictEqual(errors, [[error, "auth"]])
  })

  it("A rejecting verification and a throwing onError leave the server running", async () => {
    quiet()
    const unhandled = fatal()
    const server = offering()
    const url = await serve(serverOf({ onError: boom }), { auth: { verify: async () => boom() } })
    for (let attempt = 0; attempt < 3; attempt++) assert.strictEqual((await fetch(url, { method: "POST" })).status, 500)
    assert.deepStrictEqual(await unhandled(), [])
    await server.close()
  })

  it.each<[number, unknown]>([
    [401, undefined],
    [401, null],
    [401, false],
    [500, true],
    [500, "ada"],
    [500, {}],
    [500, { subject: "" }],
    [500, { subject: 7 }],
    [500, { subject: "ada", scopes: "admin" }],
    [500, { subject: "ada", claims: "admin" }]
  ])("A caller gets %i if `verify` returns %j, and no handler runs", async (status, user) => {
    const errors: Array<unknown> = []
    const server = serverOf({ onError: (error) => errors.push(error) })
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what plain JavaScript may return
    const url = await serve(server, { auth: { verify: () => user as undefined } })
    const response = await fetch(url, { method: "POST", body: "{}" })
    assert.deepStrictEqual([response.status, errors.length], [status, status === 500 ? 1 : 0])
  })

  it("A verification that never settles blocks neither other callers nor shutdown", async () => {
    const server = offering()
    const arrived = gate()
    const verify = (token: string | undefined) => {
      if (token === "secret") return users.get(token)
      arrived.resolve()
      return new Promise<undefined>(() => {})
    }
    const url = await serve(server, { auth: { verify } })
    const abort = new AbortController()
    const stuck = rejection(fetch(url, { method: "POST", signal: abort.signal }))
    await arrived.promise
    const client = await McpClient.connect({ url, headers: { authorization: "Bearer secret" } })
    assert.strictEqual(textOf(await client.callTool("user")), "ada")
    await client.close()
    await server.close()
    abort.abort()
    await stuck
  })

  it.each(sdks)("$name calls a server over HTTP and sees a tool's error as its message", async ({ overHttp }) => {
    const server = offering()
    server.tool("fail", { description: "Fails" }, () => Promise.reject(new Error("No luck")))
    await using client = await overHttp(await serve(server, {}))
    assert.include(JSON.stringify(await client.callTool("user")), '"text":"anonymous"')
    const failed = await client.callTool("fail")
    assert.deepInclude(failed, { content: [{ type: "text", text: "No luck" }], isError: true })
  })
})

it("An unknown HTTP option is rejected, even from JavaScript", () => {
  const options = { path: "/mcp", tokens: { secret: "ada" } } as const
  const server = serverOf()
  assert.throws(
    () => server.toListener(options),
    TypeError,
    'HTTP: unknown option "tokens". Available options: path, auth'
  )
  assert.throws(() => server.toFetch(options), TypeError, 'HTTP: unknown option "tokens"')
  const cors = { credentials: false, maxage: 60_000 }
  assert.throws(() => server.toFetch({ cors }), TypeError, 'HTTP cors: unknown option "maxage". Did you mean "maxAge"?')
})

describe("Listening servers", () => {
  it("A listening server rejects other host names unless allowed", async () => {
    const { port } = await offering().listen({ signals: false })
    const server = offering()
    const allowing = await server.listen({ signals: false, allowedHosts: ["mcp.example.com"] })
    const statusOf = (port: number) =>
      new Promise<number>((resolve, reject) => {
        void import("node:http").then(({ request }) =>
          request({ port, path: "/mcp", method: "POST", headers: { host: "mcp.example.com" } }, (response) => {
            response.resume()
            resolve(response.statusCode ?? 0)
          })
            .on("error", reject)
            .end()
        )
      })
    assert.strictEqual(await statusOf(port), 403)
    assert.notStrictEqual(await statusOf(allowing.port), 403)
  })

  it("A closed listener is gone, and its server still serves elsewhere", async () => {
    const server = offering()
    const { close, url } = await server.listen({ signals: false })
    await close()
    const error = await rejection(McpClient.connect({ url }, { reconnect: false, timeout: 1000 }))
    assert.instanceOf(error, Error)
    await using client = await McpClient.connect(server)
    assert.strictEqual(textOf(await client.callTool("user")), "anonymous")
  })

  it("Closing a listener twice waits for the first close", async () => {
    const { close, url } = await offering().listen({ signals: false })
    await Promise.all([close(), close()])
    await close()
    assert.instanceOf(await rejection(fetch(url)), Error)
  })

  it("Everything is still served during `lameDuck`, and responses close their connections", async () => {
    // Not closed with the test, which would take as long as `lameDuck`.
    const server = new McpServer({ name: "leaving", version: "1.0.0" })
    server.tool("user", { description: "Answers" }, () => "ada")
    const { url } = await server.listen({ lameDuck: 1e6, signals: false, sessions: false })
    await using client = await McpClient.connect({ url })
    void server.close()
    assert.strictEqual(textOf(await client.callTool("user")), "ada")
    const response = await fetch(url, { method: "POST" })
    assert.strictEqual(response.headers.get("connection"), "close")
  })

  it("`listen` rejects if its port is in use", async () => {
    const { port } = await offering().listen({ signals: false })
    const error = await rejection(offering().listen({ port, signals: false }))
    assert.propertyVal(error, "code", "EADDRINUSE")
  })
})
