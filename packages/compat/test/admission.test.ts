/** Which hosts and origins are admitted, and the body and signal of a request that a framework has already read. */
import { createMcpExpressApp } from "@effect-mcp/compat/express"
import { createMcpHonoApp } from "@effect-mcp/compat/hono"
import { NodeStreamableHTTPServerTransport } from "@effect-mcp/compat/node"
import { createMcpHandler, McpServer, WebStandardStreamableHTTPServerTransport } from "@effect-mcp/compat/server"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import type { Context } from "hono"
import { IncomingMessage, request as httpRequest, ServerResponse } from "node:http"
import { Socket } from "node:net"
import { listening } from "./support/listening.ts"

const call = (text: string) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "echo", arguments: { text } }
})

const serverOf = (call: (signal: AbortSignal) => Promise<void> = async () => {}) => {
  const server = new McpServer({ name: "echoes", version: "1.0.0" })
  server.server.registerCapabilities({ tools: {} })
  server.server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    await call(mcpReq.signal)
    return { content: [{ type: "text", text: String(Object(params["arguments"])["text"]) }] }
  })
  return server
}

const base = { "content-type": "application/json", accept: "application/json, text/event-stream" }

interface Names {
  readonly host?: string
  readonly origin?: string
}

/** Loopback connections to a server with the given names. */
const own: Names = {}
const foreign: Names = { host: "evil.example", origin: "https://evil.example" }
const page: Names = { origin: "https://evil.example" }
const named: Names = { host: "mcp.example.com" }

const post = ({ host, origin }: Names = {}, text = "wire") =>
  new Request(`http://${host ?? "localhost"}/mcp`, {
    method: "POST",
    headers: { ...base, ...(origin !== undefined && { origin }) },
    body: JSON.stringify(call(text))
  })

type Options = ConstructorParameters<typeof WebStandardStreamableHTTPServerTransport>[0]

const transportWith = async (options: Options, heard?: (signal: AbortSignal) => Promise<void>) => {
  const transport = new WebStandardStreamableHTTPServerTransport(options)
  await serverOf(heard).connect(transport)
  onTestFinished(() => transport.close())
  return transport
}

const settings: ReadonlyArray<{ readonly options: Options; readonly statuses: ReadonlyArray<number> }> = [
  { options: {}, statuses: [200, 403, 403, 403] },
  { options: { allowedHosts: ["mcp.example.com"] }, statuses: [200, 403, 403, 200] },
  { options: { allowedOrigins: ["https://evil.example"] }, statuses: [200, 403, 200, 403] },
  { options: { enableDnsRebindingProtection: false }, statuses: [200, 200, 200, 200] },
  { options: { allowedHosts: ["*"], allowedOrigins: ["*"] }, statuses: [200, 200, 200, 200] }
]

describe("Endpoints", () => {
  it.each(settings)(
    "A transport endpoint with $options admits requests by host and origin",
    async ({ options, statuses }) => {
      const transport = await transportWith(options)
      const found = []
      for (const names of [own, foreign, page, named]) found.push((await transport.handleRequest(post(names))).status)
      assert.deepStrictEqual(found, statuses)
    }
  )

  it("A createMcpHandler endpoint rejects other host names and reports why", async () => {
    const errors: Array<string> = []
    const onerror = ({ message }: Error) => void errors.push(message)
    const handler = createMcpHandler(() => serverOf(), { allowedHosts: ["mcp.example.com"], onerror })
    const found = []
    for (const names of [own, foreign, page, named]) found.push((await handler.fetch(post(names))).status)
    assert.deepStrictEqual(found, [200, 403, 403, 200])
    assert.include(errors[0], "evil.example")
    await handler.close()
  })

  it("An endpoint uses the body already parsed by the program", async () => {
    const transport = await transportWith({})
    const answer = await transport.handleRequest(post({}, "wire"), { parsedBody: call("sanitized by the program") })
    assert.include(await answer.text(), "sanitized by the program")
  })

  it("An endpoint aborts the handler when a request with a parsed body is aborted", async () => {
    const controller = new AbortController()
    let heard = (_aborted: boolean): void => undefined
    const ended = new Promise<boolean>((resolve) => (heard = resolve))
    const transport = await transportWith({}, (signal) => {
      const over = new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => resolve())
      }).then(() => heard(signal.aborted))
      controller.abort()
      return over
    })
    const request = new Request(post(), { signal: controller.signal })
    const answer = transport.handleRequest(request, { parsedBody: call("late") }).catch(() => undefined)
    assert.isTrue(await ended)
    await answer
  })
})

/** Returns the status of a POST with these names. Does not use `fetch`, which sets `Host` itself. */
const ask = ({ port }: URL, names: Names): Promise<{ readonly status: number | undefined; readonly text: string }> =>
  new Promise((resolve, reject) => {
    const headers = { ...base, ...names }
    const request = httpRequest({ port, host: "127.0.0.1", method: "POST", path: "/mcp", headers }, (response) => {
      let text = ""
      response.setEncoding("utf8")
      response.on("data", (chunk: string) => (text += chunk))
      response.on("end", () => resolve({ status: response.statusCode, text }))
    })
    request.on("error", reject)
    request.end(JSON.stringify(call("wire")))
  })

const nodeTransport = async () => {
  const transport = new NodeStreamableHTTPServerTransport()
  await serverOf().connect(transport)
  onTestFinished(() => transport.close())
  return transport
}

const apps = [
  { options: {}, statuses: [200, 403, 403, 403] },
  { options: { host: "0.0.0.0" }, statuses: [200, 403, 403, 403] },
  { options: { host: "0.0.0.0", allowedHosts: ["mcp.example.com", "127.0.0.1"] }, statuses: [200, 403, 403, 200] },
  { options: { host: "0.0.0.0", allowedOrigins: ["evil.example"] }, statuses: [200, 403, 200, 403] }
]

describe("Apps", () => {
  it.each(apps)("An Express app with $options admits requests by host and origin", async ({ options, statuses }) => {
    const transport = await nodeTransport()
    const app = createMcpExpressApp({ ...options, jsonLimit: "1mb" })
    app.post("/mcp", (request, response) => void transport.handleRequest(request, response, request.body))
    const origin = await listening(app)
    const found = []
    for (const names of [own, foreign, page, named]) found.push((await ask(origin, names)).status)
    assert.deepStrictEqual(found, statuses)
  })

  it("An Express app rejects bodies over its jsonLimit", async () => {
    const transport = await nodeTransport()
    const app = createMcpExpressApp({ jsonLimit: "10b" })
    app.post("/mcp", (request, response) => void transport.handleRequest(request, response, request.body))
    assert.strictEqual((await ask(await listening(app), own)).status, 413)
  })

  it("An HTTP/2 request is admitted by its authority", async () => {
    const transport = await nodeTransport()
    const statuses = []
    for (const authority of ["localhost", "evil.example"]) {
      const request = Object.assign(new IncomingMessage(new Socket()), {
        method: "POST",
        headers: { ...base, ":authority": authority }
      })
      const response = new ServerResponse(request)
      const ended = new Promise<void>((resolve) => Object.assign(response, { end: () => resolve() }))
      await transport.handleRequest(request, response, call("wire"))
      await ended
      statuses.push(response.statusCode)
    }
    assert.deepStrictEqual(statuses, [200, 403])
  })

  it("A node:http listener can pass a parsed body", async () => {
    const transport = await nodeTransport()
    const origin = await listening(
      (request, response) => void transport.handleRequest(request, response, call("clean"))
    )
    const { text } = await ask(origin, own)
    assert.include(text, "clean")
  })

  it("A Hono app admits requests by host and origin and provides the parsed body", async () => {
    const transport = await transportWith({})
    const app = createMcpHonoApp({ host: "0.0.0.0", allowedHosts: ["mcp.example.com"] })
    const bodies: Array<unknown> = []
    app.post("/mcp", (context: Context) => {
      const parsedBody: unknown = context.get("parsedBody")
      bodies.push(parsedBody)
      return transport.handleRequest(context.req.raw, { parsedBody })
    })
    const found = []
    for (const names of [own, foreign, page, named]) found.push((await app.request(post(names))).status)
    assert.deepStrictEqual(found, [403, 403, 403, 200])
    assert.deepStrictEqual(bodies, [call("wire")])
    const invalid = new Request("http://mcp.example.com/mcp", { method: "POST", headers: base, body: "{" })
    assert.strictEqual((await app.request(invalid)).status, 400)
  })
})
