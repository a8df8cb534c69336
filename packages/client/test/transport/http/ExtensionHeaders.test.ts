/** Headers that mirror requests of an extension (2026-07-28), which sessions do not have. */
import * as ClientExtension from "@effect-mcp/client/ClientExtension"
import * as Http from "@effect-mcp/client/Http"
import * as McpClient from "@effect-mcp/client/McpClient"
import type { Version } from "@effect-mcp/protocol/Revision"
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpClient } from "effect/http"
import { json, result, client as fake } from "../../support/fake.ts"
import { declaring, Notes } from "../../support/notes.ts"
import { discovered } from "./support/finding.ts"

const { find, write } = Notes.requests

/** The headers of the POST of each method. */
const posted = Effect.fnUntraced(function* (version: Version) {
  const headers = new Map<string, { readonly [name: string]: string | undefined }>()
  const capabilities = declaring(version)
  const serverInfo = { name: "fake", version: "1" }
  const http = fake(({ message, request }) => {
    if (message === undefined) return new Response(null, { status: request.method === "GET" ? 405 : 204 })
    headers.set(message.method, request.headers)
    if (message.id === undefined) return new Response(null, { status: 202 })
    if (message.method === "server/discover") {
      return version === "2026-07-28" ? result(message, { ...discovered, capabilities }) : json({}, 400)
    }
    return message.method === "initialize"
      ? result(message, { protocolVersion: version, capabilities, serverInfo })
      : result(message, { resultType: "complete", ids: [] })
  })
  const client = yield* Effect.provide(
    McpClient.open(Http.open({ url: "http://127.0.0.1:9/mcp" }), { revisions: [version] }),
    Layer.merge(ClientExtension.layer(Notes), Layer.succeed(HttpClient.HttpClient, http))
  )
  yield* client.request(find, { text: "café" }, { headers: { "x-more": "1", "mcp-name": "forged" } })
  yield* client.request(write, { text: "a" })
  const byHand = headers.get(find.method)
  yield* client.raw.request(find.method, { text: "b" })
  headers.set("raw", headers.get(find.method) ?? {})
  headers.set(find.method, byHand ?? {})
  yield* client.raw.request("com.example/unknown", { text: "c" })
  return (method: string) => headers.get(method) ?? {}
})

it.effect("An extension request sends its method and name param in headers", () =>
  Effect.gen(function* () {
    const headers = yield* posted("2026-07-28")
    assert.deepInclude(headers(find.method), {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": find.method,
      "mcp-name": `=?base64?${Buffer.from("café").toString("base64")}?=`,
      "x-more": "1"
    })
    assert.strictEqual(headers(write.method)["mcp-method"], write.method)
    assert.notProperty(headers(write.method), "mcp-name")
    assert.strictEqual(headers("raw")["mcp-name"], "b")
    assert.notProperty(headers("com.example/unknown"), "mcp-name")
  })
)

it.effect("An extension request in a session has no method or param headers", () =>
  Effect.gen(function* () {
    const headers = yield* posted("2025-11-25")
    assert.notProperty(headers(find.method), "mcp-method")
    assert.notProperty(headers(write.method), "mcp-name")
  })
)
