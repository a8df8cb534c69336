/** Servers that are named by a URL, and the proxy. */
import { NodeHttpServer } from "@effect/platform-node"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Everything from "@effect-mcp/everything/everything"
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

/** Refuses every request, and keeps its headers. */
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

describe("A URL", () => {
  it("A URL is told from a command by how it begins", () => {
    for (const url of ["http://localhost:1/mcp", "HTTPS://example.com"]) {
      assert.strictEqual(Target.parse([url])?.name, url)
    }
  })

  it.live("A URL is taken wherever a command is, in every revision", () =>
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

  it.live("A URL is sent the headers of --header; a refusal ends with exit code 3", () =>
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

  it.live("A URL that refuses a token is told with what the command can do", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { url } = yield* closed(401)
        for (const revision of ["2025-11-25", "2026-07-28"]) {
          const argv = ["ping", "--revision", revision, "--header", "Authorization: Bearer x:y", "--", url]
          const { code, stderr } = yield* run(argv)
          assert.strictEqual(code, 3)
          assert.match(stderr, /^error: \S+ wants authorization for \S+ \(status 401: Not for you\)\.\n/)
          assert.include(stderr, "Use --header 'Authorization: Bearer TOKEN' with a token that it takes")
          assert.include(stderr, "effect-mcp login URL")
          assert.notInclude(stderr, "HttpClient")
        }
      })
    )
  )

  it.live("A URL takes no arguments, and must be valid", () =>
    Effect.gen(function* () {
      const more = yield* run(["ping", "--", "http://127.0.0.1:9/mcp", "--verbose"])
      assert.deepInclude(more, { code: 3, stdout: "" })
      assert.match(more.stderr, /A URL takes no arguments: --verbose/)
      const none = yield* run(["ping", "--", "http://"])
      assert.deepInclude(none, { code: 3 })
      assert.match(none.stderr, /Not a URL: "http:\/\/"/)
    })
  )

  it("A header is written as for curl, and other text is refused", () => {
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

  it.live("The proxy command names the port that another program has, and what to do", () =>
    Effect.gen(function* () {
      const { url } = yield* closed(403)
      const { port } = new URL(url)
      const taken = yield* run(["proxy", "--http", "--port", port, "--", "x"])
      assert.strictEqual(taken.code, 2)
      assert.strictEqual(
        taken.stderr,
        `error: Cannot serve at 127.0.0.1, port ${port}: another program listens there. ` +
          "Choose another --port, or 0 for any that is free\n"
      )
    }).pipe(Effect.scoped)
  )

  it.live("The proxy command serves a URL over stdio, and ends with its stdin", () =>
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

  it.live("The proxy command serves a command over stdio, whose stderr it passes on", () =>
    Effect.gen(function* () {
      const shown = yield* run(["call", "add", "a=1", "b=2", "--json", ...over(...everything)])
      assert.deepInclude(shown, { code: 0 })
      const noisy = yield* run(["tools", "--verbose", ...over(...raw())])
      assert.include(noisy.stderr, "[server] raw server is up\n")
    })
  )

  it.live("The proxy command tells its client why the upstream server cannot be reached", () =>
    Effect.gen(function* () {
      const none = yield* run(["tools", ...over("--", "effect-mcp-no-such-command")])
      assert.strictEqual(none.code, 1)
      assert.match(none.stderr, /The upstream server cannot be reached: Cannot start effect-mcp-no-such-command/)
    })
  )

  it.live("The proxy command says that --http and --port belong together", () =>
    Effect.gen(function* () {
      for (const args of [["--http"], ["--port", "0"]]) {
        const wrong = yield* run(["proxy", ...args, "--", "x"])
        assert.deepInclude(wrong, { code: 2, stdout: "" })
        assert.match(wrong.stderr, /--http and --port belong together/)
      }
      assert.strictEqual((yield* run(["proxy"])).code, 2)
    })
  )

  it.live("The proxy command warns that others can use a server that is not on loopback", () =>
    Effect.gen(function* () {
      const { stderr } = yield* program(
        ["proxy", "--http", "--port", "0", "--host", "0.0.0.0", ...everything],
        [{ until: "/mcp\n", on: "stderr", signal: "SIGTERM" }]
      )
      assert.include(stderr, "warning: everyone who reaches 0.0.0.0 can use the server")
    })
  )

  it.live("The proxy command says where it serves over HTTP, and ends its processes at a signal", () =>
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
