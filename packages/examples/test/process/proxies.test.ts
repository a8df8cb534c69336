/** Proxies with the configuration of the documentation, each in front of three nodes. */
import { McpClient } from "@effect-mcp/client"
import { Progress, Tool, Tools } from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Schema, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { balancer, freePorts, hasNginx } from "../../../nodes/test/support/balancer.ts"

const hasCaddy = spawnSync("caddy", ["version"]).status === 0
const documented = join(import.meta.dirname, "../../src/nodes/Caddyfile")

/** Caddy with the documented configuration, other ports and no certificate. */
const caddy = (nodes: ReadonlyArray<number>) =>
  Effect.gen(function* () {
    const [port = 0] = yield* freePorts(1)
    const directory = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "mcp-caddy-"))),
      (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
    )
    const configuration = nodes.reduce(
      (text, node, at) => text.replace(`127.0.0.1:${3001 + at}`, `127.0.0.1:${node}`),
      readFileSync(documented, "utf8").replace("mcp.example.com", `http://127.0.0.1:${port}`)
    )
    const file = join(directory, "Caddyfile")
    writeFileSync(file, `{\n\tadmin off\n}\n${configuration}`)
    const started = yield* Deferred.make<void>()
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        const child = spawn("caddy", ["run", "--config", file, "--adapter", "caddyfile"], {
          env: { ...process.env, HOME: directory, XDG_DATA_HOME: directory, XDG_CONFIG_HOME: directory },
          stdio: ["ignore", "ignore", "pipe"]
        })
        const exit = once(child, "exit")
        let said = ""
        child.stderr.setEncoding("utf8").on("data", (text: string) => {
          said += text
          if (said.includes("serving initial configuration")) Deferred.doneUnsafe(started, Effect.void)
        })
        child.once("exit", () => Deferred.doneUnsafe(started, Effect.die(said)))
        return { child, exit }
      }),
      ({ child, exit }) =>
        Effect.andThen(
          Effect.sync(() => child.kill("SIGTERM")),
          Effect.promise(() => exit)
        )
    )
    yield* Deferred.await(started)
    return `http://127.0.0.1:${port}/mcp`
  })

const Hold = Tool.make("hold", { description: "Reports progress and waits.", output: { done: Schema.Boolean } })

/** Three nodes of a server whose tool waits until it is released. They also say that they are ready. */
const nodes = (released: Deferred.Deferred<void>) =>
  Effect.gen(function* () {
    const features = Tools.layer(Hold, () =>
      Progress.report(1).pipe(Effect.andThen(Deferred.await(released)), Effect.as({ done: true }))
    )
    const server = McpServer.layer({ name: "hold", version: "1.0.0", features })
    const ports = yield* freePorts(3)
    for (const port of ports) {
      yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const { close, listener } = McpServer.toNodeListener(server, { path: "/mcp" })
          const http = createServer((request, response) =>
            request.url === "/readyz" ? void response.end("ready") : listener(request, response)
          ).listen(port, "127.0.0.1")
          await once(http, "listening")
          return () => close(http)
        }),
        (close) => Effect.promise(close)
      )
    }
    return ports
  })

const proxies = [
  { name: "nginx", proxy: (ports: ReadonlyArray<number>) => balancer(ports), isThere: hasNginx },
  { name: "Caddy", proxy: caddy, isThere: hasCaddy }
]

for (const { isThere, name, proxy } of proxies) {
  describe(
    `Behind ${name}`,
    needs(isThere, `${name} is not installed (Debian: apt install ${name.toLowerCase()})`),
    () => {
      it.live("Progress arrives while the call is still running", () =>
        Effect.gen(function* () {
          const released = yield* Deferred.make<void>()
          const url = yield* Effect.flatMap(nodes(released), proxy)
          const seen = yield* Effect.gen(function* () {
            const client = yield* McpClient.McpClient
            return yield* client.callToolStream(Hold, {}).pipe(
              // A proxy that keeps events back would never let the call end.
              Stream.tap(({ _tag }) => (_tag === "Progress" ? Deferred.succeed(released, undefined) : Effect.void)),
              Stream.map(({ _tag }) => _tag),
              Stream.runCollect
            )
          }).pipe(Effect.provide(McpClient.layerHttp({ url }).pipe(Layer.provide(FetchHttpClient.layer))))
          assert.deepStrictEqual(seen, ["Progress", "Result"])
        }).pipe(Effect.scoped)
      )
    }
  )
}
