import * as AuthServer from "@effect-mcp/testing/auth/AuthServer"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as ProtectedResource from "@effect-mcp/testing/auth/ProtectedResource"
import { layer as everything } from "@effect-mcp/interop/reference/everything"
import { NodeHttpServer } from "@effect/platform-node"
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { HttpRouter, HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import { spawn } from "node:child_process"
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const main = fileURLToPath(new URL("../../../src/main.ts", import.meta.url))
const listen = () => Layer.fresh(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))

/** A server that accepts any token from its authorization server. */
const protectedServer = Effect.gen(function* () {
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
const user = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "effect-mcp-login-"))),
    (home) => Effect.sync(() => rmSync(home, { recursive: true }))
  ),
  (home) => {
    const browser = join(home, "xdg-open")
    writeFileSync(browser, `#!${process.execPath}\nfetch(process.argv[2]).then((page) => page.text())\n`)
    chmodSync(browser, 0o755)
    const tokens = join(home, "tokens")
    const execute = (command: string, args: ReadonlyArray<string>) =>
      Effect.callback<{ readonly code: number; readonly stdout: string; readonly stderr: string }>((resume) => {
        const env = {
          ...process.env,
          NO_COLOR: "1",
          PATH: `${home}:${process.env["PATH"]}`,
          EFFECT_MCP_TOKENS: tokens
        }
        const child = spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe"] })
        let [stdout, stderr] = ["", ""]
        child.stdout.on("data", (chunk) => (stdout += String(chunk)))
        child.stderr.on("data", (chunk) => (stderr += String(chunk)))
        child.on("close", (code) => resume(Effect.succeed({ code: code ?? -1, stdout, stderr })))
        return Effect.sync(() => child.kill("SIGKILL"))
      })
    return {
      tokens,
      run: (...args: ReadonlyArray<string>) => execute(process.execPath, [main, ...args]),
      /** Runs with a terminal, whose output is all on stdout. */
      atTerminal: (...args: ReadonlyArray<string>) =>
        execute("/usr/bin/script", ["-qec", [process.execPath, main, ...args].join(" "), "/dev/null"])
    }
  }
)

const linux = needs(process.platform === "linux", "the browser's name is that of Linux")
describe("effect-mcp login", { ...linux, timeout: 300_000 }, () => {
  it.live("login uses the browser, after which calls are admitted, and logout logs out", () =>
    Effect.gen(function* () {
      const { issuer, url } = yield* protectedServer
      const { run, tokens } = yield* user

      const before = yield* run("whoami", url)
      assert.deepStrictEqual([before.code, before.stdout, before.stderr], [1, "", "Not logged in\n"])
      const refused = yield* run("tools", "--json", "--", url)
      assert.strictEqual(refused.code, 3)
      assert.match(refused.stderr, /this program cannot prompt one.*effect-mcp login.*--header 'Authorization: Bearer/s)

      const login = yield* run("login", url)
      assert.strictEqual(login.code, 0, login.stderr)
      assert.include(login.stderr, `To log in, open this page if your browser does not: ${issuer.issuer}/authorize?`)
      assert.match(login.stdout, new RegExp(`logged in at +${issuer.issuer}`))

      const who = yield* run("whoami", "--json", "--", url)
      assert.deepInclude(JSON.parse(who.stdout), { server: url, issuer: issuer.issuer, resource: url })
      const tools = yield* run("tools", "--json", "--", url)
      assert.strictEqual(tools.code, 0, tools.stderr)
      assert.include(tools.stdout, "test_simple_text")
      assert.strictEqual(yield* issuer.count("authorize"), 1)

      const out = yield* run("logout", url)
      assert.deepStrictEqual([out.code, out.stderr], [0, "Logged out\n"])
      assert.strictEqual(yield* issuer.count("revoke"), 2)
      assert.strictEqual((yield* run("whoami", url)).code, 1)
      for (const name of readdirSync(tokens))
        assert.notMatch(readFileSync(join(tokens, name), "utf8"), /accessToken|refreshToken/)
    })
  )

  it.live(
    "A call on a terminal that requires a login logs in, and only once",
    () =>
      Effect.gen(function* () {
        const { issuer, url } = yield* protectedServer
        const { atTerminal } = yield* user
        for (const logins of [1, 1]) {
          const called = yield* atTerminal("call", "add", "a=1", "b=2", "--json", "--", url)
          assert.strictEqual(called.code, 0, called.stdout)
          assert.include(called.stdout.replaceAll(/\s/g, ""), '"sum":3')
          assert.strictEqual(yield* issuer.count("authorize"), logins)
        }
      }),
    needs(existsSync("/usr/bin/script"), "a terminal by util-linux's script")
  )

  it.live("login explains what is wrong with a command line, and that the user declined", () =>
    Effect.gen(function* () {
      const { issuer, url } = yield* protectedServer
      const { run } = yield* user
      const none = yield* run("login")
      assert.deepStrictEqual(
        [none.code, none.stderr],
        [2, "error: No server given. Example: effect-mcp login https://example.com/mcp\n"]
      )
      const local = yield* run("login", "--", "node", "server.js")
      assert.strictEqual(local.code, 2)
      assert.include(local.stderr, "Not the URL of a server: node server.js")
      yield* issuer.script({ approve: () => ({ error: "access_denied" }) })
      const declined = yield* run("login", url)
      assert.strictEqual(declined.code, 2)
      assert.include(declined.stderr, "the login was declined")
    })
  )
})
