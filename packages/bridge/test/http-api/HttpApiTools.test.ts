/** The endpoints of an HttpApi as tools, in every revision: in process, and over real HTTP. */
import { HttpApiTools } from "@effect-mcp/bridge"
import { Tool, type Tools } from "@effect-mcp/core"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpTest from "@effect-mcp/testing/McpTest"
import { NodeHttpServer } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger, Schema, Stream } from "effect"
import {
  HttpApi,
  HttpApiBuilder,
  HttpApiEndpoint,
  HttpApiGroup,
  HttpApiMiddleware,
  HttpApiSchema
} from "effect/http-api"
import { FetchHttpClient, HttpRouter, HttpServer, HttpServerRequest } from "effect/http"
import { createServer } from "node:http"

const User = Schema.Struct({ id: Schema.Finite, name: Schema.String })
class NoSuchUser extends Schema.TaggedError<NoSuchUser>()(
  "NoSuchUser",
  { id: Schema.Finite },
  { httpApiStatus: 404 }
) {}
class Denied extends Schema.TaggedError<Denied>()("Denied", {}, { httpApiStatus: 401 }) {}

class Key extends HttpApiMiddleware.Service<Key>()("test/Key", { error: Denied }) {}

const Api = HttpApi.make("users").add(
  HttpApiGroup.make("users")
    .add(
      HttpApiEndpoint.get("byId", "/users/:id", {
        params: { id: Schema.FiniteFromString },
        query: { fields: Schema.optionalKey(Schema.Array(Schema.String)), id: Schema.optionalKey(Schema.String) },
        success: User,
        error: NoSuchUser
      }),
      HttpApiEndpoint.get("list", "/users", { query: { limit: Schema.FiniteFromString }, success: Schema.Array(User) }),
      HttpApiEndpoint.get("page", "/page", { success: Schema.String.pipe(HttpApiSchema.asText()) }),
      HttpApiEndpoint.get("broken", "/broken", { success: User }),
      HttpApiEndpoint.post("create", "/users", {
        headers: { "x-source": Schema.String },
        payload: Schema.Struct({ name: Schema.String, tags: Schema.Array(Schema.String) }),
        success: User
      }),
      HttpApiEndpoint.delete("remove", "/users/:id", { params: { id: Schema.FiniteFromString } }),
      HttpApiEndpoint.get("watch", "/watch", { success: HttpApiSchema.StreamUint8Array() })
    )
    .middleware(Key)
)

const calls: Array<string> = []
const handlers = HttpApiBuilder.group(Api, "users", (group) =>
  group
    .handle("byId", ({ params, query }) =>
      params.id === 1
        ? Effect.succeed({ id: 1, name: `Ada ${query.fields?.join("+") ?? ""}${query.id ?? ""}` })
        : Effect.fail(new NoSuchUser({ id: params.id }))
    )
    .handle("list", ({ query }) => Effect.succeed(Array.from({ length: query.limit }, (_, id) => ({ id, name: "n" }))))
    .handle("page", () => Effect.succeed("a text"))
    .handle("broken", () => Effect.die(new Error("secret")))
    .handle("create", ({ headers, payload }) =>
      Effect.succeed({ id: payload.tags.length, name: `${payload.name} from ${headers["x-source"]}` })
    )
    .handle("remove", ({ params }) => Effect.sync(() => void calls.push(`remove ${params.id}`)))
    .handle("watch", () => Effect.succeed(Stream.empty))
)
const key = Layer.succeed(Key, (app) =>
  Effect.gen(function* () {
    const { headers } = yield* HttpServerRequest.HttpServerRequest
    return headers["x-key"] === "wrong" ? yield* new Denied({}) : yield* app
  })
)
const app = HttpApiBuilder.layer(Api).pipe(Layer.provide(handlers), Layer.provide(key))

const endpoints = {
  "users.byId": true,
  "users.list": { description: "Lists users" },
  "users.page": true,
  "users.broken": true,
  "users.create": { name: "create_user" },
  "users.remove": true
} as const

const served = (options: Parameters<typeof HttpApiTools.layer<"users", typeof Api.groups.users>>[1] = { endpoints }) =>
  HttpApiTools.layer(Api, options).pipe(
    Layer.provide(HttpApiTools.layerInProcess(Layer.provide(app, HttpServer.layerServices)))
  )

const textOf = ({ content }: { readonly content: ReadonlyArray<{ readonly type: string }> }) =>
  content.map((block) => ("text" in block ? block.text : block.type)).join()

describe("Endpoint headers that HTTP cannot send", () => {
  it.effect("An invalid argument header is neither shown nor logged", () =>
    Effect.gen(function* () {
      const logged: Array<string> = []
      const logger = Logger.map(Logger.formatLogFmt, (line) => void logged.push(line))
      yield* Effect.gen(function* () {
        const client = yield* McpTest.connect(served(), "2025-11-25")
        const args = { name: "Bo", tags: [], "x-source": "swordfish\r\nlevel=fatal" }
        const { content, isError } = yield* client.callToolByName("create_user", args)
        assert.isTrue(isError)
        assert.notInclude(textOf({ content }), "swordfish")
      }).pipe(Effect.provide(Logger.layer([logger])))
      assert.isNotEmpty(logged)
      assert.notInclude(logged.join("\n"), "swordfish")
    })
  )
})

describe.each(Revision.all)("HttpApi endpoints as tools, $version", (revision) => {
  const isStructured = revision.rules.structuredOutput

  it.effect("An endpoint's tool accepts path, query, payload and headers as one object, and returns the body", () =>
    Effect.gen(function* () {
      const client = yield* McpTest.connect(served(), revision)
      const user = yield* client.callToolByName("users_byId", { id: 1, fields: ["a", "b"], query_id: "!" })
      assert.deepStrictEqual(JSON.parse(textOf(user)), { id: 1, name: "Ada a+b!" })
      if (isStructured) assert.deepStrictEqual(user.structuredContent, { id: 1, name: "Ada a+b!" })
      const list = yield* client.callToolByName("users_list", { limit: 2 })
      assert.lengthOf(JSON.parse(textOf(list)), 2)
      assert.strictEqual(textOf(yield* client.callToolByName("users_page")), "a text")
      const created = yield* client.callToolByName("create_user", { name: "Bo", tags: ["x"], "x-source": "test" })
      assert.deepStrictEqual(JSON.parse(textOf(created)), { id: 1, name: "Bo from test" })
      yield* client.callToolByName("users_remove", { id: 7 })
      assert.strictEqual(calls.at(-1), "remove 7")
    })
  )

  it.effect("An endpoint's tool fails with its declared errors, typed for a client with the same schema", () =>
    Effect.gen(function* () {
      const client = yield* McpTest.connect(served(), revision)
      const ById = Tool.make("users_byId", {
        description: "",
        input: { id: Schema.Finite },
        output: User,
        failure: NoSuchUser
      })
      const error = yield* Effect.flip(client.callTool(ById, { id: 2 }))
      assert(error instanceof NoSuchUser)
      assert.strictEqual(error.id, 2)
      const broken = yield* client.callToolByName("users_broken")
      assert.isTrue(broken.isError)
      assert.strictEqual(textOf(broken), "GET /broken responded with status 500")
      assert.notInclude(JSON.stringify(broken), "secret")
      const wrong = yield* Effect.result(client.callToolByName("users_byId", { id: "one" }))
      assert.include(JSON.stringify(wrong), "Invalid arguments")
    })
  )
})

describe("HttpApi", () => {
  it.effect("An HttpApi offers read-only endpoints with method hints, unless endpoints are selected", () =>
    Effect.gen(function* () {
      const Reading = HttpApi.make("reading").add(
        HttpApiGroup.make("top", { topLevel: true }).add(
          HttpApiEndpoint.get("read", "/read", { success: User }),
          HttpApiEndpoint.post("write", "/write", { success: User })
        )
      )
      const toolsOf = (features: Layer.Layer<never, never, Tools.ToolRegistry>) =>
        Effect.flatMap(McpTest.connect(features, "2025-11-25"), ({ listTools }) => Stream.runCollect(listTools))
      const inside = Layer.provide(
        HttpApiTools.layer(Reading, { baseUrl: "http://127.0.0.1:1" }),
        FetchHttpClient.layer
      )
      const tools = yield* toolsOf(inside)
      assert.deepStrictEqual(
        tools.map(({ annotations, name }) => [name, annotations]),
        [["read", { readOnlyHint: true }]]
      )
      const chosen = yield* toolsOf(served({ endpoints: { "users.create": true, "users.remove": true } }))
      assert.deepStrictEqual(
        chosen.map(({ annotations, name }) => [name, annotations]),
        [
          ["users_create", { readOnlyHint: false, destructiveHint: true, idempotentHint: false }],
          ["users_remove", { readOnlyHint: false, destructiveHint: true, idempotentHint: true }]
        ]
      )
      assert.deepStrictEqual(chosen[0]?.inputSchema["required"], ["name", "tags", "x-source"])
    })
  )

  it.effect("An HttpApi with a streaming endpoint is rejected", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(McpTest.connect(served({ endpoints: { "users.watch": true } }), "2025-11-25"))
      assert.include(String(exit), "users.watch cannot be a tool: it responds with a stream")
    })
  )

  it.live("An HttpApi is called at a base URL with the client's credentials, and reports a rejection or outage", () =>
    Effect.gen(function* () {
      const context = yield* Layer.build(
        Layer.provideMerge(
          HttpRouter.serve(app, { disableLogger: true, disableListenLog: true }),
          NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })
        )
      )
      const { address } = Context.get(context, HttpServer.HttpServer)
      assert(address._tag !== "UnixPathAddress")
      const at = (baseUrl: string, sent: string) =>
        HttpApiTools.layer(Api, { baseUrl, endpoints }).pipe(
          Layer.provide(FetchHttpClient.layer),
          Layer.provide(Layer.succeed(FetchHttpClient.RequestInit, { headers: { "x-key": sent } }))
        )
      const client = yield* McpTest.connect(at(`http://127.0.0.1:${address.port}`, "right"), "2026-07-28")
      const { structuredContent } = yield* client.callToolByName("users_list", { limit: 1 })
      assert.deepStrictEqual(structuredContent, [{ id: 0, name: "n" }])
      const refused = yield* McpTest.connect(at(`http://127.0.0.1:${address.port}`, "wrong"), "2026-07-28")
      const result = yield* refused.callToolByName("users_list", { limit: 1 })
      assert.isTrue(result.isError)
      assert.include(JSON.stringify(result._meta), "Denied")
      const gone = yield* McpTest.connect(at("http://127.0.0.1:1", "right"), "2026-07-28")
      assert.strictEqual(
        textOf(yield* gone.callToolByName("users_list", { limit: 1 })),
        "GET /users could not be called"
      )
    })
  )
})
