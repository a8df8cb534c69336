/** Calls that an endpoint makes to the manager that shares its sessions. */
import { Nodes } from "@effect-mcp/nodes"
import { SessionManagers, type SessionManager } from "@effect-mcp/server/internal/sharing"
import * as ServerNodes from "@effect-mcp/server/Nodes"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { HttpServerResponse } from "effect/http"
import { make } from "../support/endpoint.ts"
import { echo } from "../support/http.ts"
import { callOf, initialize } from "../support/session.ts"

/** An endpoint whose manager records the calls it receives; another node holds the session `away`. */
const managed = Effect.gen(function* () {
  const asked: Array<string> = []
  const noted = (what: string) => Effect.sync(() => void asked.push(what))
  const manager: SessionManager = {
    open: () => noted("open"),
    save: () => noted("save"),
    close: () => Effect.as(noted("close"), true),
    isElsewhere: ({ headers }) => headers["mcp-session-id"] === "away",
    forward: () => Effect.as(noted("forward"), HttpServerResponse.text("from another node")),
    resume: () => Effect.as(noted("resume"), ""),
    handOver: noted("handOver")
  }
  const context = yield* Layer.build(Nodes.layerMemory(new Nodes.Network()))
  const services = Context.make(SessionManagers, { make: () => Effect.succeed(manager) })
  const nodes = { ...Context.get(context, ServerNodes.Nodes), services }
  const endpoint = yield* make(echo, {}, Layer.empty, (server) => ({ ...server, nodes }))
  return { asked, endpoint }
})

describe("Endpoints with shared sessions", () => {
  it.effect("The manager opens sessions, and the endpoint answers their requests", () =>
    Effect.gen(function* () {
      const { asked, endpoint } = yield* managed
      const opened = yield* endpoint.ask({ body: initialize("2025-11-25") })
      const id = String(opened.headers["mcp-session-id"])
      assert.deepStrictEqual([opened.status, asked], [200, ["open"]])
      const answered = yield* endpoint.ask({
        headers: { "mcp-session-id": id },
        body: callOf("echo", { text: "a" }, 1)
      })
      assert.strictEqual(answered.status, 200)
      assert.deepStrictEqual(asked, ["open"])
      yield* endpoint.ask({ method: "DELETE", headers: { "mcp-session-id": id } })
      assert.deepStrictEqual(asked, ["open", "close"])
    })
  )

  it.effect("The endpoint forwards requests for a session held elsewhere", () =>
    Effect.gen(function* () {
      const { asked, endpoint } = yield* managed
      const headers = { "mcp-session-id": "away" }
      for (const sent of [{ body: callOf("echo", {}, 1) }, { method: "GET" }, { method: "DELETE" }]) {
        assert.strictEqual((yield* endpoint.ask({ ...sent, headers })).text, "from another node")
      }
      assert.deepStrictEqual(asked, ["forward", "forward", "forward"])
    })
  )

  it.effect("The endpoint hands over its sessions when it shuts down", () =>
    Effect.gen(function* () {
      const { asked, endpoint } = yield* managed
      yield* endpoint.end()
      assert.deepStrictEqual(asked, ["handOver"])
    })
  )
})
