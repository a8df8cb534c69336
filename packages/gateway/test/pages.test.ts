/** Pages for a user to visit, between revisions that describe them in different ways. */
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { Elicitation, Memory, Peer, Tool, Tools } from "@effect-mcp/core"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpServer from "@effect-mcp/server/McpServer"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, Queue, Stream } from "effect"
import * as Gateway from "../src/Gateway.ts"
import { join } from "./support/gateway.ts"

const page = { mode: "url", elicitationId: "page-1", url: "https://example.com/login", message: "Log in first" }

/** A server of 2025-11-25 that rejects calls of its tool until a page was visited. */
const refusing = Effect.gen(function* () {
  const visited = yield* Deferred.make<void>()
  const refusals = yield* Queue.unbounded<void>()
  const connector = Effect.gen(function* () {
    const [client, server] = yield* Memory.pair()
    const peer = yield* Peer.make(server, {
      request: ({ request: { method } }) => {
        if (method === "initialize") {
          const serverInfo = { name: "refusing", version: "0" }
          return Effect.succeed({ protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo })
        }
        if (Deferred.isDoneUnsafe(visited)) return Effect.succeed({ content: [{ type: "text", text: "welcome" }] })
        Queue.offerUnsafe(refusals, undefined)
        const { UrlElicitationRequired: code } = McpError
        return Effect.fail(new McpError.McpError({ code, message: "Visit first", data: { elicitations: [page] } }))
      },
      notification: () => {}
    })
    yield* Effect.forkScoped(
      Effect.andThen(
        Deferred.await(visited),
        Effect.sync(() => peer.notify("notifications/elicitation/complete", { elicitationId: page.elicitationId }))
      )
    )
    return client
  })
  return { connector, refusals, visited }
})

describe("Tools that require visiting a URL", () => {
  it.effect("A required URL becomes a question if the client's revision has no such error", () =>
    Effect.gen(function* () {
      const { connector, visited } = yield* refusing
      const asked: Array<unknown> = []
      const user = Elicitation.layer({
        url: ({ message, url }) =>
          Effect.as(
            Effect.andThen(
              Effect.sync(() => asked.push([message, url])),
              Deferred.succeed(visited, undefined)
            ),
            { action: "accept" }
          )
      })
      const body = Effect.gen(function* () {
        const client = yield* Effect.provide(join(Revision.get("2026-07-28")!), user)
        const { content } = yield* client.callToolByName("enter")
        assert.deepStrictEqual(content, [{ type: "text", text: "welcome" }])
        assert.deepStrictEqual(asked, [[page.message, page.url]])
      })
      yield* Effect.provide(Effect.scoped(body), Gateway.layer({ connector, client: { revisions: ["2025-11-25"] } }))
    })
  )

  it.effect("A required URL fails the tool, and the client learns of its completion", () =>
    Effect.gen(function* () {
      const { connector, refusals, visited } = yield* refusing
      const user = Elicitation.layer({ url: () => Effect.succeed({ action: "accept" }) })
      const body = Effect.gen(function* () {
        const client = yield* Effect.provide(join(Revision.get("2025-11-25")!), user)
        const done = yield* Queue.unbounded<string>()
        yield* Effect.forkScoped(
          Stream.runForEach(client.elicitationsCompleted, (id) => Queue.offer(done, id)),
          { startImmediately: true }
        )
        const entering = yield* Effect.forkChild(client.callToolByName("enter"))
        yield* Queue.take(refusals)
        // After the error has arrived, because completions of unknown URL elicitations are not forwarded.
        yield* quiesce
        yield* Deferred.succeed(visited, undefined)
        assert.strictEqual(yield* Queue.take(done), page.elicitationId)
        const { content } = yield* Fiber.join(entering)
        assert.deepStrictEqual(content, [{ type: "text", text: "welcome" }])
      })
      yield* Effect.provide(Effect.scoped(body), Gateway.layer({ connector, client: { revisions: ["2025-11-25"] } }))
    })
  )
})

it.effect("A URL question without an id gets one if the client's revision requires ids", () =>
  Effect.gen(function* () {
    const tool = Tools.layer(Tool.make("visit", { description: "Has a page visited." }), () =>
      Effect.as(Elicitation.url({ message: "Look", url: "https://example.com/" }), "consented")
    )
    const behind = Context.get(
      yield* Layer.build(McpServer.layer({ name: "behind", version: "0", features: tool })),
      McpServer.McpServer
    )
    const connector = Effect.gen(function* () {
      const [client, server] = yield* Memory.pair()
      yield* behind.connect(server)
      return client
    })
    const asked: Array<unknown> = []
    const user = Elicitation.layer({
      url: ({ elicitationId }) =>
        Effect.as(
          Effect.sync(() => asked.push(elicitationId)),
          { action: "accept" }
        )
    })
    const body = Effect.gen(function* () {
      const client = yield* Effect.provide(join(Revision.get("2025-11-25")!), user)
      assert.deepStrictEqual((yield* client.callToolByName("visit")).content, [{ type: "text", text: "consented" }])
      assert.match(String(asked), /^[0-9a-f-]{36}$/)
    })
    yield* Effect.provide(Effect.scoped(body), Gateway.layer({ connector, client: { revisions: ["2026-07-28"] } }))
  })
)
