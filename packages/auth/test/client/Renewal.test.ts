import * as TokenStore from "@effect-mcp/auth/client/TokenStore"
import { assert, describe, it } from "@effect/vitest"
import { verifies } from "@effect-mcp/spec/verifies"
import { Deferred, Effect, Fiber } from "effect"
import { HttpClientRequest } from "effect/http"
import { TestClock } from "effect/testing"
import * as World from "./support/world.ts"

/** A world that only accepts the tokens in `valid`. */
const strict = () => {
  const valid = new Set(["at-1"])
  const world = World.make({ accepts: (token) => valid.has(token) })
  return { valid, world }
}

/** A logged-in client whose token `at-1` the server now rejects. It only accepts the tokens in `next`. */
const refused = Effect.fnUntraced(function* (
  newClient: ReturnType<typeof World.clientAt>,
  ...next: ReadonlyArray<string>
) {
  const { valid, world } = strict()
  const client = yield* newClient(world)
  yield* client.ask()
  valid.clear()
  for (const token of next) valid.add(token)
  return { client, valid, world }
})

/** Makes the token endpoint answer refreshes with `answer`, and all other grants as before. */
const onRefresh = (world: World.World, answer: () => Response): void => {
  world.parts.intercept = ({ form }) => (form.get("grant_type") === "refresh_token" ? answer() : undefined)
}

describe.each(World.revisions)("Renewal at %s", (revision) => {
  const newClient = World.clientAt(revision)
  it.effect("A rejected token is refreshed, and the new refresh token replaces the old one", () =>
    Effect.gen(function* () {
      const { valid, world } = strict()
      const client = yield* newClient(world)
      yield* client.ask()
      for (const round of [2, 3]) {
        valid.clear()
        valid.add(`at-${round}`)
        assert.strictEqual(yield* client.ask(), 200)
      }
      const forms = world.grants("refresh_token")
      assert.deepStrictEqual(
        forms.map((form) => [form.get("refresh_token"), form.get("resource"), form.get("client_id")]),
        [
          ["rt-1", World.server, "client-1"],
          ["rt-2", World.server, "client-1"]
        ]
      )
      assert.strictEqual(world.visits.length, 1)
    })
  )

  it.effect("A registered client does not send another client's refresh token", () =>
    Effect.gen(function* () {
      const { valid, world } = strict()
      const store = TokenStore.makeMemory()
      const as = (clientId: string) =>
        newClient(world, { grant: World.code({ preRegistered: [{ issuer: World.issuer, clientId }] }) }, store)
      yield* (yield* as("pre-7")).ask()
      valid.clear()
      valid.add("at-2")
      assert.strictEqual(yield* (yield* as("pre-8")).ask(), 200)
      assert.deepStrictEqual(world.grants("refresh_token"), [])
      assert.deepStrictEqual(
        world.visits.map((visit) => visit.searchParams.get("client_id")),
        ["pre-7", "pre-8"]
      )
    })
  )

  it.effect("A removed client's refresh token is not sent", () =>
    Effect.gen(function* () {
      const { valid, world } = strict()
      const store = TokenStore.makeMemory()
      const preRegistered = [{ issuer: World.issuer, clientId: "pre-7" }]
      yield* (yield* newClient(world, { grant: World.code({ preRegistered }) }, store)).ask()
      valid.clear()
      valid.add("at-2")
      assert.strictEqual(yield* (yield* newClient(world, {}, store)).ask(), 200)
      assert.deepStrictEqual(world.grants("refresh_token"), [])
      assert.strictEqual(world.visits.at(-1)?.searchParams.get("client_id"), "client-1")
    })
  )

  it.effect("A refresh token that is not rotated stays valid", () =>
    Effect.gen(function* () {
      const { valid, world } = strict()
      world.parts.token = (body, { form }) =>
        form.get("grant_type") === "refresh_token" ? { ...body, refresh_token: undefined } : body
      const client = yield* newClient(world)
      yield* client.ask()
      for (const round of [2, 3]) {
        valid.clear()
        valid.add(`at-${round}`)
        assert.strictEqual(yield* client.ask(), 200)
      }
      assert.deepStrictEqual(
        world.grants("refresh_token").map((form) => form.get("refresh_token")),
        ["rt-1", "rt-1"]
      )
    })
  )

  it.effect("A short-lived token is used for half of its lifetime before it is refreshed", () =>
    Effect.gen(function* () {
      const world = World.make({ token: (body) => ({ ...body, expires_in: 20 }) })
      const client = yield* newClient(world)
      for (let request = 0; request < 5; request++) yield* client.ask()
      assert.strictEqual(world.at(`${World.issuer}/token`).length, 1)
      yield* TestClock.adjust("11 seconds")
      for (let request = 0; request < 5; request++) yield* client.ask()
      assert.strictEqual(world.grants("refresh_token").length, 1)
    })
  )

  it.effect("A login at another server with the same issuer keeps the first server's token", () =>
    Effect.gen(function* () {
      const { valid, world } = strict()
      valid.add("at-2")
      const other = "https://mcp.example.com/other"
      world.parts.intercept = ({ headers, url }) => {
        if (url.pathname === "/.well-known/oauth-protected-resource/other")
          return World.json({ resource: other, authorization_servers: [World.issuer] })
        if (url.href !== other) return undefined
        return headers["authorization"] === undefined ? new Response("", { status: 401 }) : World.json({})
      }
      const client = yield* newClient(world)
      yield* client.ask()
      // A loopback listener has a new port each time, so the client registers again.
      world.parts.redirectUri = "http://127.0.0.1:7777/callback"
      assert.strictEqual(yield* client.ask(HttpClientRequest.post(other)), 200)
      valid.clear()
      valid.add("at-3")
      assert.strictEqual(yield* client.ask(), 200)
      assert.deepStrictEqual(
        world.grants("refresh_token").map((form) => [form.get("refresh_token"), form.get("client_id")]),
        [["rt-1", "client-1"]]
      )
      assert.strictEqual(world.visits.length, 2)
    })
  )

  it.effect("A secret echoed by the authorization server does not appear in an error", () =>
    Effect.gen(function* () {
      const world = World.make({
        intercept: ({ form, url }) =>
          url.href === `${World.issuer}/token`
            ? World.json(
                { error: "invalid_grant", error_description: `What is ${form.get("code_verifier")} of code-1?` },
                400
              )
            : undefined
      })
      world.parts.redirect = (answer) => answer.set("code", "a-code-that-is-secret")
      const client = yield* newClient(world)
      const error = yield* World.failure(client.ask())
      const [form] = world.grants("authorization_code")
      assert.notInclude(error.message, form?.get("code_verifier") ?? "")
      assert.include(error.message, "What is *** of code-1?")
    })
  )

  it.effect(
    "A user is prompted again if there is no refresh token",
    () =>
      Effect.gen(function* () {
        const { valid, world } = strict()
        world.parts.token = (body) => ({ ...body, refresh_token: undefined })
        const client = yield* newClient(world)
        yield* client.ask()
        valid.clear()
        valid.add("at-2")
        assert.strictEqual(yield* client.ask(), 200)
        assert.strictEqual(world.visits.length, 2)
      }),
    verifies("authorization.client.refresh-not-assumed")
  )

  it.effect("A rejected refresh token triggers a new login", () =>
    Effect.gen(function* () {
      const { client, world } = yield* refused(newClient, "at-2")
      onRefresh(world, () => World.json({ error: "invalid_grant" }, 400))
      assert.strictEqual(yield* client.ask(), 200)
      assert.strictEqual(world.grants("refresh_token").length, 1)
      assert.strictEqual(world.visits.length, 2)
    })
  )

  it.effect("A rejected refresh starts a login at the issuer that the server names now", () =>
    Effect.gen(function* () {
      const moved = "https://new.example.com"
      const world = World.make({ token: (body) => ({ ...body, expires_in: 20 }) })
      const client = yield* newClient(world)
      yield* client.ask()
      world.parts.prm = { resource: World.server, authorization_servers: [moved] }
      world.parts.intercept = ({ form, url }) => {
        if (form.get("grant_type") === "refresh_token") return World.json({ error: "invalid_grant" }, 400)
        if (url.origin !== moved) return undefined
        if (url.pathname === "/register") return World.json({ client_id: "new" }, 201)
        if (url.pathname === "/token") return World.json({ access_token: "at-new", token_type: "Bearer" })
        return World.json({
          issuer: moved,
          authorization_endpoint: `${moved}/authorize`,
          token_endpoint: `${moved}/token`,
          registration_endpoint: `${moved}/register`,
          code_challenge_methods_supported: ["S256"]
        })
      }
      yield* TestClock.adjust("21 seconds")
      assert.strictEqual(yield* client.ask(), 200)
      assert.deepStrictEqual(
        world.visits.map(({ origin }) => origin),
        [World.issuer, moved]
      )
    })
  )

  for (const fallback of [true, false])
    for (const stored of ["its metadata URL", "no URL"] as const)
      it.effect(
        `A rejected refresh starts a login at the issuer in the challenge (the store has ${stored}, fallback ${fallback})`,
        () =>
          Effect.gen(function* () {
            const url = "https://mcp.example.com/metadata.json"
            const world = World.make({
              prm: undefined,
              challenge: `Bearer resource_metadata="${url}"`,
              token: (body) => ({ ...body, expires_in: 20 })
            })
            const honest = (hit: World.Hit) =>
              hit.url.href === url
                ? World.json({ resource: World.server, authorization_servers: [World.issuer] })
                : undefined
            world.parts.intercept = honest
            const store = TokenStore.makeMemory()
            yield* (yield* newClient(world, { fallback }, store)).ask()
            if (stored === "no URL") {
              const name = JSON.stringify(["place", World.server])
              const { version } = yield* store.read(name)
              yield* store.swap(name, version, JSON.stringify({ issuer: World.issuer, resource: World.server }))
            }
            world.parts.intercept = (hit) =>
              hit.form.get("grant_type") === "refresh_token" ? World.json({ error: "invalid_grant" }, 400) : honest(hit)
            const client = yield* newClient(world, { fallback }, store)
            yield* TestClock.adjust("21 seconds")
            assert.strictEqual(yield* client.ask(), 200)
            assert.deepStrictEqual(
              world.visits.map(({ origin, searchParams }) => [origin, searchParams.get("resource")]),
              [
                [World.issuer, World.server],
                [World.issuer, World.server]
              ]
            )
            const sent = world.at(World.server).map(({ headers }) => headers["authorization"])
            assert.deepStrictEqual(sent.slice(2), stored === "no URL" ? [undefined, "Bearer at-2"] : ["Bearer at-2"])
          })
      )

  it.effect("Moved metadata is found through the challenge of a request without a token", () =>
    Effect.gen(function* () {
      const world = World.make({ token: (body) => ({ ...body, expires_in: 20 }) })
      const client = yield* newClient(world)
      yield* client.ask()
      const moved = "https://mcp.example.com/moved.json"
      const { prm } = world.parts
      world.parts.prm = undefined
      world.parts.challenge = `Bearer resource_metadata="${moved}"`
      world.parts.intercept = ({ form, url }) => {
        if (form.get("grant_type") === "refresh_token") return World.json({ error: "invalid_grant" }, 400)
        return url.href === moved ? World.json(prm) : undefined
      }
      yield* TestClock.adjust("21 seconds")
      assert.strictEqual(yield* client.ask(), 200)
      assert.deepStrictEqual(
        world.visits.map(({ origin }) => origin),
        [World.issuer, World.issuer]
      )
    })
  )

  it.effect("An early refresh keeps the metadata URL for a later login", () =>
    Effect.gen(function* () {
      const world = World.make({ token: (body) => ({ ...body, expires_in: 20 }) })
      const store = TokenStore.makeMemory()
      const client = yield* newClient(world, {}, store)
      yield* client.ask()
      yield* TestClock.adjust("21 seconds")
      yield* client.ask()
      assert.strictEqual(world.grants("refresh_token").length, 1)
      const { text } = yield* store.read(JSON.stringify(["place", World.server]))
      assert.deepStrictEqual(JSON.parse(text ?? ""), {
        issuer: World.issuer,
        resource: World.server,
        metadataUrl: World.prmUrl
      })
    })
  )

  it.effect("A failed login does not bring back a rejected refresh token", () =>
    Effect.gen(function* () {
      const { client, world } = yield* refused(newClient)
      onRefresh(world, () => World.json({ error: "invalid_grant" }, 400))
      world.parts.redirect = (answer) => {
        answer.delete("code")
        answer.set("error", "access_denied")
      }
      assert.strictEqual((yield* World.failure(client.ask())).code, "access_denied")
      assert.isUndefined(yield* client.oauth.whoami(World.server))
      yield* World.failure(client.ask())
      assert.strictEqual(world.grants("refresh_token").length, 1)
    })
  )

  it.effect("A failing authorization server does not lose the refresh token", () =>
    Effect.gen(function* () {
      const { client, world } = yield* refused(newClient, "at-2")
      onRefresh(world, () => new Response("down", { status: 503 }))
      const error = yield* World.failure(client.ask())
      assert.strictEqual(error.status, 503)
      world.parts.intercept = () => undefined
      assert.strictEqual(yield* client.ask(), 200)
      assert.strictEqual(world.visits.length, 1)
    })
  )

  for (const [kind, body, status] of [
    ["a proxy's page", "<html>Bad Request</html>", 400],
    ["JSON without an error", "{}", 400],
    ["a proxy's 401", "Who are you?", 401]
  ] as const)
    it.effect(`A refresh answer from anyone else keeps the refresh token: ${kind}`, () =>
      Effect.gen(function* () {
        const { client, world } = yield* refused(newClient, "at-2")
        onRefresh(world, () => new Response(body, { status }))
        const error = yield* World.failure(client.ask())
        assert.deepStrictEqual([error.step, error.status], ["token", status])
        world.parts.intercept = () => undefined
        assert.strictEqual(yield* client.ask(), 200)
        assert.strictEqual(world.visits.length, 1)
        assert.deepStrictEqual(
          world.grants("refresh_token").map((form) => form.get("refresh_token")),
          ["rt-1", "rt-1"]
        )
      })
    )

  it.effect("A client forgotten by the authorization server registers again before prompting the user", () =>
    Effect.gen(function* () {
      const { client, world } = yield* refused(newClient, "at-2")
      world.parts.intercept = ({ form }) =>
        form.get("client_id") === "client-1" ? World.json({ error: "invalid_client" }, 401) : undefined
      assert.strictEqual(yield* client.ask(), 200)
      assert.deepStrictEqual(
        world.visits.map((url) => url.searchParams.get("client_id")),
        ["client-1", "client-2"]
      )
    })
  )

  it.effect("An expired token from another process is ignored", () =>
    Effect.gen(function* () {
      const world = World.make()
      const store = TokenStore.makeMemory()
      const [one, other] = [yield* newClient(world, {}, store), yield* newClient(world, {}, store)]
      yield* one.ask()
      yield* other.ask()
      yield* TestClock.adjust("2 hours")
      yield* one.ask()
      yield* TestClock.adjust("2 hours")
      yield* other.ask()
      assert.deepStrictEqual(
        world.at(World.server).map(({ headers }) => headers["authorization"]),
        [undefined, "Bearer at-1", "Bearer at-1", "Bearer at-2", "Bearer at-3"]
      )
    })
  )

  it.effect("A token is refreshed half a minute before it expires, and no sooner", () =>
    Effect.gen(function* () {
      const world = World.make()
      const client = yield* newClient(world)
      yield* client.ask()
      yield* TestClock.adjust("3569 seconds")
      yield* client.ask()
      assert.strictEqual(world.grants("refresh_token").length, 0)
      yield* TestClock.adjust("1 second")
      yield* client.ask()
      assert.strictEqual(world.grants("refresh_token").length, 1)
      assert.strictEqual(world.at(World.server).at(-1)?.headers["authorization"], "Bearer at-2")
      // An old token must not make the client look for another authorization server.
      assert.strictEqual(world.at(World.prmUrl).length, 1)
    })
  )

  it.effect("A still valid token is used if its early refresh fails", () =>
    Effect.gen(function* () {
      const world = World.make()
      const client = yield* newClient(world)
      yield* client.ask()
      yield* TestClock.adjust("3575 seconds")
      world.parts.intercept = ({ url }) =>
        url.pathname === "/token" ? new Response("down", { status: 500 }) : undefined
      assert.strictEqual(yield* client.ask(), 200)
      assert.strictEqual(world.at(World.server).at(-1)?.headers["authorization"], "Bearer at-1")
    })
  )

  it.effect("An old token is refreshed once for a hundred requests", () =>
    Effect.gen(function* () {
      const { client, world } = yield* refused(newClient, "at-2")
      const statuses = yield* Effect.all(
        Array.from({ length: 100 }, () => client.ask()),
        { concurrency: "unbounded" }
      )
      assert.isTrue(statuses.every((status) => status === 200))
      assert.strictEqual(world.grants("refresh_token").length, 1)
    })
  )

  // In real time, because a client that waits for another client's lock polls the store.
  it.live("Several clients sharing a store refresh a token once", () =>
    Effect.gen(function* () {
      const { valid, world } = strict()
      const store = TokenStore.makeMemory()
      const clients = yield* Effect.all(Array.from({ length: 8 }, () => newClient(world, {}, store)))
      yield* clients[0]!.ask()
      yield* Effect.forEach(clients, (client) => client.ask())
      valid.clear()
      valid.add("at-2")
      const statuses = yield* Effect.forEach(
        clients.flatMap((client) => Array.from({ length: 10 }, () => client)),
        (client) => client.ask(),
        { concurrency: "unbounded" }
      )
      assert.isTrue(statuses.every((status) => status === 200))
      assert.strictEqual(world.grants("refresh_token").length, 1)
    })
  )

  it.effect("Interrupting a caller does not end a login that others wait for", () =>
    Effect.gen(function* () {
      const world = World.make()
      const gate = yield* Deferred.make<void>()
      const reached = yield* Deferred.make<void>()
      let opened = 0
      const slow = {
        ...world,
        authorizer: {
          open: Effect.map(world.authorizer.open, (way) => ({
            ...way,
            authorize: (url: URL) => {
              opened++
              Deferred.doneUnsafe(reached, Effect.void)
              return Effect.andThen(Deferred.await(gate), way.authorize(url))
            }
          }))
        }
      }
      const client = yield* newClient(slow)
      const first = yield* Effect.forkChild(client.ask())
      const second = yield* Effect.forkChild(client.ask())
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(first)
      const third = yield* Effect.forkChild(client.ask())
      yield* Deferred.succeed(gate, undefined)
      assert.strictEqual(yield* Fiber.join(second), 200)
      assert.strictEqual(yield* Fiber.join(third), 200)
      assert.strictEqual(opened, 1)
    })
  )
})

describe.each(World.revisions)("Step-up at %s", (revision) => {
  const newClient = World.clientAt(revision)
  /** A server whose methods need scopes, which it derives from the token's number. */
  const scoped = (scopes: ReadonlyArray<string> | undefined) => {
    const granted = new Map<string, string>()
    const world = World.make({
      challenge: `Bearer scope="read", resource_metadata="${World.prmUrl}"`,
      token: (body, { form }) => {
        if (form.get("grant_type") === "authorization_code")
          granted.set(String(body["access_token"]), world.visits.at(-1)?.searchParams.get("scope") ?? "")
        return body
      },
      intercept: ({ url, method, headers }) => {
        const token = headers["authorization"]?.slice(7) ?? ""
        const has = granted.get(token)?.split(" ") ?? []
        const needed = method === "DELETE" ? ["write"] : method === "PUT" ? ["admin"] : []
        if (url.href !== World.server || needed.every((scope) => has.includes(scope)) || !granted.has(token))
          return undefined
        const scope = scopes === undefined ? "" : `, scope="${needed.join(" ")}"`
        return new Response("more", {
          status: 403,
          headers: {
            "www-authenticate": `Bearer error="insufficient_scope"${scope}, resource_metadata="${World.prmUrl}"`
          }
        })
      }
    })
    return world
  }
  const asked = (world: World.World) => world.visits.map((url) => url.searchParams.get("scope"))

  it.effect(
    "Scopes required by a server are added to those requested before",
    () =>
      Effect.gen(function* () {
        const world = scoped([])
        const client = yield* newClient(world)
        assert.strictEqual(yield* client.ask(), 200)
        assert.strictEqual(yield* client.ask(HttpClientRequest.delete(World.server)), 200)
        assert.strictEqual(yield* client.ask(HttpClientRequest.put(World.server)), 200)
        assert.deepStrictEqual(asked(world), ["read", "read write", "read write admin"])
      }),
    verifies(
      "authorization.client.step-up",
      "authorization.client.step-up-user",
      "authorization.client.scopes-added",
      "best-practices.scopes.union",
      "authorization.client.scopes-authoritative",
      "authorization.client.least-privilege"
    )
  )

  it.effect("Two concurrent step-ups cause two logins, the second with both scopes", () =>
    Effect.gen(function* () {
      const world = scoped([])
      const client = yield* newClient(world)
      yield* client.ask()
      const statuses = yield* Effect.all(
        [
          client.ask(HttpClientRequest.delete(World.server)),
          client.ask(HttpClientRequest.put(World.server)),
          client.ask(HttpClientRequest.delete(World.server))
        ],
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(statuses, [200, 200, 200])
      assert.deepStrictEqual(asked(world), ["read", "read write", "read write admin"])
      // Each request is sent twice, but not again with tokens that lack its scopes.
      assert.deepStrictEqual(
        ["DELETE", "PUT"].map((method) => world.at(World.server).filter((hit) => hit.method === method).length),
        [4, 2]
      )
    })
  )

  it.effect(
    "Scopes that were requested but not granted are not requested again",
    () =>
      Effect.gen(function* () {
        const challenge = `Bearer error="insufficient_scope", scope="admin", resource_metadata="${World.prmUrl}"`
        const world = World.make({ challenge: `Bearer resource_metadata="${World.prmUrl}"` })
        const client = yield* newClient(world)
        yield* client.ask()
        world.parts.intercept = ({ url }) =>
          url.href === World.server
            ? new Response("", { status: 403, headers: { "www-authenticate": challenge } })
            : undefined
        for (const logins of [2, 2, 2]) {
          const error = yield* World.failure(client.ask())
          assert.strictEqual(error.step, "access")
          assert.strictEqual(world.visits.length, logins)
        }
      }),
    verifies(
      "authorization.client.step-up-limited",
      "authorization.client.step-up-tracked",
      "best-practices.scopes.failures-remembered"
    )
  )

  it.effect("A server that keeps requiring new scopes is limited to the configured number of logins", () =>
    Effect.gen(function* () {
      let demands = 0
      const world = World.make()
      const client = yield* newClient(world, { stepUps: 2 })
      yield* client.ask()
      world.parts.intercept = ({ url }) =>
        url.href === World.server
          ? new Response("", {
              status: 403,
              headers: { "www-authenticate": `Bearer error="insufficient_scope", scope="s${++demands}"` }
            })
          : undefined
      yield* World.failure(client.ask())
      assert.strictEqual(world.visits.length, 3)
    })
  )

  it.effect("Step-up can be disabled", () =>
    Effect.gen(function* () {
      const world = scoped([])
      const client = yield* newClient(world, { stepUps: 0 })
      yield* client.ask()
      yield* World.failure(client.ask(HttpClientRequest.delete(World.server)))
      assert.strictEqual(world.visits.length, 1)
    })
  )

  it.effect("A step-up without scopes requests the resource's scopes, once", () =>
    Effect.gen(function* () {
      const world = scoped(undefined)
      world.parts.prm = { ...world.parts.prm, scopes_supported: ["read", "write"] }
      const client = yield* newClient(world)
      yield* client.ask()
      assert.strictEqual(yield* client.ask(HttpClientRequest.delete(World.server)), 200)
      yield* World.failure(client.ask(HttpClientRequest.put(World.server)))
      assert.deepStrictEqual(asked(world), ["read", "read write"])
    })
  )

  it.effect("A declined step-up keeps the existing login", () =>
    Effect.gen(function* () {
      const world = scoped([])
      const client = yield* newClient(world)
      yield* client.ask()
      world.parts.redirect = (answer) => {
        answer.delete("code")
        answer.set("error", "access_denied")
      }
      const error = yield* World.failure(client.ask(HttpClientRequest.delete(World.server)))
      assert.strictEqual(error.code, "access_denied")
      assert.strictEqual(yield* client.ask(), 200)
      assert.strictEqual(world.visits.length, 2)
    })
  )

  it.effect(
    "The first request asks for the challenge's scopes, or else the resource's",
    () =>
      Effect.gen(function* () {
        const flow = Effect.fnUntraced(function* (challenge: string, supported: ReadonlyArray<string> | undefined) {
          const world = World.make({ challenge: `Bearer ${challenge}` })
          world.parts.prm = { ...world.parts.prm, scopes_supported: supported }
          yield* (yield* newClient(world)).ask()
          return asked(world)[0]
        })
        assert.strictEqual(yield* flow('scope="a b"', ["c"]), "a b")
        assert.strictEqual(yield* flow("", ["c", "d"]), "c d")
        assert.strictEqual(yield* flow("", undefined), null)
      }),
    verifies(
      "authorization.client.scope-order",
      "authorization.client.scopes-fallback",
      "authorization.client.scopes-unrelated",
      "best-practices.scopes.baseline-first"
    )
  )
})

describe.each(World.revisions)("Migration to another authorization server at %s", (revision) => {
  const newClient = World.clientAt(revision)
  const other = "https://other.example.com"
  it.effect(
    "A client of a server that changes issuers registers and logs in again",
    () =>
      Effect.gen(function* () {
        const { client, valid, world } = yield* refused(newClient)
        valid.add("other-at")
        world.parts.prm = { ...world.parts.prm, authorization_servers: [other] }
        world.parts.intercept = ({ url }) => {
          if (url.origin !== other) return undefined
          if (url.pathname.endsWith("oauth-authorization-server"))
            return World.json({
              ...world.parts.as,
              issuer: other,
              authorization_endpoint: `${other}/authorize`,
              token_endpoint: `${other}/token`,
              registration_endpoint: `${other}/register`
            })
          if (url.pathname === "/register") return World.json({ client_id: "other-client" }, 201)
          return World.json({ access_token: "other-at", token_type: "Bearer" })
        }
        assert.strictEqual(yield* client.ask(), 200)
        const seen = world.hits.filter(({ url }) => url.origin === other).map((hit) => `${hit.url.href} ${hit.text}`)
        assert.strictEqual(seen.length, 3)
        assert.isTrue(seen.every((text) => !/client-1|rt-1|at-1/.test(text)))
        assert.strictEqual(world.visits[1]?.searchParams.get("client_id"), "other-client")
      }),
    verifies(
      "authorization.client.registers-again",
      "authorization.client.credentials-not-assumed",
      "authorization.client.state-per-issuer",
      "authorization.client.own-tokens-only"
    )
  )

  it.effect("A stuck grant fails after 15 minutes, and the next request retries it", () =>
    Effect.gen(function* () {
      const world = World.make()
      let hangs = true
      const grant = World.code()
      const client = yield* newClient(world, {
        grant: { ...grant, obtain: (request) => (hangs ? Effect.never : grant.obtain(request)) }
      })
      const waiting = yield* Effect.forkChild(World.failure(client.ask()), { startImmediately: true })
      yield* TestClock.adjust("15 minutes")
      assert.include((yield* Fiber.join(waiting)).message, "the grant did not return within 15 minutes")
      hangs = false
      assert.strictEqual(yield* client.ask(), 200)
    })
  )

  it.effect("Among several issuers, a client prefers the one it is registered with", () =>
    Effect.gen(function* () {
      const world = World.make({ prm: { resource: World.server, authorization_servers: [other, World.issuer] } })
      const preRegistered = [{ issuer: World.issuer, clientId: "mine" }]
      const client = yield* newClient(world, { grant: World.code({ preRegistered }) })
      assert.strictEqual(yield* client.ask(), 200)
      assert.strictEqual(world.visits[0]?.origin, World.issuer)
    })
  )
})
