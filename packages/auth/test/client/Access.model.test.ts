/**
 * Random histories of the tokens of one server, against a model of its authorization servers: tokens expire and are revoked, refreshes
 * are answered by proxies, registrations are forgotten, the server moves to another issuer. Several fibers of several processes ask at
 * once for different scopes.
 *
 * What must hold in each: a refresh token is used once and shown to its issuer alone; one attempt runs at a time; no expired token is
 * sent; nothing is refused twice for want of scopes; the user is asked only where a refresh cannot help.
 */
import type { Grant } from "@effect-mcp/auth/client/Grant"
import * as OAuth from "@effect-mcp/auth/client/OAuth"
import { find, OAuthError } from "@effect-mcp/auth/OAuthError"
import * as TokenStore from "@effect-mcp/auth/client/TokenStore"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Duration, Effect, Layer, Redacted, Schema } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import { json } from "./support/world.ts"

const server = "https://mcp.example.com/mcp"
const issuers = ["https://one.example.com", "https://two.example.com"] as const
const lifetime = 3600
const processes = 3

/** Answers of the token endpoints to refreshes. */
const Mode = Schema.Literals(["honest", "proxy", "empty", "down", "invalid_grant"])

const Ask = Schema.Struct({
  process: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: processes - 1 })),
  scopes: Schema.Array(Schema.Literals(["a", "b", "c"])).check(Schema.isMaxLength(2))
})

/** Events between requests. */
const Trouble = Schema.Union([
  Schema.TaggedStruct("Pass", { seconds: Schema.Literals([60, 1800, 3580, 3600, 9000]) }),
  Schema.TaggedStruct("Revoke", {}),
  Schema.TaggedStruct("Answer", { mode: Mode }),
  Schema.TaggedStruct("ForgetClient", {}),
  Schema.TaggedStruct("Move", {})
])

/** Concurrent requests, after the events before them. */
const Round = Schema.Struct({
  before: Schema.Array(Trouble).check(Schema.isMaxLength(2)),
  asks: Schema.NonEmptyArray(Ask).check(Schema.isMaxLength(4))
})

interface Issued {
  readonly issuer: string
  readonly scopes: ReadonlyArray<string>
  readonly expires: number
  revoked: boolean
}
interface Refreshable {
  readonly issuer: string
  readonly clientId: string
  readonly scopes: ReadonlyArray<string>
  state: "good" | "used" | "dead"
}

/** Location of the server's metadata: the well-known URI, or a URL that only its challenges name. */
const Metadata = Schema.Literals(["well-known", "challenge"])
const challenged = "https://mcp.example.com/metadata.json"

/** The server, its issuers and its user. They fail an assertion if they see something wrong. */
class Model {
  now = 0
  issuer = 0
  mode: typeof Mode.Type = "honest"
  readonly access = new Map<string, Issued>()
  readonly refresh = new Map<string, Refreshable>()
  /** Clients registered at each issuer. */
  readonly known = new Set<string>()
  /** Clients that learned from a rejected refresh that they are not registered. */
  readonly told = new Set<string>()
  readonly faults: Array<string> = []
  /** Logins that failed because the registration was gone and the client did not know it. */
  declined = 0
  logins = 0
  /** Number of logins per issuer. */
  readonly loginsAt = new Map<string, number>()
  /** Number of refreshes per issuer. */
  readonly refreshes = new Map<string, number>()
  /** Issuers with a running token request. */
  readonly running = new Set<string>()
  readonly metadata: typeof Metadata.Type
  private count = 0

  constructor(metadata: typeof Metadata.Type) {
    this.metadata = metadata
  }

  /** Scopes of the current issuer's newest refresh token, if it is valid. Clients keep no older one. */
  get standing(): ReadonlyArray<string> | undefined {
    const newest = [...this.refresh.values()].findLast(({ issuer }) => issuer === issuers[this.issuer])
    return newest?.state === "good" && this.known.has(newest.clientId) ? newest.scopes : undefined
  }

  issue(issuer: string, clientId: string, scopes: ReadonlyArray<string>) {
    const number = ++this.count
    this.access.set(`at-${number}`, { issuer, scopes, expires: this.now + lifetime * 1000, revoked: false })
    this.refresh.set(`rt-${number}`, { issuer, clientId, scopes, state: "good" })
    return { access: `at-${number}`, refresh: `rt-${number}` }
  }

  register(issuer: string): string {
    const clientId = `${issuer}#${++this.count}`
    this.known.add(clientId)
    return clientId
  }

  token(issuer: string, form: URLSearchParams): Response {
    const text = form.get("refresh_token") ?? ""
    const clientId = form.get("client_id") ?? ""
    const found = this.refresh.get(text)
    this.refreshes.set(issuer, (this.refreshes.get(issuer) ?? 0) + 1)
    if (form.get("resource") !== server) this.faults.push(`a refresh for ${form.get("resource")}`)
    if (found?.issuer !== issuer || found.clientId !== clientId) this.faults.push(`${text} of ${clientId} at ${issuer}`)
    if (this.mode === "proxy") return new Response("<html>", { status: 400 })
    if (this.mode === "empty") return json({}, 401)
    if (this.mode === "down") return new Response("down", { status: 503 })
    if (!this.known.has(clientId)) {
      this.told.add(clientId)
      return json({ error: "invalid_client" }, 401)
    }
    if (found?.state === "used") this.faults.push(`${text} was used before`)
    if (found === undefined || found.state !== "good" || this.mode === "invalid_grant") {
      if (found !== undefined) found.state = "dead"
      return json({ error: "invalid_grant" }, 400)
    }
    found.state = "used"
    const issued = this.issue(issuer, clientId, found.scopes)
    return json({
      access_token: issued.access,
      refresh_token: issued.refresh,
      token_type: "Bearer",
      expires_in: lifetime
    })
  }

  challenge(parameters: ReadonlyArray<string>): HeadersInit {
    const named = this.metadata === "challenge" ? [...parameters, `resource_metadata="${challenged}"`] : parameters
    return { "www-authenticate": ["Bearer", named.join(", ")].join(" ").trim() }
  }

  serve(token: string | undefined, needed: ReadonlyArray<string>): Response {
    const found = token === undefined ? undefined : this.access.get(token)
    if (found !== undefined && found.expires <= this.now) this.faults.push(`${token} was sent after its end`)
    if (found === undefined || found.revoked || found.expires <= this.now || found.issuer !== issuers[this.issuer])
      return new Response("", { status: 401, headers: this.challenge([]) })
    if (needed.every((scope) => found.scopes.includes(scope))) return json({})
    const challenge = this.challenge([`error="insufficient_scope"`, `scope="${needed.join(" ")}"`])
    return new Response("", { status: 403, headers: challenge })
  }
}

/** A clock that only advances on command. Polling yields to the other fibers, and longer sleeps never end. */
const clockOf = (model: Model): Clock.Clock => {
  const nanos = () => BigInt(model.now) * 1_000_000n
  return {
    currentTimeMillisUnsafe: () => model.now,
    currentTimeMillis: Effect.sync(() => model.now),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: nanos,
    monotonicTimeNanos: Effect.sync(nanos),
    sleep: (duration) =>
      Duration.toMillis(duration) > 100 ? Effect.never : Effect.promise(() => new Promise((done) => setImmediate(done)))
  }
}

const scopesHeader = "x-scopes"

/** Checks that each issuer handles one refresh or login at a time. */
const alone = <A, E, R>(model: Model, issuer: string, effect: Effect.Effect<A, E, R>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      if (model.running.has(issuer)) model.faults.push(`two attempts at once at ${issuer}`)
      model.running.add(issuer)
    }),
    () => effect,
    () => Effect.sync(() => void model.running.delete(issuer))
  )

const network = (model: Model) =>
  HttpClient.make((request, url) =>
    Effect.gen(function* () {
      const web = yield* Effect.orDie(HttpClientRequest.toWeb(request))
      const text = yield* Effect.promise(() => web.text())
      const at = `${url.origin}${url.pathname}`
      const issuer = issuers.find((issuer) => url.origin === issuer)
      const answer = () => {
        if (at === server)
          return model.serve(
            request.headers["authorization"]?.slice("Bearer ".length),
            (request.headers[scopesHeader] ?? "").split(" ").filter((scope) => scope !== "")
          )
        const wellKnown = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
        if (at === (model.metadata === "challenge" ? challenged : wellKnown))
          return json({ resource: server, authorization_servers: [issuers[model.issuer]] })
        if (issuer !== undefined && url.pathname === "/.well-known/oauth-authorization-server")
          return json({ issuer, token_endpoint: `${issuer}/token` })
        return new Response("nothing here", { status: 404 })
      }
      const response =
        issuer !== undefined && url.pathname === "/token"
          ? yield* alone(
              model,
              issuer,
              // Yields before the answer, so that other requests could intervene.
              Effect.andThen(
                Effect.promise(() => new Promise((done) => setImmediate(done))),
                Effect.sync(() => model.token(issuer, new URLSearchParams(text)))
              )
            )
          : answer()
      return HttpClientResponse.fromWeb(request, response)
    })
  )

/** A login that the user grants immediately. The client registers first, and all clients share the registrations. */
const grantOf = (model: Model, registered: Map<string, string>): Grant => ({
  obtain: ({ metadata: { issuer }, scopes = [] }) =>
    alone(
      model,
      issuer,
      Effect.gen(function* () {
        yield* Effect.promise(() => new Promise((done) => setImmediate(done)))
        const clientId = registered.get(issuer) ?? model.register(issuer)
        registered.set(issuer, clientId)
        model.logins++
        model.loginsAt.set(issuer, (model.loginsAt.get(issuer) ?? 0) + 1)
        if (!model.known.has(clientId)) {
          if (model.told.has(clientId)) model.faults.push(`a login with the void registration ${clientId}`)
          model.declined++
          registered.delete(issuer)
          return yield* new OAuthError({ step: "authorization", problem: "unknown client" })
        }
        const { access, refresh } = model.issue(issuer, clientId, scopes)
        const expiresAt = model.now + lifetime * 1000
        return {
          accessToken: Redacted.make(access),
          refreshToken: Redacted.make(refresh),
          tokenType: "Bearer" as const,
          requested: scopes,
          clientId,
          expiresAt,
          renewAt: expiresAt - 30_000
        }
      })
    ),
  credentials: (_, { clientId = "" }) => Effect.succeed({ clientId, method: "none" as const }),
  forget: (issuer) => Effect.sync(() => void registered.delete(issuer)),
  prefers: () => false
})

const clientsOf = Effect.fnUntraced(function* (model: Model) {
  const store = TokenStore.makeMemory()
  const registered = new Map<string, string>()
  const http = network(model)
  return yield* Effect.forEach(Array.from({ length: processes }), () =>
    Effect.map(
      Layer.build(
        Layer.fresh(
          OAuth.layer({ grant: grantOf(model, registered), stepUps: 1 }).pipe(
            Layer.provide([Layer.succeed(TokenStore.TokenStore, store), Layer.succeed(HttpClient.HttpClient, http)])
          )
        )
      ),
      (context) => Context.get(context, HttpClient.HttpClient)
    )
  )
})

/** Maximum number of logins and refreshes for the requests, given the model's state before them. */
const check = (model: Model, asks: ReadonlyArray<typeof Ask.Type>, before: ReadonlyArray<string> | undefined) => {
  const refreshable = before !== undefined && model.mode === "honest"
  const more = asks.filter(({ scopes }) => !scopes.every((scope) => before?.includes(scope) === true)).length
  if (refreshable) assert.isAtMost(model.logins, more, "a login although a refresh was enough")
  // One login after the 401, one for each request that steps up, and one that fails because the registration is gone.
  const steps = asks.filter(({ scopes }) => scopes.length > 0).length
  assert.isAtMost(model.logins, 1 + model.declined + steps)
  assert.isAtMost(model.loginsAt.size, 1, "a login at an issuer that the server left")
  const broken = model.mode === "proxy" || model.mode === "empty" || model.mode === "down"
  if (broken && before !== undefined && more === 0) {
    assert.strictEqual(model.logins, 0, "a login after an answer that was none of the authorization server's")
    assert.deepStrictEqual(model.standing, before, "a refresh token was lost")
  }
  // The processes share all tokens.
  if (!broken) assert.isAtMost(Math.max(0, ...model.refreshes.values()), 1, "a second refresh for the same end")
  assert.deepStrictEqual(model.faults, [])
}

const happen = (model: Model, trouble: typeof Trouble.Type): void => {
  if (trouble._tag === "Pass") model.now += trouble.seconds * 1000
  if (trouble._tag === "Revoke") for (const token of model.access.values()) token.revoked = true
  if (trouble._tag === "Answer") model.mode = trouble.mode
  if (trouble._tag === "ForgetClient") model.known.clear()
  if (trouble._tag === "Move") model.issuer = 1 - model.issuer
}

const run = Effect.fnUntraced(function* (
  model: Model,
  clients: ReadonlyArray<HttpClient.HttpClient>,
  { asks, before }: typeof Round.Type
) {
  for (const trouble of before) happen(model, trouble)
  const standing = model.standing
  model.declined = 0
  model.logins = 0
  model.loginsAt.clear()
  model.refreshes.clear()
  const statuses = yield* Effect.forEach(
    asks,
    ({ process, scopes }) => {
      const request = HttpClientRequest.post(server, { headers: { [scopesHeader]: scopes.join(" ") } })
      return Effect.match(clients[process]!.execute(request), {
        onSuccess: ({ status }) => status,
        onFailure: (error) => find(error)?.message ?? String(error)
      })
    },
    { concurrency: "unbounded" }
  )
  const failing = model.declined > 0 || (model.mode !== "honest" && model.mode !== "invalid_grant")
  if (!failing)
    assert.isTrue(
      statuses.every((status) => status === 200),
      statuses.join(", ")
    )
  check(model, asks, standing)
})

describe("Access model", () => {
  it.effect.prop(
    "A server's tokens survive any history of expiry, revocation, failures and moves",
    [Schema.Array(Round).check(Schema.isMaxLength(8)), Metadata],
    ([history, metadata]) => {
      const model = new Model(metadata)
      return Effect.gen(function* () {
        const clients = yield* clientsOf(model)
        for (const round of history) yield* run(model, clients, round)
      }).pipe(Effect.scoped, Effect.provideService(Clock.Clock, clockOf(model)))
    },
    { arbitrary: { runs: 200, size: 20, seed: 20261122 } }
  )
})
