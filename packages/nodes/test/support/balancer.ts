/** Load balancer for nodes: nginx with the configuration in the documentation, or a round robin with its rules if nginx is not installed. */
import { Effect, type Scope } from "effect"
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { connect, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { robin } from "./robin.ts"

const documented = fileURLToPath(new URL("../../../examples/src/nodes/nginx.conf", import.meta.url))

export const hasNginx = (() => {
  try {
    execFileSync("nginx", ["-v"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
})()

/** Returns free ports. */
export const freePorts = (count: number): Effect.Effect<ReadonlyArray<number>> =>
  Effect.promise(async () => {
    const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"))
    await Promise.all(servers.map((server) => once(server, "listening")))
    const ports = servers.flatMap((server) => {
      const address = server.address()
      return typeof address === "object" && address !== null ? [address.port] : []
    })
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
    return ports
  })

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port })
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false))
    socket.once("connect", () => socket.destroy())
  })

/** Keeps connections to the nodes open, for less time than `lameDuck`. */
const keptAlive = (configuration: string): string =>
  configuration
    .replace("\n}", "\n  keepalive 16;\n  keepalive_timeout 1s;\n}")
    .replace("proxy_pass", 'proxy_http_version 1.1;\n    proxy_set_header Connection "";\n    proxy_pass')

/** The documented configuration, with other ports. */
const configured = (directory: string, port: number, nodes: ReadonlyArray<number>): string => {
  let configuration = readFileSync(documented, "utf8").replace("127.0.0.1:8080", `127.0.0.1:${port}`)
  for (const [at, node] of nodes.entries())
    configuration = configuration.replace(`127.0.0.1:${3001 + at}`, `127.0.0.1:${node}`)
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${directory};`
  )
  return `daemon off; worker_processes 1; pid ${directory}/pid; error_log ${directory}/error.log;
    events { worker_connections 1024; }
    http { access_log off; ${temporary.join(" ")}
    ${configuration} }`
}

const nginx = (nodes: ReadonlyArray<number>, keepAlive: boolean): Effect.Effect<string, never, Scope.Scope> =>
  Effect.gen(function* () {
    const [port = 0] = yield* freePorts(1)
    const directory = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "mcp-nginx-"))),
      (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
    )
    const configuration = configured(directory, port, nodes)
    writeFileSync(join(directory, "nginx.conf"), keepAlive ? keptAlive(configuration) : configuration)
    yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn("nginx", ["-p", directory, "-e", join(directory, "error.log"), "-c", join(directory, "nginx.conf")], {
          stdio: "ignore"
        })
      ),
      (child) =>
        Effect.promise(async () => {
          const exit = once(child, "exit")
          child.kill("SIGTERM")
          await exit
        })
    )
    yield* Effect.repeat(
      Effect.promise(() => listens(port)),
      { until: (is) => is }
    )
    return `http://127.0.0.1:${port}/mcp`
  })

/** Starts a load balancer for the nodes at these ports until the scope closes. Returns its address. */
export const balancer = (nodes: ReadonlyArray<number>, keepAlive = false): Effect.Effect<string, never, Scope.Scope> =>
  hasNginx ? nginx(nodes, keepAlive) : Effect.map(robin(nodes.map((port) => ({ port }))), ({ url }) => url)
