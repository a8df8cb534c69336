/**
 * The two rejections of a caller (401 and 403) as typed errors, for each kind of request in each Streamable HTTP revision.
 */
import * as ClientError from "@effect-mcp/client/ClientError"
import * as Http from "@effect-mcp/client/Http"
import * as McpClient from "@effect-mcp/client/McpClient"
import * as Sse from "@effect-mcp/client/Sse"
import * as Revision from "@effect-mcp/protocol/Revision"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { HttpClient, HttpClientError, HttpClientResponse } from "effect/http"
import * as Fake from "../../support/fake.ts"

const url = "https://mcp.example.com/mcp?key=secret"
const versions = Revision.all.map(({ version }) => version).filter((version) => version !== "2024-11-05")

const metadata = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
const challenge = (fields: string) => ({ "www-authenticate": `Bearer ${fields}, resource_metadata="${metadata}"` })
const unauthorized = () => Fake.json({ error: "no token" }, 401, challenge('scope="read write"'))
const forbidden = () =>
  Fake.json({ jsonrpc: "2.0", error: { code: -32001, message: "Not for you" } }, 403, {
    ...challenge('error="insufficient_scope", scope="admin"')
  })

const fine = {
  resultType: "complete",
  content: [{ type: "text", text: "fine" }],
  messages: [],
  tools: [],
  ttlMs: 0,
  cacheScope: "private"
}

const open = (version: Revision.Version, http: HttpClient.HttpClient, options: McpClient.Options = {}) =>
  McpClient.open(Http.open({ url }), { revisions: [version], ...options }).pipe(
    Effect.provideService(HttpClient.HttpClient, http),
    Effect.provideService(Http.ServerEraCache, new Map())
  )

const kinds: ReadonlyArray<
  readonly [method: string, run: (client: McpClient.McpClient["Service"]) => Effect.Effect<unknown, unknown>]
> = [
  ["tools/call", (client) => client.callToolByName("a", {})],
  ["tools/list", (client) => Stream.runDrain(client.listTools)],
  ["prompts/get", (client) => client.getPromptByName("a")],
  ["prompts/list", (client) => Stream.runDrain(client.listPrompts)],
  ["resources/read", (client) => client.readResource("file:///a")],
  ["resources/list", (client) => Stream.runDrain(client.listResources)],
  ["resources/templates/list", (client) => Stream.runDrain(client.listResourceTemplates)],
  [
    "completion/complete",
    (client) => client.complete({ ref: { type: "ref/prompt", name: "a" }, argument: { name: "b", value: "" } })
  ]
]

describe.each(versions)("Rejected %s clients", (version) => {
  const refusing = (refusal: () => Response, ...methods: ReadonlyArray<string>) =>
    Fake.server(version, ({ message }) => (methods.includes(message.method) ? refusal() : Fake.result(message, fine)))

  for (const [method, run] of kinds) {
    it.effect(`A 401 to ${method} fails with Unauthorized`, () =>
      Effect.gen(function* () {
        const client = yield* open(version, refusing(unauthorized, method))
        const error = yield* Effect.flip(run(client))
        assert.instanceOf(error, ClientError.Unauthorized)
        const { code, resourceMetadata, scopes } = error
        assert.deepStrictEqual([error.method, error.url], [method, "https://mcp.example.com/mcp"])
        assert.deepStrictEqual([code, resourceMetadata, scopes], [undefined, metadata, ["read", "write"]])
      })
    )

    it.effect(`A 403 to ${method} fails with Forbidden`, () =>
      Effect.gen(function* () {
        const client = yield* open(version, refusing(forbidden, method))
        const error = yield* Effect.flip(run(client))
        assert.instanceOf(error, ClientError.Forbidden)
        const { code, resourceMetadata, scopes } = error
        assert.deepStrictEqual([code, resourceMetadata, scopes], ["insufficient_scope", metadata, ["admin"]])
        assert.strictEqual(
          error.message,
          `https://mcp.example.com/mcp does not allow ${method} (status 403: insufficient_scope, Not for you). ` +
            `It requires the scopes admin. Its authorization metadata is at ${metadata}. ` +
            "Log in again and request these scopes."
        )
        assert.strictEqual(error.message, `${error.refusal} Log in again and request these scopes.`)
      })
    )
  }

  for (const reconnect of [{}, false] as const) {
    it.effect(`Calls continue after a rejection, ${reconnect === false ? "without" : "with"} reconnection`, () =>
      Effect.gen(function* () {
        let refusals = 0
        const http = Fake.server(version, ({ message }) => {
          if (message.params.name !== "secret") return Fake.result(message, fine)
          refusals++
          return forbidden()
        })
        const client = yield* open(version, http, { reconnect, validateOutput: false })
        const call = (name: string) => client.request("prompts/get", { name }, {})
        const tool = (name: string) => client.request("tools/call", { name, arguments: {} }, {})
        assert.instanceOf(yield* Effect.flip(call("secret")), ClientError.Forbidden)
        const [failed, answered] = yield* Effect.all([Effect.flip(tool("secret")), tool("open")], {
          concurrency: "unbounded"
        })
        assert.instanceOf(failed, ClientError.Forbidden)
        assert.deepStrictEqual(answered.content, [{ type: "text", text: "fine" }])
        // A rejection is not retried.
        assert.strictEqual(refusals, 2)
      })
    )
  }

  it.effect("A 401 to the first request fails with Unauthorized", () =>
    Effect.gen(function* () {
      const http = Fake.client(unauthorized)
      const error = yield* Effect.flip(Effect.scoped(open(version, http)))
      assert.instanceOf(error, ClientError.Unauthorized)
      assert.match(error.message, /requires authorization for (initialize|server\/discover) \(status 401: no token\)/)
      assert.match(error.message, /OAuth\.layer/)
      assert.notInclude(error.message, "secret")
    })
  )

  it.effect("A login failure reports the HTTP client's reason", () =>
    Effect.gen(function* () {
      const http = HttpClient.make((request) => {
        const response = HttpClientResponse.fromWeb(request, unauthorized())
        const cause = new Error("The user declined the login")
        return Effect.fail(
          new HttpClientError.HttpClientError({
            reason: new HttpClientError.StatusCodeError({ request, response, cause })
          })
        )
      })
      const error = yield* Effect.flip(Effect.scoped(open(version, http)))
      assert.instanceOf(error, ClientError.Unauthorized)
      assert.strictEqual(error.message, "The user declined the login")
      assert.instanceOf(error.cause, HttpClientError.HttpClientError)
    })
  )

  it.effect("A rejection is truncated and stripped of terminal control characters", () =>
    Effect.gen(function* () {
      const evil = () => new Response(`\u001b]0;title\u0007\u202e${"x".repeat(10_000)}`, { status: 403 })
      const client = yield* open(version, refusing(evil, "prompts/get"))
      const error = yield* Effect.flip(client.getPromptByName("a"))
      assert.instanceOf(error, ClientError.Forbidden)
      assert.include(error.message, String.raw`\u001b]0;title\u0007\u202exxx`)
      assert.isBelow(error.message.length, 700)
    })
  )
})

describe("Sessions that lose their connection", () => {
  it.effect("A waiting request fails with Unauthorized if the next session is rejected with 401", () =>
    Effect.gen(function* () {
      let expired = false
      const http = Fake.server("2025-11-25", () => (expired ? unauthorized() : new Response(null, { status: 404 })))
      const guarded = Fake.client((posted) =>
        Effect.flatMap(http.execute(posted.request), (response) => {
          if (expired) return Effect.succeed(unauthorized())
          const id = response.status === 404 ? undefined : { "mcp-session-id": "1" }
          expired = response.status === 404
          return Effect.map(
            response.text,
            (text) =>
              new Response(response.status === 202 || text === "" ? null : text, {
                status: response.status,
                headers: { "content-type": "application/json", ...id }
              })
          )
        }).pipe(Effect.orDie)
      )
      const client = yield* open("2025-11-25", guarded)
      const error = yield* Effect.flip(client.getPromptByName("a"))
      assert.instanceOf(error, ClientError.Unauthorized)
    })
  )
})

describe("HTTP with SSE clients", () => {
  it.effect("A 401 to an HTTP with SSE GET fails with Unauthorized", () =>
    Effect.gen(function* () {
      const connector = Effect.provideService(Sse.open({ url }), HttpClient.HttpClient, Fake.client(unauthorized))
      const error = yield* Effect.flip(Effect.scoped(McpClient.open(connector, { revisions: ["2024-11-05"] })))
      assert.instanceOf(error, ClientError.Unauthorized)
      assert.strictEqual(error.method, "GET")
    })
  )

  it.effect("A 403 over HTTP with SSE fails only its own request with Forbidden", () =>
    Effect.gen(function* () {
      const encoder = new TextEncoder()
      let say: (message: object) => void = () => {}
      const http = Fake.client(({ message, request }) => {
        if (request.method === "GET") {
          const stream = new ReadableStream<Uint8Array>({
            start: (controller) => {
              say = (message) => controller.enqueue(encoder.encode(`data: ${JSON.stringify(message)}\n\n`))
              controller.enqueue(encoder.encode("event: endpoint\ndata: /messages\n\n"))
            }
          })
          return new Response(stream, { headers: { "content-type": "text/event-stream" } })
        }
        if (message.params?.name === "secret") return forbidden()
        const result =
          message.method === "initialize"
            ? { protocolVersion: "2024-11-05", capabilities: { prompts: {} }, serverInfo: { name: "a", version: "1" } }
            : { messages: [] }
        if (message.id !== undefined) say({ jsonrpc: "2.0", id: message.id, result })
        return new Response(null, { status: 202 })
      })
      const connector = Effect.provideService(Sse.open({ url }), HttpClient.HttpClient, http)
      const client = yield* McpClient.open(connector, { revisions: ["2024-11-05"] })
      const error = yield* Effect.flip(client.getPromptByName("secret"))
      assert.instanceOf(error, ClientError.Forbidden)
      assert.deepStrictEqual([error.method, error.scopes], ["prompts/get", ["admin"]])
      assert.deepStrictEqual(yield* client.getPromptByName("open"), { messages: [] })
    })
  )
})
