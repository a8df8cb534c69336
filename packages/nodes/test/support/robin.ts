/** A plain round robin over node processes, without knowledge of MCP. Retries a request on another node only if it was not sent. */
import { Effect, type Scope } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createServer, request as send, type IncomingMessage, type ServerResponse } from "node:http"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { listen } from "../../../server/test/http/support/http.ts"

const script = fileURLToPath(new URL("process.ts", import.meta.url))

export interface NodeProcess {
  readonly pid: number
  readonly port: number
  readonly kill: (signal: NodeJS.Signals) => void
  readonly exited: Effect.Effect<void>
}

/** Starts a node, which is killed when the scope closes. `drain` is how long requests may continue after a stop, in milliseconds. */
export const start = (
  kind: string,
  place: string,
  which: string,
  drain = 1000
): Effect.Effect<NodeProcess, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, [script, kind, place, which, String(drain)], { stdio: ["ignore", "pipe", "inherit"] })
    ),
    (child) => Effect.sync(() => void child.kill("SIGKILL"))
  ).pipe(
    Effect.flatMap((child) =>
      Effect.promise(async () => {
        const exit = once(child, "exit")
        const [line] = await once(createInterface(child.stdout), "line")
        const exited = Effect.asVoid(Effect.promise(() => exit))
        return { pid: child.pid ?? 0, port: Number(line), kill: (signal) => void child.kill(signal), exited }
      })
    )
  )

export interface Robin {
  readonly port: number
  readonly url: string
  /** Cuts all connections of clients. */
  readonly cut: () => void
}

const pass = async (
  ports: ReadonlyArray<number>,
  request: IncomingMessage,
  response: ServerResponse
): Promise<void> => {
  const parts: Array<Buffer> = []
  for await (const part of request) parts.push(Buffer.from(part))
  const attempt = ([port, ...rest]: ReadonlyArray<number>): void => {
    if (port === undefined) return void response.destroy()
    const { headers, method, url: path } = request
    const passed = send({ host: "127.0.0.1", port, method, path, headers, agent: false })
    let isSent = false
    passed.on("socket", (socket) => socket.on("connect", () => (isSent = true)))
    passed.on("error", () => (isSent ? response.destroy() : attempt(rest)))
    passed.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      response.flushHeaders()
      answer.pipe(response)
      answer.on("error", () => response.destroy())
      answer.on("aborted", () => response.destroy())
    })
    response.on("close", () => passed.destroy())
    passed.end(Buffer.concat(parts))
  }
  attempt(ports)
}

/** Listens until the scope closes. */
export const robin = (nodes: ReadonlyArray<Pick<NodeProcess, "port">>): Effect.Effect<Robin, never, Scope.Scope> =>
  Effect.gen(function* () {
    let turn = 0
    const server = createServer((request, response) => {
      const first = turn++ % nodes.length
      const ports = [...nodes.slice(first), ...nodes.slice(0, first)].map(({ port }) => port)
      pass(ports, request, response).catch(() => response.destroy())
    })
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
    )
    const port = yield* listen(server)
    return { port, url: `http://127.0.0.1:${port}/mcp`, cut: () => server.closeAllConnections() }
  })
