import * as Authorizer from "@effect-mcp/auth/client/Authorizer"
import * as Loopback from "@effect-mcp/auth/client/Loopback"
import { OAuthError } from "@effect-mcp/auth/OAuthError"
import { NodeHttpServer } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { verifies } from "@effect-mcp/spec/verifies"
import { Context, Deferred, Effect, Fiber, Layer, Queue, Terminal } from "effect"
import { HttpClient } from "effect/http"
import { ChildProcess } from "effect/process"
import { type ChildProcessSpawner, ExitCode } from "effect/process/ChildProcessSpawner"
import { TestClock } from "effect/testing"
import { createServer } from "node:http"
import * as World from "../../client/support/world.ts"

const page = new URL("https://auth.example.com/authorize?state=right&x=1")

describe("Loopback authorizer", () => {
  const server = NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })

  /** Starts an authorization and waits for the opened URL. */
  const open = Effect.fnUntraced(function* (options: Partial<Loopback.Options<never, never>> = {}) {
    const opened = yield* Deferred.make<URL>()
    const layer = Loopback.layer({
      server: Layer.orDie(server),
      open: (url) => Effect.asVoid(Deferred.succeed(opened, url)),
      ...options
    })
    const authorizer = Context.get(yield* Layer.build(layer), Authorizer.Authorizer)
    const way = yield* authorizer.open
    return { way, opened: Deferred.await(opened) }
  })

  const visit = (url: string, init?: RequestInit) =>
    Effect.promise(async () => {
      const response = await fetch(url, init)
      return { status: response.status, headers: response.headers, text: await response.text() }
    })

  it.effect(
    "The loopback authorizer opens the page and returns its listener's answer",
    () =>
      Effect.gen(function* () {
        const { opened, way } = yield* open()
        assert.match(way.redirectUri, /^http:\/\/127\.0\.0\.1:\d+\/callback$/)
        const answer = yield* Effect.forkChild(way.authorize(page))
        assert.strictEqual((yield* opened).href, page.href)
        const { headers, status, text } = yield* visit(`${way.redirectUri}?state=right&code=c%2B1&iss=i`)
        assert.strictEqual(status, 200)
        assert.include(text, "You can close this page")
        assert.strictEqual(headers.get("cache-control"), "no-store")
        assert.include(headers.get("content-security-policy"), "default-src 'none'")
        assert.strictEqual((yield* Fiber.join(answer)).toString(), "state=right&code=c%2B1&iss=i")
      }),
    verifies("authorization.redirect-uri")
  )

  it.effect(
    "Foreign requests are rejected without ending the login or echoing their content",
    () =>
      Effect.gen(function* () {
        const { opened, way } = yield* open()
        const { origin } = new URL(way.redirectUri)
        const early = yield* visit(`${way.redirectUri}?state=right&code=early`)
        assert.strictEqual(early.status, 400)
        const answer = yield* Effect.forkChild(way.authorize(page))
        yield* opened
        for (const [url, init, status] of [
          [`${way.redirectUri}?state=wrong&code=evil&error_description=<script>`, {}, 400],
          [`${way.redirectUri}?code=evil`, {}, 400],
          [`${origin}/`, {}, 404],
          [`${way.redirectUri}?state=right&code=evil`, { method: "POST" }, 404]
        ] as const) {
          const reply = yield* visit(url, init)
          assert.strictEqual(reply.status, status)
          assert.notMatch(reply.text, /evil|script>/)
        }
        yield* visit(`${way.redirectUri}?state=right&code=good`)
        assert.strictEqual((yield* Fiber.join(answer)).get("code"), "good")
      }),
    verifies("authorization.client.state")
  )

  it.effect("A second answer is ignored", () =>
    Effect.gen(function* () {
      const { opened, way } = yield* open()
      const answer = yield* Effect.forkChild(way.authorize(page))
      yield* opened
      yield* visit(`${way.redirectUri}?state=right&code=first`)
      yield* visit(`${way.redirectUri}?state=right&code=second`)
      assert.strictEqual((yield* Fiber.join(answer)).get("code"), "first")
    })
  )

  it.effect("The loopback authorizer times out with a clear error", () =>
    Effect.gen(function* () {
      const { opened, way } = yield* open({ timeout: "2 minutes", host: "localhost" })
      assert.match(way.redirectUri, /^http:\/\/localhost:\d+\/callback$/)
      const answer = yield* Effect.forkChild(Effect.flip(way.authorize(page)))
      yield* opened
      yield* TestClock.adjust("2 minutes")
      const error = yield* Fiber.join(answer)
      assert.match(error.message, /timed out/)
    })
  )

  it.effect("The loopback authorizer stops listening when its scope closes", () =>
    Effect.gen(function* () {
      const redirectUri = yield* Effect.scoped(Effect.map(open(), ({ way }) => way.redirectUri))
      const gone = yield* Effect.promise(() =>
        fetch(redirectUri).then(
          () => false,
          () => true
        )
      )
      assert.isTrue(gone)
    })
  )

  it.effect("A browser that fails to start fails the login", () =>
    Effect.gen(function* () {
      const { way } = yield* open({
        open: () => Effect.fail(new OAuthError({ step: "authorization", problem: "no browser" }))
      })
      assert.match((yield* Effect.flip(way.authorize(page))).message, /no browser/)
    })
  )

  for (const [platform, expected] of [
    ["linux", ["xdg-open", page.href]],
    ["darwin", ["open", page.href]],
    ["win32", ["rundll32", "url.dll,FileProtocolHandler", page.href]]
  ] as const)
    it.effect(
      `The loopback authorizer starts the ${platform} browser with the URL as a single argument`,
      () =>
        Effect.gen(function* () {
          const started: Array<ReadonlyArray<string>> = []
          const spawner = {
            spawn: (command: ChildProcess.Command) => {
              assert.isTrue(ChildProcess.isStandardCommand(command))
              if (ChildProcess.isStandardCommand(command)) {
                started.push([command.command, ...command.args].map(String))
                assert.isUndefined(command.options.shell)
              }
              return Effect.succeed({ exitCode: Effect.succeed(ExitCode(0)) })
            }
          } as unknown as ChildProcessSpawner["Service"]
          yield* Loopback.browse(spawner, platform)(page)
          assert.deepStrictEqual(started, [[...expected]])
        }),
      verifies("best-practices.urls.no-shell", "best-practices.urls.platform-opener")
    )
})

describe("Terminal authorizer", () => {
  /** A terminal into which these lines are typed. */
  const terminal = Effect.fnUntraced(function* (...lines: ReadonlyArray<string>) {
    const typed = yield* Queue.unbounded<string>()
    yield* Queue.offerAll(typed, lines)
    let shown = ""
    const layer = Layer.succeed(
      Terminal.Terminal,
      Terminal.make({
        columns: Effect.succeed(80),
        rows: Effect.succeed(24),
        size: Effect.never,
        readInput: Effect.never,
        readLine: Queue.take(typed),
        display: (text) => Effect.sync(() => void (shown += text))
      })
    )
    const context = yield* Layer.build(Layer.provide(Authorizer.layerTerminal(), layer))
    const way = yield* Context.get(context, Authorizer.Authorizer).open
    return { way, shown: () => shown }
  })

  it.effect("The terminal authorizer prints the login URL and reads the final URL", () =>
    Effect.gen(function* () {
      const { shown, way } = yield* terminal(`  http://127.0.0.1:33418/callback?state=right&code=c  `)
      const answer = yield* way.authorize(page)
      assert.strictEqual(answer.get("code"), "c")
      assert.include(shown(), page.href)
    })
  )

  it.effect("The terminal authorizer prompts again for text that does not belong to its login", () =>
    Effect.gen(function* () {
      const { shown, way } = yield* terminal(
        "",
        "y",
        "http://127.0.0.1/callback?state=old&code=x",
        "http://x/?state=right&code=c"
      )
      assert.strictEqual((yield* way.authorize(page)).get("code"), "c")
      assert.strictEqual(shown().split("is not from this login").length - 1, 3)
    })
  )
})

describe("Non-interactive authorizer", () => {
  it.effect("The non-interactive authorizer fails with instructions for logging in", () =>
    Effect.gen(function* () {
      const context = yield* Layer.build(Authorizer.layerNone)
      const world = World.make()
      const client = yield* World.client({ ...world, authorizer: Context.get(context, Authorizer.Authorizer) })
      const error = yield* World.failure(client.ask())
      assert.match(error.message, /effect-mcp login/)
    })
  )
})

describe("Scripted user", () => {
  const user = (answer: (url: URL) => Response) => {
    const { hits, http } = World.network(({ url }) => answer(url))
    return Effect.map(
      Layer.build(Layer.provide(Authorizer.layerScripted(), Layer.succeed(HttpClient.HttpClient, http))),
      (context) => ({ hits, authorizer: Context.get(context, Authorizer.Authorizer) })
    )
  }
  const to = (location: string) => new Response(null, { status: 302, headers: { location } })

  it.effect("A scripted user follows redirects up to the client's redirect URI", () =>
    Effect.gen(function* () {
      const { authorizer, hits } = yield* user((url) =>
        url.pathname === "/authorize" ? to("/consent") : to("http://127.0.0.1/callback?code=c")
      )
      const way = yield* authorizer.open
      assert.strictEqual((yield* way.authorize(page)).get("code"), "c")
      assert.deepStrictEqual(
        hits.map(({ url }) => url.pathname),
        ["/authorize", "/consent"]
      )
    })
  )

  it.effect("A scripted user gives up on a page without a redirect or on endless redirects", () =>
    Effect.gen(function* () {
      for (const answer of [() => new Response("log in here"), () => to("/again")]) {
        const { authorizer } = yield* user(answer)
        const way = yield* authorizer.open
        const error = yield* Effect.flip(way.authorize(page))
        assert.match(error.message, /did not redirect back/)
      }
    })
  )
})
