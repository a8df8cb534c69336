/**
 * The bodies that a client posts, and the two forms of answers that it understands, in every Streamable HTTP revision.
 */
import * as McpClient from "@effect-mcp/client/McpClient"
import type { Version } from "@effect-mcp/protocol/Revision"
import { type Citation, verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as Modern from "../../support/modern.ts"
import { initialized, sessions } from "./support/peer.ts"
import * as Raw from "./support/raw.ts"

const versions: ReadonlyArray<Version> = [...sessions, "2026-07-28"]
const cases = versions.flatMap((version) => Raw.clients.map(([name, layer]) => ({ version, name, layer })))
const fork = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

/** A client that has connected to its server; `get` is its standalone stream, if there is one. */
const open = Effect.fnUntraced(function* (version: Version) {
  const server = yield* Raw.open
  const opened = yield* Effect.forkScoped(
    McpClient.open(Raw.transport({ url: server.url }), { revisions: [version], reconnect: false })
  )
  const hello = yield* server.next
  if (version === "2026-07-28") {
    yield* hello.result(Modern.discovered())
    return { client: yield* Fiber.join(opened), server, get: undefined }
  }
  const capabilities = { tools: {}, resources: {} }
  yield* hello.result({ ...initialized, protocolVersion: version, capabilities }, { "mcp-session-id": "session-1" })
  const client = yield* Fiber.join(opened)
  yield* (yield* server.take("POST")).status(202)
  const get = yield* server.take("GET")
  yield* get.stream()
  return { client, server, get }
})

const contents = { contents: [{ uri: "a:b", text: "c" }], resultType: "complete", ttlMs: 0, cacheScope: "private" }

describe.each(cases)("$version clients over $name", ({ layer, version }) => {
  const test = (title: string, body: Effect.Effect<void, unknown, any>, options?: Citation) =>
    it.effect(title, () => Effect.provide(Effect.scoped(body), layer) as Effect.Effect<void, unknown>, options)

  test(
    "An answer can be JSON or a stream event",
    Effect.gen(function* () {
      const { client, server } = yield* open(version)
      for (const streamed of [false, true]) {
        const asked = yield* fork(client.readResource("a:b"))
        const post = yield* server.take("POST")
        if (streamed) {
          yield* post.stream()
          yield* post.event({ data: { jsonrpc: "2.0", id: post.message.id, result: contents } })
          yield* post.end
        } else yield* post.result(contents)
        assert.deepInclude(yield* Fiber.join(asked), { contents: contents.contents })
      }
    }),
    verifies("http.post.client-supports-both")
  )

  test(
    "Every message is posted separately, even many at once",
    Effect.gen(function* () {
      const { client, get, server } = yield* open(version)
      const asked = yield* Effect.forEach(["a:1", "a:2", "a:3"], (uri) => fork(client.readResource(uri)))
      const posts = [yield* server.take("POST"), yield* server.take("POST"), yield* server.take("POST")]
      assert.sameMembers(
        posts.map(({ message }) => message.params.uri),
        ["a:1", "a:2", "a:3"]
      )
      for (const post of posts) yield* post.result(contents)
      yield* Fiber.joinAll(asked)
      if (get === undefined) return
      for (const id of ["q", "r"]) yield* get.event({ data: { jsonrpc: "2.0", id, method: "ping" } })
      const answers = [yield* server.take("POST"), yield* server.take("POST")]
      assert.sameMembers(
        answers.map(({ message }) => message.id),
        ["q", "r"]
      )
      for (const post of answers) yield* post.status(202)
      if (version === "2025-03-26") return
      // A batch on the stream is not answered with a batch, because these revisions have none.
      yield* get.event({ data: ["s", "t"].map((id) => ({ jsonrpc: "2.0", id, method: "ping" })) })
      const refusal = yield* server.take("POST")
      assert.deepInclude(refusal.message.error, { code: -32600 })
      yield* refusal.status(202)
    }),
    version === "2025-03-26" ? undefined : verifies("http.post.body-single")
  )
})
