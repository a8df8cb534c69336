import * as ClientCredentials from "@effect-mcp/auth/client/ClientCredentials"
import { assert, describe, it } from "@effect/vitest"
import { verifies } from "@effect-mcp/spec/verifies"
import { Effect, Logger, Option, Redacted, References, Tracer } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import { inspect } from "node:util"
import * as World from "./support/world.ts"

const authorizations = (world: World.World) => world.at(World.server).map((hit) => hit.headers["authorization"])

describe.each(World.revisions)("OAuth at %s", (revision) => {
  const newClient = World.clientAt(revision)
  it.effect(
    "A 401 starts the whole login flow, then the request is retried",
    () =>
      Effect.gen(function* () {
        const world = World.make()
        const client = yield* newClient(world)
        const request = HttpClientRequest.bodyText(HttpClientRequest.post(World.server), '{"id":1}', "application/json")
        assert.strictEqual(yield* client.ask(request), 200)
        assert.deepStrictEqual(
          world.hits.map((hit) => `${hit.method} ${hit.url.origin}${hit.url.pathname}`),
          [
            `POST ${World.server}`,
            `GET ${World.prmUrl}`,
            `GET ${World.asUrl}`,
            `POST ${World.issuer}/register`,
            `POST ${World.issuer}/token`,
            `POST ${World.server}`
          ]
        )
        assert.deepStrictEqual(authorizations(world), [undefined, "Bearer at-1"])
        assert.deepStrictEqual(
          world.at(World.server).map((hit) => hit.text),
          ['{"id":1}', '{"id":1}']
        )
      }),
    verifies(
      "authorization.client.parses-challenge",
      "authorization.client.resource-metadata",
      "authorization.client.header",
      "authorization.client.metadata-rfc8414",
      "authorization.oauth-2-1"
    )
  )

  it.effect(
    "The token is sent with every request, whatever its method, and never in the URL",
    () =>
      Effect.gen(function* () {
        const world = World.make()
        const client = yield* newClient(world)
        yield* client.ask()
        yield* client.ask()
        yield* client.ask(HttpClientRequest.get(World.server))
        yield* client.ask(HttpClientRequest.delete(World.server))
        assert.deepStrictEqual(
          authorizations(world).slice(1),
          Array.from({ length: 4 }, () => "Bearer at-1")
        )
        assert.isTrue(world.hits.every((hit) => !hit.url.href.includes("at-1") && !hit.url.href.includes("rt-1")))
        assert.strictEqual(world.visits.length, 1)
      }),
    verifies(
      "authorization.client.every-request",
      "authorization.client.not-in-query",
      "authorization.token.oauth-section-5"
    )
  )

  it.effect("No token is sent with requests that succeed without one", () =>
    Effect.gen(function* () {
      const world = World.make({ intercept: () => World.json({}) })
      const client = yield* newClient(world)
      assert.strictEqual(yield* client.ask(), 200)
      assert.deepStrictEqual(authorizations(world), [undefined])
    })
  )

  it.effect("A login to a server without TLS is rejected with a reason", () =>
    Effect.gen(function* () {
      const world = World.make({ intercept: () => new Response("", { status: 401 }) })
      const client = yield* newClient(world)
      const error = yield* World.failure(client.ask(HttpClientRequest.post("http://mcp.example.com/mcp")))
      assert.match(error.message, /insecure connection.*https/)
      assert.strictEqual(world.hits.length, 1)
    })
  )

  it.effect("A request with its own credentials is sent unchanged", () =>
    Effect.gen(function* () {
      const world = World.make({ accepts: () => false })
      const client = yield* newClient(world)
      const request = HttpClientRequest.post(World.server, { headers: { authorization: "Bearer mine" } })
      assert.strictEqual(yield* client.ask(request), 401)
      assert.deepStrictEqual(authorizations(world), ["Bearer mine"])
    })
  )

  it.effect("No token is sent to another server or over plain HTTP", () =>
    Effect.gen(function* () {
      const world = World.make()
      const client = yield* newClient(world)
      yield* client.ask()
      yield* client.ask(HttpClientRequest.get("https://other.example.com/mcp"))
      yield* client.ask(HttpClientRequest.get("https://mcp.example.com/other"))
      yield* client.ask(HttpClientRequest.get("http://mcp.example.com/mcp"))
      assert.isTrue(world.hits.slice(-3).every((hit) => hit.headers["authorization"] === undefined))
    })
  )

  it.effect("Two URLs count as one server if the options say so", () =>
    Effect.gen(function* () {
      const messages = "https://mcp.example.com/messages"
      const world = World.make({
        intercept: ({ headers, url }) =>
          url.href.startsWith(messages)
            ? new Response("", { status: headers["authorization"] === "Bearer at-1" ? 202 : 401 })
            : undefined
      })
      const client = yield* newClient(world, { server: World.server })
      assert.strictEqual(yield* client.ask(HttpClientRequest.get(World.server)), 200)
      assert.strictEqual(yield* client.ask(HttpClientRequest.post(`${messages}?sessionId=1`)), 202)
      yield* client.ask(HttpClientRequest.get("https://other.example.com/messages"))
      assert.isUndefined(world.hits.at(-1)?.headers["authorization"])
      assert.strictEqual(world.visits.length, 1)
    })
  )

  it.effect("A redirect is not followed with a token, nor by the flow's own requests", () =>
    Effect.gen(function* () {
      const redirects: Array<readonly [string, string | undefined]> = []
      const world = World.make()
      const fetch = (async (input, init) => {
        const request = new Request(input, init)
        redirects.push([request.headers.get("authorization") ?? request.method, init?.redirect])
        const response = await Effect.runPromise(world.http.execute(HttpClientRequest.fromWeb(request)))
        return Option.getOrThrow(HttpClientResponse.toWeb(response))
      }) as typeof globalThis.fetch
      const http = yield* Effect.provide(HttpClient.HttpClient, FetchHttpClient.layer)
      const client = yield* newClient({ ...world, http })
      const asked = client
        .ask()
        .pipe(
          Effect.provideService(FetchHttpClient.Fetch, fetch),
          Effect.provideService(FetchHttpClient.RequestInit, { cache: "no-store" })
        )
      assert.strictEqual(yield* asked, 200)
      assert.deepStrictEqual(redirects, [
        ["POST", undefined],
        ["GET", "manual"],
        ["GET", "manual"],
        ["POST", "manual"],
        ["POST", "manual"],
        ["Bearer at-1", "manual"]
      ])
    })
  )

  it.effect("A 403 unrelated to scopes is returned as is", () =>
    Effect.gen(function* () {
      const world = World.make()
      const client = yield* newClient(world)
      yield* client.ask()
      world.parts.intercept = ({ url }) => (url.href === World.server ? new Response("no", { status: 403 }) : undefined)
      assert.strictEqual(yield* client.ask(), 403)
      assert.strictEqual(world.visits.length, 1)
    })
  )

  it.effect("A client gives up on a server that rejects new tokens, with a hint", () =>
    Effect.gen(function* () {
      const world = World.make({
        accepts: () => false,
        challenge: `Bearer error="invalid_token", resource_metadata="${World.prmUrl}"`
      })
      const client = yield* newClient(world)
      const error = yield* World.failure(client.ask())
      assert.strictEqual(error.step, "access")
      assert.strictEqual(error.code, "invalid_token")
      assert.strictEqual(error.url, World.server)
      assert.strictEqual(world.visits.length, 1)
    })
  )

  it.effect("An error contains no tokens, codes or secrets", () =>
    Effect.gen(function* () {
      const world = World.make({ accepts: () => false })
      const client = yield* newClient(world)
      const error = yield* Effect.flip(client.ask())
      const shown = `${String(error)} ${JSON.stringify(error)}`
      assert.notMatch(shown, /at-1|rt-1|code-1/)
    })
  )

  it.effect("Ending a session never triggers a login", () =>
    Effect.gen(function* () {
      const world = World.make()
      const client = yield* newClient(world)
      const end = HttpClientRequest.delete(World.server, { headers: { "mcp-session-id": "1" } })
      assert.strictEqual(yield* client.ask(end), 401)
      assert.strictEqual(world.visits.length, 0)
      yield* client.ask()
      assert.strictEqual(yield* client.ask(end), 200)
    })
  )

  it.effect("Clients and users do not share tokens through a common store", () =>
    Effect.gen(function* () {
      const world = World.make()
      world.parts.as = { ...world.parts.as, token_endpoint_auth_methods_supported: undefined }
      const machine = (clientId: string) =>
        ClientCredentials.make({ issuer: World.issuer, clientId, clientSecret: Redacted.make("s3cret") })
      const user = yield* newClient(world)
      yield* user.ask()
      const others = [{ grant: machine("a") }, { grant: machine("b") }, { account: "bob" }]
      for (const [index, options] of others.entries()) {
        for (let time = 0; time < 2; time++) {
          const client = yield* newClient(world, options, user.store)
          assert.strictEqual(yield* client.ask(), 200)
          assert.strictEqual(world.at(World.server).at(-1)?.headers["authorization"], `Bearer at-${index + 2}`)
        }
      }
      assert.strictEqual((yield* user.oauth.whoami(World.server))?.clientId, "client-1")
    })
  )

  it.effect(
    "Secrets appear in no log or span",
    () => {
      const said: Array<unknown> = []
      const logger = Logger.make(({ cause, message }) => void said.push(message, cause))
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          said.push(span.name, span.attributes)
          return span
        }
      })
      return Effect.gen(function* () {
        const world = World.make({ accepts: (token) => token !== "at-1" })
        const grant = World.code({
          preRegistered: [{ issuer: World.issuer, clientId: "me", clientSecret: Redacted.make("s3cret") }]
        })
        world.parts.as = { ...world.parts.as, token_endpoint_auth_methods_supported: ["client_secret_basic"] }
        const client = yield* newClient(world, { grant })
        yield* Effect.flip(client.ask())
        assert.strictEqual(yield* client.ask(), 200)
        const all = inspect(said, { depth: 10, maxArrayLength: null, maxStringLength: null })
        assert.include(all, "http.response.status_code")
        const [verifier = ""] = world.grants("authorization_code").map((form) => form.get("code_verifier"))
        const basic = Buffer.from("me:s3cret").toString("base64")
        for (const secret of ["at-1", "at-2", "rt-1", "code-1", "s3cret", basic, verifier ?? "verifier"])
          assert.notInclude(all, secret)
      }).pipe(
        Effect.provide(Logger.layer([logger])),
        Effect.provideService(References.MinimumLogLevel, "All"),
        Effect.provideService(Tracer.Tracer, tracer)
      )
    },
    verifies("authorization.client.refresh-confidential")
  )

  it.effect("Concurrent requests share a single login", () =>
    Effect.gen(function* () {
      const world = World.make()
      const client = yield* newClient(world)
      const statuses = yield* Effect.all(
        Array.from({ length: 50 }, () => client.ask()),
        { concurrency: "unbounded" }
      )
      assert.isTrue(statuses.every((status) => status === 200))
      assert.strictEqual(world.visits.length, 1)
      assert.strictEqual(world.grants("authorization_code").length, 1)
    })
  )

  it.effect("A declined login applies to all concurrent requests", () =>
    Effect.gen(function* () {
      const world = World.make({
        redirect: (answer) => {
          answer.delete("code")
          answer.set("error", "access_denied")
        }
      })
      const client = yield* newClient(world)
      const errors = yield* Effect.all(
        Array.from({ length: 20 }, () => World.failure(client.ask())),
        { concurrency: "unbounded" }
      )
      assert.isTrue(errors.every((error) => error.code === "access_denied"))
      assert.strictEqual(world.visits.length, 1)
    })
  )

  it.effect("A second client with the same store uses the stored tokens at once", () =>
    Effect.gen(function* () {
      const world = World.make()
      const first = yield* newClient(world)
      yield* first.ask()
      const second = yield* newClient(world, {}, first.store)
      yield* second.ask()
      assert.deepStrictEqual(authorizations(world), [undefined, "Bearer at-1", "Bearer at-1"])
    })
  )
})
