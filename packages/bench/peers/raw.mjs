// The limit: node:http or pipes, JSON.parse, a switch, JSON.stringify. No framework, no validation beyond typeof. The payloads are
// those that our server and the official SDK send (in 2026-07-28 with the server's name in `_meta`), so nobody wins by sending less.
import * as C from "./contract.mjs"

const tools = [
  { ...C.echo, inputSchema: C.echoSchema },
  { ...C.add, inputSchema: C.addSchema, outputSchema: C.sumSchema },
  { ...C.wait, inputSchema: C.echoSchema },
  { ...C.flood, inputSchema: C.floodSchema },
  ...C.fillers.map((name) => ({ name, description: C.descriptionOf(name), inputSchema: C.fillerSchema }))
]
const version = "io.modelcontextprotocol/protocolVersion"
const _meta = { "io.modelcontextprotocol/serverInfo": C.info }
const capabilities = { tools: {}, resources: {} }
const cached = { ttlMs: 0, cacheScope: "private" }

const failure = (id, code, message) => ({ jsonrpc: "2.0", id, error: { code, message } })
const success = (id, modern, result) => ({
  jsonrpc: "2.0",
  id,
  result: modern ? { resultType: "complete", ...result, _meta } : result
})

const call = ({ id, params }, modern, emit, done) => {
  const input = params.arguments
  switch (params.name) {
    case "echo":
      if (typeof input?.text !== "string") return done(failure(id, -32602, "text"))
      return done(success(id, modern, { content: [{ type: "text", text: input.text }] }))
    case "wait": {
      if (typeof input?.text !== "string") return done(failure(id, -32602, "text"))
      const answer = () => done(success(id, modern, { content: [{ type: "text", text: input.text }] }))
      return void setTimeout(answer, C.waits)
    }
    case "add": {
      if (typeof input?.a !== "number" || typeof input?.b !== "number") return done(failure(id, -32602, "a, b"))
      const structuredContent = { sum: input.a + input.b }
      const content = [{ type: "text", text: JSON.stringify(structuredContent) }]
      return done(success(id, modern, { content, structuredContent }))
    }
    case "flood": {
      const progressToken = params._meta?.progressToken
      const last = progressToken === undefined ? 0 : input.n
      for (let progress = 1; progress <= last; progress++) {
        emit({
          jsonrpc: "2.0",
          method: "notifications/progress",
          params: { progressToken, progress, total: input.n }
        })
      }
      return done(success(id, modern, { content: [{ type: "text", text: "done" }] }))
    }
    default:
      return done(failure(id, -32602, "no such tool"))
  }
}

/** `emit` sends a notification, `done` the answer: `undefined` to a message that is not a request. */
const handle = (message, modern, emit, done) => {
  const { id, method } = message
  if (id === undefined) return done(undefined)
  const { mimeType, name, text, uri } = C.resource
  switch (method) {
    case "initialize":
      return done(success(id, false, { protocolVersion: "2025-11-25", capabilities, serverInfo: C.info }))
    case "server/discover":
      return done(success(id, true, { supportedVersions: [C.modern], capabilities, ...cached }))
    case "ping":
      return done(success(id, false, {}))
    case "tools/list":
      return done(success(id, modern, modern ? { tools, ...cached } : { tools }))
    case "tools/call":
      return call(message, modern, emit, done)
    case "resources/list":
      return done(success(id, modern, { resources: [{ uri, name, mimeType }], ...(modern ? cached : undefined) }))
    case "resources/read":
      return done(success(id, modern, { contents: [{ uri, mimeType, text }], ...(modern ? cached : undefined) }))
    default:
      return done(failure(id, -32601, "Method not found"))
  }
}

const stdio = () => {
  const out = []
  const flush = () => process.stdout.write(`${out.splice(0).join("\n")}\n`)
  // One write per turn: a write per message would cost more than the message.
  const send = (message) => {
    if (out.push(JSON.stringify(message)) === 1) queueMicrotask(flush)
  }
  const done = (answer) => {
    if (answer !== undefined) send(answer)
  }
  // Joined only when a newline is there: linear for lines of a MiB.
  let parts = []
  process.stdin.on("data", (data) => {
    if (!data.includes(10)) return void parts.push(data)
    const whole = parts.length === 0 ? data : Buffer.concat([...parts, data])
    const last = whole.lastIndexOf(10)
    parts = last + 1 < whole.length ? [whole.subarray(last + 1)] : []
    for (const line of whole.toString("utf8", 0, last).split("\n")) {
      if (line === "") continue
      const message = JSON.parse(line)
      handle(message, message.params?._meta?.[version] !== undefined, send, done)
    }
  })
}

const web = async () => {
  const http = await import("node:http")
  const { randomUUID } = await import("node:crypto")
  const sessions = new Map()
  const sse = { "content-type": "text/event-stream", "cache-control": "no-cache" }
  const post = (request, response, body) => {
    const message = JSON.parse(body)
    const modern = request.headers["mcp-protocol-version"] === C.modern
    const headers = { "content-type": "application/json" }
    const sessionId = request.headers["mcp-session-id"]
    if (message.method === "initialize") {
      const id = randomUUID()
      sessions.set(id, { id, stream: undefined })
      headers["mcp-session-id"] = id
    } else if (!modern && sessionId !== undefined && !sessions.has(sessionId)) return void response.writeHead(404).end()
    // One write per turn here, too.
    const events = []
    const flush = () => events.length > 0 && response.write(events.splice(0).join(""))
    let streaming = false
    const emit = (notification) => {
      if (!streaming) response.writeHead(200, sse)
      streaming = true
      if (events.push(`event: message\ndata: ${JSON.stringify(notification)}\n\n`) === 1) queueMicrotask(flush)
    }
    handle(message, modern, emit, (answer) => {
      if (answer === undefined) return void response.writeHead(202).end()
      if (streaming) {
        events.push(`event: message\ndata: ${JSON.stringify(answer)}\n\n`)
        return void response.end(events.splice(0).join(""))
      }
      const bytes = Buffer.from(JSON.stringify(answer))
      headers["content-length"] = bytes.length
      response.writeHead(200, headers).end(bytes)
    })
  }
  const server = http.createServer((request, response) => {
    if (request.method === "GET") {
      const session = sessions.get(request.headers["mcp-session-id"])
      if (session === undefined) return void response.writeHead(404).end()
      session.stream = response
      return void response.writeHead(200, sse).flushHeaders()
    }
    if (request.method === "DELETE") {
      sessions.delete(request.headers["mcp-session-id"])
      return void response.writeHead(204).end()
    }
    const chunks = []
    request.on("data", (chunk) => chunks.push(chunk))
    request.on("end", () => post(request, response, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)))
  })
  server.keepAliveTimeout = 0
  server.listen(0, "127.0.0.1", () => C.ready(server.address().port))
}

if (C.flag("stdio")) {
  // What the goals of a cold start were set against: a server of both transports, which has what HTTP needs whichever it serves.
  if (C.flag("both")) await Promise.all([import("node:http"), import("node:crypto")])
  stdio()
} else await web()
