/** A server over HTTP that restarts: its connections break and its sessions are unknown afterwards. The tasks of the server behind it go on. */
import { Effect, type Scope } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let text = ""
  for await (const chunk of request) text += String(chunk)
  return text
}

const session = "mcp-session-id"

/** A proxy in front of the server at `url` that restarts at the first read of a task and refuses the next connection. Returns its URL. */
export const restarting = (url: string): Effect.Effect<string, never, Scope.Scope> => {
  const forgotten = new Set<string>()
  let refusals: number | undefined
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await bodyOf(request)
    if (refusals === undefined && body.includes(`"tasks/get"`)) {
      refusals = 1
      const id = request.headers[session]
      if (typeof id === "string") forgotten.add(id)
      return server.closeAllConnections()
    }
    if (forgotten.has(String(request.headers[session]))) return void response.writeHead(404).end()
    if (refusals === 1) {
      refusals = 0
      return void request.socket.destroy()
    }
    const headers = Object.entries(request.headers).flatMap(([name, value]): ReadonlyArray<[string, string]> =>
      name === "host" || name === "connection" || name === "content-length" || typeof value !== "string"
        ? []
        : [[name, value]]
    )
    const forwarded = await fetch(url, {
      method: request.method ?? "GET",
      headers,
      ...(body === "" ? undefined : { body })
    })
    response.writeHead(forwarded.status, Object.fromEntries(forwarded.headers))
    for await (const chunk of forwarded.body ?? []) response.write(chunk)
    response.end()
  }
  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()))
  return Effect.acquireRelease(
    Effect.callback<string>((resume) => {
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        resume(Effect.succeed(`http://127.0.0.1:${port}/mcp`))
      })
    }),
    () =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
  )
}
