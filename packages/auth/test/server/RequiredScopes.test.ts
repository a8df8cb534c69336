// @effect-diagnostics missingLayerContext:off -- the compiler says it first, as expected
import * as Auth from "@effect-mcp/auth/server/Auth"
import * as Prompt from "@effect-mcp/core/Prompt"
import * as Prompts from "@effect-mcp/core/Prompts"
import * as Resources from "@effect-mcp/core/Resources"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpServer from "@effect-mcp/server/McpServer"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Ref, Stream } from "effect"
import { modern, open, type Protected, type Revision, revisions } from "./support/protected.ts"

class Ran extends Context.Service<Ran, Ref.Ref<ReadonlyArray<string>>>()("test/Ran") {}
const ran = (name: string) =>
  Effect.flatMap(
    Ran,
    Ref.update((names) => [...names, name])
  )

const tool = (name: string) =>
  Tools.layer(Tool.make(name, { description: name }), () => Effect.as(ran(name), `did ${name}`))
const features = Layer.mergeAll(
  tool("look"),
  tool("write").pipe(Auth.requires("files:write")),
  Layer.mergeAll(tool("erase").pipe(Auth.requires("files:erase")), tool("move")).pipe(Auth.requires("files:write")),
  Resources.layer({ uri: "file:///secret", name: "secret" }, Effect.as(ran("secret"), "psst"), Stream.never).pipe(
    Auth.requires("files:read")
  ),
  Resources.layerTemplate(
    { uriTemplate: "user://{id}", name: "user", complete: { id: () => Effect.as(ran("complete"), ["1"]) } },
    ({ id }) => Effect.as(ran("user"), id)
  ).pipe(Auth.requires("users:read")),
  Prompts.layer(Prompt.make("brief"), () => Effect.as(ran("brief"), "Be brief")).pipe(Auth.requires("prompts"))
)

const serveAt = (revision: Revision) =>
  Effect.fnUntraced(function* (guard?: Partial<Auth.Options>) {
    const names = yield* Ref.make<ReadonlyArray<string>>([])
    const server = yield* open({
      revision,
      features: features.pipe(Layer.provide(Layer.succeed(Ran, names))),
      ...(guard === undefined ? {} : { guard })
    })
    return { ...server, ran: Ref.get(names) }
  })

const challengeOf = ({ origin }: Protected, scope: string): string =>
  `Bearer error="insufficient_scope", error_description="This request requires the scopes: ${scope}", scope="${scope}", ` +
  `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`

describe.each(revisions)("Required scopes at %s", (revision) => {
  const serve = serveAt(revision)

  it.effect(
    "A caller without a required scope gets 403 before the handler runs",
    () =>
      Effect.gen(function* () {
        const server = yield* serve()
        const { bearer, call } = server
        const refused = yield* call("write", yield* bearer({ scopes: ["files:read"] }))
        assert.strictEqual(refused.status, 403)
        assert.strictEqual(refused.headers.get("www-authenticate"), challengeOf(server, "files:write"))
        assert.deepStrictEqual(refused.json, {
          jsonrpc: "2.0",
          id: 1,
          error: {
            code: Auth.InsufficientScope,
            message: "The token is missing required scopes: files:write",
            data: { scope: "files:write" }
          }
        })
        assert.deepStrictEqual(yield* server.ran, [])
        assert.strictEqual((yield* call("write", yield* bearer({ scopes: ["files:write"] }))).status, 200)
        assert.strictEqual((yield* call("look", yield* bearer())).status, 200)
        assert.deepStrictEqual(yield* server.ran, ["write", "look"])
      }),
    verifies(
      "authorization.server.status-403",
      "authorization.server.insufficient-scope",
      "authorization.server.insufficient-scope-scopes",
      "best-practices.scopes.challenge-precise"
    )
  )

  it.effect(
    "A challenge names all scopes of an operation, however deeply they nest",
    () =>
      Effect.gen(function* () {
        const server = yield* serve({ scopes: ["use"] })
        const { bearer, call } = server
        for (const scopes of [["use"], ["use", "files:write"], ["use", "files:erase"]]) {
          const refused = yield* call("erase", yield* bearer({ scopes }))
          assert.strictEqual(refused.status, 403)
          assert.strictEqual(
            refused.headers.get("www-authenticate"),
            challengeOf(server, "use files:erase files:write")
          )
        }
        const all = yield* bearer({ scopes: ["use", "files:erase", "files:write"] })
        assert.strictEqual((yield* call("erase", all)).status, 200)
        const none = yield* call("look", yield* bearer({ scopes: ["files:write"] }))
        assert.strictEqual(none.status, 403)
        assert.include(none.headers.get("www-authenticate"), 'scope="use"')
        assert.deepStrictEqual(yield* server.ran, ["erase"])
      }),
    verifies(
      "authorization.server.challenge-at-once",
      "authorization.server.scopes-consistent",
      "authorization.server.scope-strategy-consistent"
    )
  )

  it.effect(
    "A broader scope includes a narrower one",
    () =>
      Effect.gen(function* () {
        const { bearer, call } = yield* serve({
          scopes: ["files:read"],
          satisfies: (granted, needed) => granted.some((scope) => scope === needed || scope === needed.split(":")[0])
        })
        const admin = yield* bearer({ scopes: ["files"] })
        assert.strictEqual((yield* call("erase", admin)).status, 200)
        assert.strictEqual((yield* call("look", yield* bearer({ scopes: ["filesystem"] }))).status, 403)
      }),
    verifies("authorization.server.scope-hierarchy")
  )

  it.effect("A scope also guards reads, completions and prompts, which stay listed", () =>
    Effect.gen(function* () {
      const { bearer, post, ran } = yield* serve()
      const poor = yield* bearer()
      const requests: ReadonlyArray<readonly [method: string, params: object, scope: string]> = [
        ["resources/read", { uri: "file:///secret" }, "files:read"],
        ["resources/read", { uri: "user://7" }, "users:read"],
        [
          "completion/complete",
          { ref: { type: "ref/resource", uri: "user://{id}" }, argument: { name: "id", value: "" } },
          "users:read"
        ],
        ["prompts/get", { name: "brief" }, "prompts"],
        revision === "2026-07-28"
          ? ["subscriptions/listen", { notifications: { resourceSubscriptions: ["file:///secret"] } }, "files:read"]
          : ["resources/subscribe", { uri: "file:///secret" }, "files:read"]
      ]
      for (const [method, params, scope] of requests) {
        const refused = yield* post(method, params, poor)
        assert.strictEqual(refused.status, 403, method)
        assert.include(refused.headers.get("www-authenticate"), `scope="${scope}"`)
      }
      assert.deepStrictEqual(yield* ran, [])
      for (const [method, params, scope] of requests.slice(0, -1)) {
        assert.strictEqual((yield* post(method, params, yield* bearer({ scopes: [scope] }))).status, 200, method)
      }
      assert.strictEqual((yield* post("resources/list", {}, poor)).json.result.resources.length, 1)
    })
  )

  it.effect("A handler that catches a missing scope returns its own answer", () =>
    Effect.gen(function* () {
      const soft = Tools.layer(Tool.make("soft", { description: "Does less for others." }), () =>
        Effect.matchEffect(Auth.demand("admin"), {
          onFailure: () => Effect.succeed("less"),
          onSuccess: () => Effect.succeed("all")
        })
      )
      const broken = Tools.layer(Tool.make("broken", { description: "Breaks." }), () =>
        Effect.catch(Effect.as(Auth.demand("admin"), "all"), () => Effect.die("broken"))
      )
      const { bearer, call } = yield* open({ revision, features: Layer.merge(soft, broken) })
      const poor = yield* bearer()
      const answered = yield* call("soft", poor)
      assert.strictEqual(answered.status, 200)
      assert.isNull(answered.headers.get("www-authenticate"))
      assert.strictEqual(answered.json.result.content[0].text, "less")
      assert.notStrictEqual((yield* call("broken", poor)).status, 403)
    })
  )
})

describe("RequiredScopes", () => {
  it.effect("A token with more scopes continues the same session", () =>
    Effect.gen(function* () {
      const { bearer, ran, send } = yield* serveAt("2026-07-28")()
      const poor = yield* bearer({ subject: "alice" })
      const initialize = {
        jsonrpc: "2.0",
        id: 0,
        method: "initialize",
        params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } }
      }
      const opened = yield* send(initialize, poor)
      const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" }
      yield* send({ jsonrpc: "2.0", method: "notifications/initialized" }, { ...poor, ...session })
      const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "write", arguments: {} } }
      const refused = yield* send(call, { ...poor, ...session })
      assert.strictEqual(refused.status, 403)
      assert.include(refused.headers.get("www-authenticate"), 'scope="files:write"')
      const rich = yield* bearer({ subject: "alice", scopes: ["files:write"] })
      assert.strictEqual((yield* send({ ...call, id: 2 }, { ...rich, ...session })).status, 200)
      assert.deepStrictEqual(yield* ran, ["write"])
      const subscribe = { jsonrpc: "2.0", id: 3, method: "resources/subscribe", params: { uri: "file:///secret" } }
      assert.strictEqual((yield* send(subscribe, { ...rich, ...session })).status, 403)
    })
  )

  it.effect("A partially rejected batch reports which parts were done", () =>
    Effect.gen(function* () {
      const { bearer, ran, send } = yield* serveAt("2026-07-28")()
      const poor = yield* bearer()
      const opened = yield* send(
        {
          jsonrpc: "2.0",
          id: 0,
          method: "initialize",
          params: { protocolVersion: "2025-03-26", capabilities: {}, clientInfo: { name: "test", version: "1" } }
        },
        poor
      )
      const headers = { ...poor, "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" }
      yield* send({ jsonrpc: "2.0", method: "notifications/initialized" }, headers)
      const call = (id: number, name: string) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name } })
      const mixed = yield* send([call(1, "look"), call(2, "write")], headers)
      assert.strictEqual(mixed.status, 200)
      assert.strictEqual(mixed.json.length, 2)
      assert.strictEqual((yield* send([call(3, "erase"), call(4, "write")], headers)).status, 403)
      assert.deepStrictEqual(yield* ran, ["look"])
    })
  )

  it.effect("A required scope on a layer built before the guard is a defect", () =>
    Effect.gen(function* () {
      const plain = tool("plain").pipe(Layer.provide(Layer.effect(Ran, Ref.make<ReadonlyArray<string>>([]))))
      const twice = Layer.provideMerge(plain.pipe(Auth.requires("x")), plain)
      const server = McpServer.layer({ name: "test", version: "1", features: twice })
      const exit = yield* Effect.exit(Layer.build(server.pipe(Layer.provide(Auth.layerLocal({ subject: "me" })))))
      assert.include(String(exit), "registers no features")
    })
  )

  it("A required scope without authentication is a compile error", () => {
    const guarded = tool("write").pipe(Layer.provide(Layer.effect(Ran, Ref.make<ReadonlyArray<string>>([]))))
    const complete = (layer: Layer.Layer<McpServer.McpServer>) => layer
    const who = Tools.layer(Tool.make("who", { description: "Who." }), () =>
      Effect.map(Auth.caller, (me) => me.subject)
    )
    const local = Auth.layerLocal({ subject: "me" })
    complete(McpServer.layer({ name: "a", version: "1", features: guarded }))
    // @ts-expect-error no layer provides the caller
    complete(McpServer.layer({ name: "a", version: "1", features: who }))
    // @ts-expect-error no layer checks the scopes
    complete(McpServer.layer({ name: "a", version: "1", features: guarded.pipe(Auth.requires("x")) }))
    complete(McpServer.layer({ name: "a", version: "1", features: who }).pipe(Layer.provide(local)))
    assert.strictEqual(modern("ping").method, "ping")
  })
})
