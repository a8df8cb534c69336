/** A server that requires a login, and a user with a browser. */
import * as AuthServer from "@effect-mcp/testing/auth/AuthServer"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as ProtectedResource from "@effect-mcp/testing/auth/ProtectedResource"
import { layer as everything } from "@effect-mcp/interop/reference/everything"
import { NodeHttpServer } from "@effect/platform-node"
import { Context, Effect, Layer } from "effect"
import { HttpRouter, HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import { spawn } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url))
const listen = () => Layer.fresh(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))

/** A server that accepts any token from its authorization server. */
export const protectedServer = Effect.gen(function* () {
  const issuer = Context.get(yield* Layer.build(Layer.provide(AuthServer.layer(), listen())), AuthServer.AuthServer)
  const listening = yield* Layer.build(listen())
  const url = `${HttpServer.formatAddress(Context.get(listening, HttpServer.HttpServer).address)}/mcp`
  const guard = HttpRouter.middleware(
    (handler) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers, url }) =>
        headers["authorization"] === undefined && url.startsWith("/mcp")
          ? Effect.succeed(HttpServerResponse.empty({ status: 401, headers: { "www-authenticate": "Bearer" } }))
          : handler
      ),
    { global: true }
  )
  const app = Layer.mergeAll(
    McpServer.layerHttp({ path: "/mcp" }),
    ProtectedResource.layer({ resource: url, authorizationServers: [issuer.issuer] }),
    guard
  )
  yield* Layer.build(
    McpServer.serveHttp(app, { disableLogger: true, disableListenLog: true }).pipe(
      Layer.provide(everything()),
      Layer.provide(Layer.succeedContext(listening))
    )
  )
  return { issuer, url }
})

/** A user with a home and a browser: a program that follows every redirect without looking. */
export const user = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "effect-mcp-login-"))),
    (home) => Effect.sync(() => rmSync(home, { recursive: true }))
  ),
  (home) => {
    const browser = join(home, "xdg-open")
    writeFileSync(browser, `#!${process.execPath}\nfetch(process.argv[2]).then((page) => page.text())\n`)
    chmodSync(browser, 0o755)
    const tokens = join(home, "tokens")
    const env = { ...process.env, NO_COLOR: "1", PATH: `${home}:${process.env["PATH"]}`, EFFECT_MCP_TOKENS: tokens }
    const execute = (command: string, args: ReadonlyArray<string>) =>
      Effect.callback<{ readonly code: number; readonly stdout: string; readonly stderr: string }>((resume) => {
        const child = spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe"] })
        let [stdout, stderr] = ["", ""]
        child.stdout.on("data", (chunk) => (stdout += String(chunk)))
        child.stderr.on("data", (chunk) => (stderr += String(chunk)))
        child.on("close", (code) => resume(Effect.succeed({ code: code ?? -1, stdout, stderr })))
        return Effect.sync(() => child.kill("SIGKILL"))
      })
    return {
      env,
      tokens,
      run: (...args: ReadonlyArray<string>) => execute(process.execPath, [main, ...args]),
      /** Runs with a terminal, whose output is all on stdout. */
      atTerminal: (...args: ReadonlyArray<string>) =>
        execute("/usr/bin/script", ["-qec", [process.execPath, main, ...args].join(" "), "/dev/null"])
    }
  }
)
