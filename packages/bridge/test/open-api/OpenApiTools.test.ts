/** The operations of an OpenAPI document as tools, in every revision, over real HTTP on loopback. */
import { OpenApiTools } from "@effect-mcp/bridge"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpTest from "@effect-mcp/testing/McpTest"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, type Scope, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { createServer, type IncomingMessage } from "node:http"

interface Seen {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingMessage["headers"]
  readonly body: string
}

/** An API that echoes the request, or answers as its path says. */
const api: Effect.Effect<{ readonly base: string; readonly seen: Array<Seen> }, never, Scope.Scope> = Effect.gen(
  function* () {
    const seen: Array<Seen> = []
    const server = createServer((request, response) => {
      let body = ""
      request.setEncoding("utf8")
      request.on("data", (chunk: string) => (body += chunk))
      request.on("end", () => {
        const { headers, method, url } = request
        seen.push({ method, url, headers, body })
        const path = new URL(url ?? "", "http://a").pathname
        if (path.endsWith("/away")) return response.writeHead(302, { location: "http://127.0.0.1:1/other" }).end()
        if (path.endsWith("/fails")) {
          return response.writeHead(404, { "content-type": "application/json" }).end(`{"error":"no such thing"}`)
        }
        if (path.endsWith("/large"))
          return response.writeHead(200, { "content-type": "text/plain" }).end("x".repeat(5000))
        if (path.endsWith("/text")) return response.writeHead(200, { "content-type": "text/plain" }).end("a text")
        if (path.endsWith("/dot"))
          return response.writeHead(200, { "content-type": "image/png" }).end(Buffer.from([1, 2, 3]))
        return response
          .writeHead(200, { "content-type": "application/json" })
          .end(JSON.stringify({ method, url, body }))
      })
    })
    yield* Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void)))
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
    )
    const address = server.address()
    return { base: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/v1`, seen }
  }
)

const document = {
  openapi: "3.1.0",
  servers: [{ url: "http://127.0.0.1:1" }],
  components: {
    parameters: { limit: { name: "limit", in: "query", schema: { type: "integer", maximum: 10 } } },
    schemas: {
      Pet: {
        type: "object",
        properties: { name: { type: "string" }, parent: { $ref: "#/components/schemas/Pet" } },
        required: ["name"],
        xml: { name: "pet" }
      }
    }
  },
  paths: {
    "/pets/{id}": {
      parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
      get: {
        operationId: "getPet",
        summary: "One pet",
        parameters: [
          { $ref: "#/components/parameters/limit" },
          { name: "tags", in: "query", schema: { type: "array", items: { type: "string" } } },
          { name: "filter", in: "query", style: "deepObject", schema: { type: "object" } },
          { name: "X-Trace", in: "header", schema: { type: "string" } },
          { name: "Authorization", in: "header", required: true, schema: { type: "string" } }
        ]
      },
      put: {
        operationId: "putPet",
        requestBody: {
          required: true,
          content: { "application/json": { schema: { $ref: "#/components/schemas/Pet" } } }
        }
      },
      delete: { operationId: "deletePet" }
    },
    "/form": {
      post: {
        operationId: "sendForm",
        requestBody: {
          content: {
            "application/x-www-form-urlencoded": {
              schema: { type: "object", properties: { a: { type: "string" }, b: { type: "integer" } } }
            }
          }
        }
      }
    },
    "/fails": { get: { operationId: "fails" } },
    "/away": { get: { operationId: "away" } },
    "/large": { get: { operationId: "large" } },
    "/text": { get: { operationId: "text" } },
    "/dot": { get: { operationId: "dot" } },
    "/old": { get: { operationId: "old", deprecated: true } },
    "/cookie": { get: { operationId: "cookie", parameters: [{ name: "c", in: "cookie", required: true }] } }
  }
}

const all: OpenApiTools.Options["operations"] = ({ id }) => id !== "cookie"
const served = (given: unknown, options: OpenApiTools.Options) =>
  Layer.provide(OpenApiTools.layer(given, options), FetchHttpClient.layer)
const textOf = ({ content }: { readonly content: ReadonlyArray<{ readonly type: string }> }) =>
  content.map((block) => ("text" in block ? block.text : block.type)).join()

describe("Headers that HTTP cannot send", () => {
  const secret = "swordfish\r\nlevel=fatal"

  it.live.each([
    ["an argument", { "X-Trace": secret }, {}],
    ["an option", {}, { "x-key": secret }]
  ] as const)("An invalid %s header is neither shown nor logged", ([, args, headers]) =>
    Effect.gen(function* () {
      const { base, seen } = yield* api
      const logged: Array<string> = []
      const logger = Logger.map(Logger.formatLogFmt, (line) => void logged.push(line))
      const features = served(document, { baseUrl: base, operations: all, headers })
      yield* Effect.gen(function* () {
        const client = yield* McpTest.connect(features, "2025-11-25")
        const { content, isError } = yield* client.callToolByName("getPet", { id: "1", ...args })
        assert.isTrue(isError)
        assert.notInclude(textOf({ content }), "swordfish")
      }).pipe(Effect.provide(Logger.layer([logger])))
      assert.lengthOf(seen, 0)
      assert.notInclude(logged.join("\n"), "swordfish")
    })
  )
})

describe.each(Revision.all)("OpenAPI operations as tools, $version", (revision) => {
  it.live("An operation's tool writes its arguments into path, query, headers and body", () =>
    Effect.gen(function* () {
      const { base, seen } = yield* api
      const features = served(document, { baseUrl: base, operations: all, headers: { "x-key": "mine" } })
      const client = yield* McpTest.connect(features, revision)
      const args = { id: "a/b c", limit: 3, tags: ["x", "y"], filter: { n: 1 }, "X-Trace": "t" }
      const result = yield* client.callToolByName("getPet", args)
      assert.strictEqual(seen[0]?.url, "/v1/pets/a%2Fb%20c?limit=3&tags=x&tags=y&filter%5Bn%5D=1")
      assert.deepInclude(seen[0]?.headers, { "x-trace": "t", "x-key": "mine" })
      if (revision.rules.structuredOutput) assert.deepInclude(result.structuredContent, { method: "GET" })
      yield* client.callToolByName("putPet", { id: "1", name: "Rex", parent: { name: "Max" } })
      assert.strictEqual(seen[1]?.body, `{"name":"Rex","parent":{"name":"Max"}}`)
      yield* client.callToolByName("sendForm", { a: "x y", b: 2 })
      assert.strictEqual(seen[2]?.body, "a=x+y&b=2")
      assert.strictEqual(textOf(yield* client.callToolByName("text")), "a text")
      const { content } = yield* client.callToolByName("dot")
      assert.deepStrictEqual(content, [{ type: "image", mimeType: "image/png", data: "AQID" }])
    })
  )

  it.live("An operation's tool rejects arguments that the document forbids or that escape the path", () =>
    Effect.gen(function* () {
      const { base, seen } = yield* api
      const client = yield* McpTest.connect(served(document, { baseUrl: base, operations: all }), revision)
      const wrong = yield* Effect.result(client.callToolByName("getPet", { id: "1", limit: 11 }))
      assert.include(JSON.stringify(wrong), "Invalid arguments")
      const nested = yield* Effect.result(client.callToolByName("putPet", { id: "1", name: "a", parent: { name: 7 } }))
      assert.include(JSON.stringify(nested), "Invalid arguments")
      const out = yield* client.callToolByName("getPet", { id: ".." })
      assert.isTrue(out.isError)
      assert.lengthOf(seen, 0)
    })
  )

  it.live("An operation's tool fails with the API's answer and follows no redirect", () =>
    Effect.gen(function* () {
      const { base } = yield* api
      const options = { baseUrl: base, operations: all, maxBytes: 1000 }
      const client = yield* McpTest.connect(served(document, options), revision)
      const failure = (name: string) =>
        Effect.map(client.callToolByName(name), (result) => {
          assert.isTrue(result.isError)
          return textOf(result)
        })
      assert.strictEqual(yield* failure("fails"), `GET /fails responded with status 404: {"error":"no such thing"}`)
      assert.strictEqual(yield* failure("away"), "GET /away responded with status 302")
      assert.strictEqual(yield* failure("large"), "The response is larger than 1000 bytes")
      const gone = yield* McpTest.connect(served(document, { baseUrl: "http://127.0.0.1:1" }), revision)
      assert.strictEqual(textOf(yield* gone.callToolByName("text")), "GET /text could not be called")
    })
  )
})

describe("OpenAPI documents", () => {
  const toolsOf = (given: unknown, options: Partial<OpenApiTools.Options> = {}) =>
    Effect.flatMap(
      McpTest.connect(served(given, { baseUrl: "http://127.0.0.1:1/v1", ...options }), "2025-11-25"),
      ({ listTools }) => Stream.runCollect(listTools)
    )
  const refusal = (given: unknown, options: Partial<OpenApiTools.Options> = {}) =>
    Effect.map(Effect.flip(toolsOf(given, options)), (error) => {
      assert.strictEqual(error._tag, "InvalidDocument")
      return error.message
    })
  const withGet = (path: string, get: unknown) => ({ openapi: "3.1.0", paths: { [path]: { get } } })
  const withSchema = (schema: unknown, components = {}) => ({
    ...withGet("/a", { parameters: [{ name: "q", in: "query", schema }] }),
    components
  })

  it.effect("An OpenAPI document offers read-only operations by default, with their schemas", () =>
    Effect.gen(function* () {
      const tools = yield* toolsOf(document)
      assert.deepStrictEqual(
        tools.map(({ name }) => name),
        ["getPet", "fails", "away", "large", "text", "dot"]
      )
      assert.deepInclude(tools[0], { description: "One pet" })
      assert.deepStrictEqual(tools[0]?.annotations, { readOnlyHint: true, openWorldHint: true })
      assert.deepStrictEqual(Object.keys(tools[0]?.inputSchema["properties"] ?? {}), [
        "id",
        "limit",
        "tags",
        "filter",
        "X-Trace"
      ])
      const [put] = yield* toolsOf(document, { operations: ({ id }) => id === "putPet" && { name: "replace_pet" } })
      assert.deepInclude(put, { name: "replace_pet", description: "PUT /pets/{id}" })
      assert.deepStrictEqual(put?.inputSchema["required"], ["id", "name"])
      assert.deepStrictEqual(put?.annotations, {
        readOnlyHint: false,
        destructiveHint: true,
        idempotentHint: true,
        openWorldHint: true
      })
    })
  )

  it.effect("An OpenAPI document with a version other than 3.1 is rejected", () =>
    Effect.gen(function* () {
      assert.include(yield* refusal("openapi: 3.1.0"), "it has no `openapi`")
      assert.include(yield* refusal({ swagger: "2.0" }), "it has no `openapi`")
      assert.include(yield* refusal({ openapi: "3.0.3", paths: {} }), "its version is 3.0.3")
    })
  )

  it.effect("An OpenAPI document with external, dangling or circular references is rejected", () =>
    Effect.gen(function* () {
      const path = { openapi: "3.1.0", paths: { "/a": { $ref: "http://127.0.0.1:1/evil.json" } } }
      assert.include(yield* refusal(path), "points outside the document")
      const operations = () => true
      assert.include(yield* refusal(withSchema({ $ref: "file:///etc/passwd" }), { operations }), "only references to")
      assert.include(
        yield* refusal(withSchema({ $ref: "#/components/schemas/No" }), { operations }),
        "points to nothing"
      )
      assert.include(yield* refusal(withSchema({ $id: "http://127.0.0.1:1/" }), { operations }), "$id")
      const circle = { openapi: "3.1.0", paths: { "/a": { $ref: "#/paths/~1a" } } }
      assert.include(yield* refusal(circle), "is circular")
    })
  )

  it.effect("An OpenAPI document that is too large, too deep or has too many operations is rejected", () =>
    Effect.gen(function* () {
      const deep = Array.from({ length: 200 }).reduce<unknown>((inner) => ({ inner }), {})
      assert.include(yield* refusal(withSchema(deep)), "deeper than 100 levels")
      assert.include(yield* refusal(withSchema(Array.from({ length: 300_000 }, () => 1))), "more than 200000 values")
      const paths = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`/${at}`, { get: {} }]))
      assert.include(yield* refusal({ openapi: "3.1.0", paths }), "More than 200 operations")
      const refused = { parameters: [{ in: "body", name: "x" }] }
      const left = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`/${at}`, { get: refused }]))
      assert.include(yield* refusal({ openapi: "3.1.0", paths: left }), "More than 200 operations")
      const wide = { type: "string", enum: Array.from({ length: 1000 }, (_, at) => `${at}`) }
      assert.include(yield* refusal(withSchema(wide), { limits: { schemas: 1000 } }), "longer than 1000 characters")
    })
  )

  it.effect("The second of two operations with the same name is omitted", () =>
    Effect.gen(function* () {
      const get = (operationId: string) => ({ get: { operationId } })
      const alike = { openapi: "3.1.0", paths: { "/a": get("list pets"), "/b": get("list/pets") } }
      assert.deepStrictEqual(
        (yield* toolsOf(alike)).map(({ description, name }) => [name, description]),
        [["list_pets", "GET /a"]]
      )
      assert.include(
        yield* refusal(alike, { operations: () => true }),
        "another operation already has the tool name list_pets"
      )
    })
  )

  it.effect("An OpenAPI document with an uncallable operation is rejected if selected, and omits it by default", () =>
    Effect.gen(function* () {
      const operations = () => true
      for (const path of ["/../admin", "//evil.example/x", "/a?b=c", "no-slash", "/\\evil"]) {
        assert.include(yield* refusal(withGet(path, {}), { operations }), "is not below", path)
        const withText = { ...document, paths: { ...withGet(path, {}).paths, "/text": document.paths["/text"] } }
        assert.deepStrictEqual(
          (yield* toolsOf(withText)).map(({ name }) => name),
          ["text"]
        )
      }
      const message = yield* refusal(document, { operations: ({ id }) => id === "cookie" })
      assert.include(message, "cookie cannot be a tool: its parameter c is in cookie, which is not supported")
    })
  )

  it.effect.each([
    ["throws", () => assert.fail("thrown")],
    ["returns a rejected promise", () => Promise.reject(new Error("rejected"))],
    ["returns a promise", () => Promise.resolve(false)],
    ["returns undefined", () => undefined],
    ["returns a string", () => "yes"]
  ] as ReadonlyArray<readonly [string, () => any]>)("An `operations` function that %s is rejected", ([, operations]) =>
    Effect.gen(function* () {
      const message = yield* refusal(document, { operations })
      assert.match(message, /^thrown$|^operations returned .*, but a boolean was expected$/)
    })
  )

  it.effect("An OpenAPI document's properties are distinguished from inherited ones", () =>
    Effect.gen(function* () {
      const schema = JSON.parse(
        `{"type":"object","properties":{"__proto__":{"type":"integer"},"constructor":{"type":"string"}}}`
      )
      const requestBody = { required: true, content: { "application/json": { schema } } }
      const given = { openapi: "3.1.0", paths: { "/a": { post: { operationId: "a", requestBody } } } }
      const [tool] = yield* toolsOf(given, { operations: () => true })
      assert.deepStrictEqual(Object.keys(tool?.inputSchema["properties"] ?? {}), ["__proto__", "constructor"])
    })
  )
})
