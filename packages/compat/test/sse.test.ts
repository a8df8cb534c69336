/** The transport of HTTP with SSE: what handlers see of a message, which posts are rejected, and how a stream ends. */
import { McpServer } from "@effect-mcp/compat/v1/server/mcp.js"
import { SSEServerTransport, type SSEServerTransportOptions } from "@effect-mcp/compat/v1/server/sse.js"
import { Client } from "@effect-mcp/compat/v1/client/index.js"
import { SSEClientTransport } from "@effect-mcp/compat/v1/client/sse.js"
import { assert, describe, it } from "@effect/vitest"
import { type IncomingHttpHeaders, request as httpRequest } from "node:http"
import { vi } from "vitest"
import { listening } from "./support/listening.ts"

const serverOf = () => {
  const server = new McpServer({ name: "known", version: "1.0.0" })
  server.tool("known", async ({ authInfo, requestInfo, sessionId }) => ({
    content: [{ type: "text", text: JSON.stringify([authInfo?.token, requestInfo?.headers["x-test"], sessionId]) }]
  }))
  return server
}

const authOf = ({ authorization }: IncomingHttpHeaders) =>
  authorization === undefined ? undefined : { token: authorization, clientId: authorization, scopes: [] }

/** An endpoint that authenticates requests by the text of their header. */
const serving = async (options?: SSEServerTransportOptions) => {
  const opened: Array<SSEServerTransport> = []
  const errors: Array<string> = []
  const origin = await listening((request, response) => {
    Object.assign(request, { auth: authOf(request.headers) })
    if (request.method !== "GET") {
      const { searchParams } = new URL(request.url ?? "", "http://localhost")
      const transport = opened.find(({ sessionId }) => sessionId === searchParams.get("sessionId"))
      transport?.handlePostMessage(request, response).catch(() => undefined)
      return
    }
    const transport = new SSEServerTransport("/messages?tenant=a", response, options)
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport of the SDK is not an event target
    transport.onerror = ({ message }) => void errors.push(message)
    opened.push(transport)
    serverOf()
      .connect(transport)
      .catch(() => undefined)
  })
  return { origin, opened, errors }
}

const connected = async (origin: URL, headers: Record<string, string> = {}) => {
  const client = new Client({ name: "tester", version: "1.0.0" })
  await client.connect(new SSEClientTransport(new URL("/sse", origin), { requestInit: { headers } }))
  return client
}

interface Post {
  readonly headers?: Record<string, string>
  readonly body?: string | Uint8Array
}

const ping = JSON.stringify({ jsonrpc: "2.0", id: "raw", method: "ping" })

const large = ping.replace("raw", "x".repeat(4 * 1024 * 1024))

/** Returns the status of a request. Does not use `fetch`, which sets `Host` itself. */
const ask = (url: URL, { body = ping, headers = {} }: Post, method = "POST"): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const asked = httpRequest(url, { method, headers: { "content-type": "application/json", ...headers } })
    asked.on("response", (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    asked.on("error", reject)
    asked.end(method === "POST" ? body : undefined)
  })

const refusals: ReadonlyArray<readonly [string, Post, number]> = [
  ["of a message", {}, 202],
  ["for another host", { headers: { host: "evil.example" } }, 403],
  ["from another site's page", { headers: { origin: "https://evil.example" } }, 403],
  ["from another client", { headers: { authorization: "Bearer other" } }, 403],
  ["of another type", { headers: { "content-type": "text/plain" } }, 400],
  ["that is not JSON", { body: "{" }, 400],
  ["of JSON that is not a message", { body: `{"id":1}` }, 400],
  ["of text that is not UTF-8", { body: Buffer.from(ping.replace("raw", "\u{ff}"), "latin1") }, 400],
  ["of more than 4 MiB", { body: large }, 413],
  ["of more than 4 MiB in chunks", { headers: { "transfer-encoding": "chunked" }, body: large }, 413]
]

describe("HTTP with SSE transport", () => {
  it("Handlers see a message's token, headers and session", async () => {
    const { opened, origin } = await serving()
    const client = await connected(origin, { authorization: "Bearer a", "x-test": "yes" })
    const { content } = await client.callTool({ name: "known" })
    assert.deepStrictEqual(content, [{ type: "text", text: JSON.stringify(["Bearer a", "yes", opened[0]?.sessionId]) }])
    await client.close()
  })

  it.each(refusals)("A POST %s gets its status, and the session continues", async (_, post, status) => {
    const { opened, origin } = await serving()
    const client = await connected(origin)
    const url = new URL(`/messages?sessionId=${opened[0]?.sessionId}`, origin)
    assert.strictEqual(await ask(url, post), status)
    assert.lengthOf((await client.listTools()).tools, 1)
    await client.close()
  })

  it("A stream for another host is rejected without connecting its server", async () => {
    const { errors, origin, opened } = await serving()
    assert.strictEqual(await ask(new URL("/sse", origin), { headers: { host: "evil.example" } }, "GET"), 403)
    assert.include(errors[0], "evil.example")
    const url = new URL(`/messages?sessionId=${opened[0]?.sessionId}`, origin)
    assert.strictEqual(await ask(url, {}), 500)
  })

  it("connect closes the server without rejecting if its client is rejected or leaves early", async () => {
    const [evil, local] = ["evil.example", "localhost"] as const
    const { promise: ended, resolve: over } = Promise.withResolvers<void>()
    const closed: Array<string> = []
    const origin = await listening((request, response) => {
      const { host = "" } = request.headers
      const server = serverOf()
      // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a server of the SDK is not an event target
      server.server.onclose = () => void (closed.push(host) === 2 && over())
      // Programs of v1 connect like this: a rejection would end the process.
      const connect = () => void server.connect(new SSEServerTransport("/messages", response))
      if (host === evil) connect()
      else {
        response.on("close", connect)
        request.socket.destroy()
      }
    })
    assert.strictEqual(await ask(new URL("/sse", origin), { headers: { host: evil } }, "GET"), 403)
    await ask(new URL("/sse", origin), { headers: { host: local } }, "GET").catch(() => undefined)
    await ended
    assert.deepStrictEqual(closed, [evil, local])
  })

  it("A body that a framework read as text is accepted", async () => {
    const { opened, origin } = await serving()
    const client = await connected(origin)
    const read = await listening((request, response) => void opened[0]?.handlePostMessage(request, response, ping))
    assert.strictEqual(await ask(read, {}), 202)
    await client.close()
  })

  it("A posted message is parsed once, even if a framework has read it", async () => {
    const { opened, origin } = await serving()
    const client = await connected(origin)
    const read = await listening((request, response) => {
      const body: unknown = JSON.parse(ping)
      const parse = vi.spyOn(JSON, "parse")
      void opened[0]?.handlePostMessage(request, response, request.url === "/text" ? ping : body)
      counted.push(parse.mock.calls.length)
      parse.mockRestore()
    })
    const counted: Array<number> = []
    for (const path of ["/text", "/parsed"]) assert.strictEqual(await ask(new URL(path, read), {}), 202)
    assert.deepStrictEqual(counted, [1, 1])
    await client.close()
  })

  it("A transport that admits every host serves another host name", async () => {
    const { opened, origin } = await serving({ enableDnsRebindingProtection: false })
    const client = await connected(origin)
    const url = new URL(`/messages?sessionId=${opened[0]?.sessionId}`, origin)
    assert.strictEqual(await ask(url, { headers: { host: "evil.example" } }), 202)
    await client.close()
  })

  it("The end of the stream closes the server exactly once", async () => {
    let closed = 0
    let over = (): void => undefined
    const ended = new Promise<void>((resolve) => (over = resolve))
    const origin = await listening((request, response) => {
      if (request.method !== "GET") {
        void transport?.handlePostMessage(request, response)
        return
      }
      transport = new SSEServerTransport("/messages", response)
      const server = serverOf()
      // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a server of the SDK is not an event target
      server.server.onclose = () => {
        closed++
        over()
      }
      void server.connect(transport)
    })
    let transport: SSEServerTransport | undefined
    const client = await connected(origin)
    await client.close()
    await ended
    await transport?.close()
    assert.strictEqual(closed, 1)
  })
})
