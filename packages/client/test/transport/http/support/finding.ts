/** A client over HTTP that detects the kind of server, and a server scripted by the test. */
import * as Http from "@effect-mcp/client/Http"
import * as McpClient from "@effect-mcp/client/McpClient"
import type { Citation } from "@effect-mcp/spec/verifies"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Raw from "./raw.ts"

export const [, http] = Raw.clients[0]!

export const test = (title: string, body: Effect.Effect<void, unknown, any>, options?: Citation) =>
  it.effect(
    title,
    () =>
      Effect.scoped(body).pipe(
        Effect.provideService(Http.ServerEraCache, new Map()),
        Effect.provide(http)
      ) as Effect.Effect<void, unknown>,
    options
  )

export const discovered = {
  resultType: "complete",
  supportedVersions: ["2026-07-28"],
  capabilities: {},
  ttlMs: 0,
  cacheScope: "private"
}

export const initialized = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  serverInfo: { name: "raw", version: "1" }
}

export type Options = McpClient.Options & Partial<Http.Options>

/** A client that connects meanwhile. */
export const connecting = (server: Raw.Raw, options: Options = {}) =>
  Effect.forkScoped(McpClient.open(Raw.transport({ url: server.url, ...options }), options), { startImmediately: true })

/** Answers the rest of a handshake whose `initialize` was already taken. */
export const agree = Effect.fnUntraced(function* (server: Raw.Raw, hello: Raw.Hit) {
  assert.strictEqual(hello.message.method, "initialize")
  yield* hello.result(initialized)
  yield* (yield* server.take("POST")).status(202)
  yield* (yield* server.take("GET")).status(405)
})

/** Takes the GET of the older transport, and answers where to POST. */
export const openSse = Effect.fnUntraced(function* (server: Raw.Raw) {
  const get = yield* server.take("GET")
  yield* get.stream()
  yield* get.event({ event: "endpoint", data: "/messages?id=1" })
  const hello = yield* server.take("POST")
  assert.strictEqual(hello.path, "/messages?id=1")
  assert.strictEqual(hello.message.method, "initialize")
  yield* hello.status(202)
  yield* get.event({
    data: { jsonrpc: "2.0", id: hello.message.id, result: { ...initialized, protocolVersion: "2024-11-05" } }
  })
  yield* (yield* server.take("POST")).status(202)
  return get
})

export const refusal = (code: number, data?: object) => ({
  jsonrpc: "2.0",
  id: null,
  error: { code, message: "No", ...(data && { data }) }
})
