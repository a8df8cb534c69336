/**
 * A plain round-robin load balancer. It ignores sessions, and tries the next
 * node if one does not accept connections.
 */
import { Effect } from "effect"
import {
  createServer,
  type IncomingMessage,
  request as send,
  type ServerResponse
} from "node:http"

const pass = (
  ports: ReadonlyArray<number>,
  body: Buffer,
  request: IncomingMessage,
  response: ServerResponse
): void => {
  const [port, ...others] = ports
  if (port === undefined) return void response.writeHead(502).end()
  const { headers, method, url } = request
  let isConnected = false
  const passed = send(
    { host: "127.0.0.1", port, method, path: url, headers, agent: false },
    (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.on("error", () => response.destroy()).pipe(response)
    }
  )
  passed.on("socket", (socket) =>
    socket.once("connect", () => (isConnected = true))
  )
  // A request that a node has received is never sent to another node: it may
  // already have been executed.
  passed.on("error", () =>
    isConnected ? response.destroy() : pass(others, body, request, response)
  )
  response.on("close", () => passed.destroy())
  passed.end(body)
}

/**
 * Listens until the scope closes. Returns its address and the number of
 * sessions that were requested.
 */
export const robin = (ports: ReadonlyArray<number>) => {
  let turn = 0
  let opened = 0
  const http = createServer((request, response) => {
    if (
      request.method === "POST" &&
      request.headers["mcp-session-id"] === undefined
    )
      opened++
    const first = turn++ % ports.length
    const parts: Array<Buffer> = []
    request.on("data", (part: Buffer) => parts.push(part))
    request.on("end", () =>
      pass(
        [...ports.slice(first), ...ports.slice(0, first)],
        Buffer.concat(parts),
        request,
        response
      )
    )
  })
  const listening = Effect.callback<string>((resume) => {
    http.listen(0, "127.0.0.1", () => {
      const address = http.address()
      resume(
        Effect.succeed(
          `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/mcp`
        )
      )
    })
  })
  const closed = Effect.sync(() => {
    http.close()
    http.closeAllConnections()
  })
  return Effect.map(
    Effect.acquireRelease(listening, () => closed),
    (url) => ({ url, opened: () => opened })
  )
}
