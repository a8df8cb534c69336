/** Servers given by URL, and the proxy. */
import { NodeHttpServer } from "@effect/platform-node"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Everything from "@effect-mcp/interop/reference/everything"
import { parseHeader } from "@effect-mcp/cli/Settings"
import * as Target from "@effect-mcp/cli/Target"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Result } from "effect"
import { HttpServer } from "effect/http"
import { createServer, type IncomingHttpHeaders } from "node:http"
import { commandLine, everything, program, raw, run, spawned } from "../../support/run.ts"

const serve = Effect.gen(function* () {
  const endpoint = McpServer.serveHttp(McpServer.layerHttp({ path: "/mcp" }), {
    disableLogger: true,
    disableListenLog: true
  }).pipe(
    Layer.provide(Everything.layer()),
    Layer.provideMerge(Layer.orDie(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })))
  )
  const { address } = Context.get(yield* Layer.build(endpoint), HttpServer.HttpServer)
  return `http://127.0.0.1:${address._tag === "UnixPathAddress" ? 0 : address.port}/mcp`
})

/** Rejects every request and records its headers. */
const closed = Effect.fnUntraced(function* (status: number) {
  const seen: Array<IncomingHttpHeaders> = []
  const server = yield* Effect.acquireRelease(
    Effect.sync(() =>
      createServer((request, response) => {
        seen.push(request.headers)
        response.writeHead(status).end("Not for you")
      })
    ),
    (server) => Effect.sync(() => void server.close())
  )
  yield* Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void)))
  const address = server.address()
  return { seen, url: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/mcp` }
})

describe("URL targets", () => {
  it("A URL is distinguished from a command by its prefix", () => {
    for (const url of ["http://localhost:1/mcp", "HTTPS://example.com"]) {
      assert.strictEqual(Target.parse([url])?.name, url)
    }
  })

  it.live("A URL can replace a command, in every revision", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const url = yield* serve
        for (const revision of ["2024-11-05", "2025-11-25", "2026-07-28"]) {
          const flags = ["--revision", revision, "--answer", "username=ada", "--answer", "email=a@b.c", "--accept"]
          const sum = yield* run(["call", "add", "a=1", "b=2", "--json", ...flags, "--", url])
          assert.deepInclude(sum, { code: 0, stderr: "" })
          if (revision === "2024-11-05") continue
          const asked = yield* run(["call", "test_elicitation", "message=hi", ...flags, "--", url])
          assert.match(asked.stdout, /"username":"ada"/)
        }
      })
    )
  )

  it.live("--header is sent to a URL, and a rejection exits with code 3", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { seen, url } = yield* closed(403)
        const refused = yield* run(["ping", "--header", "Authorization: Bearer x:y", "--header", "X-Empty:", "--", url])
        assert.strictEqual(refused.code, 3)
        assert.match(refused.stderr, /403/)
        assert.deepInclude(seen[0], { authorization: "Bearer x:y", "x-empty": "" })
      })
    )
  )

  it.live("A rejected token is reported along with possible fixes", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { url } = yield* closed(401)
        for (const revision of ["2025-11-25", "2026-07-28"]) {
          const argv = ["ping", "--revision", revision, "--header", "Authorization: Bearer x:y", "--", url]
          const { code, stderr } = yield* run(argv)
          assert.strictEqual(code, 3)
          assert.match(
            stderr,
            /^error: \S+ requires authorization for \S+ \(status 401: Not for you\)\. The response names no authorization metadata \(RFC 9728\)\.\n/
          )
          assert.include(stderr, "Use --header 'Authorization: Bearer TOKEN' with a valid token")
          assert.include(stderr, "effect-mcp login URL")
          assert.notInclude(stderr, "HttpClient")
        }
      })
    )
  )

  it.live("A URL takes no arguments and must be valid", () =>
    Effect.gen(function* () {
      const more = yield* run(["ping", "--", "http://127.0.0.1:9/mcp", "--verbose"])
      assert.deepInclude(more, { code: 3, stdout: "" })
      assert.match(more.stderr, /A URL does not take arguments: --verbose/)
      const none = yield* run(["ping", "--", "http://"])
      assert.deepInclude(none, { code: 3 })
      assert.match(none.stderr, /Not a valid URL: "http:\/\/"/)
    })
  )

  it("A header is written as in curl, and other text is rejected", () => {
    assert.deepStrictEqual(
      parseHeader("Accept-Language:  de, en "),
      Result.succeed(["Accept-Language", "de, en"] as const)
    )
    for (const text of ["", "no header", "a b: c", ": x", "A: b\r\nC: d"]) {
      assert.isTrue(Result.isFailure(parseHeader(text)), JSON.stringify(text))
    }
  })
})

describe("effect-mcp proxy", () => {
  const over = (...args: ReadonlyArray<string>) => ["--", ...commandLine(["proxy", ...args])]

  it.live("proxy names a port that is already in use, with a possible fix", () =>
    Effect.gen(function* () {
      const { url } = yield* closed(403)
      const { port } = new URL(url)
      const taken = yield* run(["proxy", "--http", "--port", port, "--", "x"])
      assert.strictEqual(taken.code, 2)
      assert.strictEqual(
        taken.stderr,
        `error: Cannot serve at 127.0.0.1, port ${port}: another program is already listening there. ` +
          "Choose another --port, or 0 for any that is free\n"
      )
    }).pipe(Effect.scoped)
  )

  it.live("proxy serves a URL over stdio and exits with its stdin", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const url = yield* serve
        const flags = ["--answer", "username=ada", "--answer", "email=a@b.c", "--accept"]
        const asked = yield* run(["call", "test_elicitation", "message=hi", ...flags, ...over("--", url)])
        assert.deepInclude(asked, { code: 0, stderr: "" })
        assert.match(asked.stdout, /"username":"ada"/)
        const [command, ...args] = commandLine(["proxy", "--", url])
        const ended = yield* spawned(command, args, "end")
        assert.deepStrictEqual(ended, { code: 0, stdout: "", stderr: "" })
      })
    )
  )

  it.live("proxy serves a command over stdio and forwards its stderr", () =>
    Effect.gen(function* () {
      const shown = yield* run(["call", "add", "a=1", "b=2", "--json", ...over(...everything)])
      assert.deepInclude(shown, { code: 0 })
      const noisy = yield* run(["tools", "--verbose", ...over(...raw())])
      assert.include(noisy.stderr, "[server] raw server is up\n")
    })
  )

  it.live("proxy tells its client why the upstream server is unreachable", () =>
    Effect.gen(function* () {
      const none = yield* run(["tools", ...over("--", "effect-mcp-no-such-command")])
      assert.strictEqual(none.code, 1)
      assert.match(none.stderr, /The upstream server cannot be reached: Cannot start effect-mcp-no-such-command/)
    })
  )

  it.live("proxy requires --http and --port together", () =>
    Effect.gen(function* () {
      for (const args of [["--http"], ["--port", "0"]]) {
        const wrong = yield* run(["proxy", ...args, "--", "x"])
        assert.deepInclude(wrong, { code: 2, stdout: "" })
        assert.match(wrong.stderr, /--http and --port belong together/)
      }
      assert.strictEqual((yield* run(["proxy"])).code, 2)
    })
  )

  it.live("proxy warns about a server that is not on loopback", () =>
    Effect.gen(function* () {
      const { stderr } = yield* program(
        ["proxy", "--http", "--port", "0", "--host", "0.0.0.0", ...everything],
        [{ until: "/mcp\n", on: "stderr", signal: "SIGTERM" }]
      )
      assert.include(stderr, "warning: anyone who can reach 0.0.0.0 can use the server")
    })
  )

  it.live("proxy reports its HTTP address and stops its processes on a signal", () =>
    Effect.gen(function* () {
      const ended = yield* program(
        ["proxy", "--http", "--port", "0", ...everything],
        [{ until: "/mcp\n", on: "stderr", signal: "SIGTERM" }]
      )
      assert.deepInclude(ended, { code: 130, stdout: "" })
      assert.match(ended.stderr, /^Serving .+ at http:\/\/127\.0\.0\.1:\d+\/mcp\n$/)
    })
  )
})
