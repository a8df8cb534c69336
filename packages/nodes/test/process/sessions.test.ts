/** Clients of three nodes behind a round robin, for each kind of network. */
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { Nodes as Node } from "@effect-mcp/server/Nodes"
import { Context, Effect, Layer } from "effect"
import { type Opened, openSession, revisions } from "../../../server/test/http/support/session.ts"
import { cluster } from "../support/nodes.ts"
import { networks } from "../support/networks.ts"

const nodeOf = ({ result }: any): number => JSON.parse(result.content[0].text).node
const headersOf = ({ id }: Opened, version: string) => ({ "mcp-session-id": id, "mcp-protocol-version": version })
const callOf = (name: string, id: number) =>
  JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name } })

for (const { missing, name, open } of networks) {
  /** Long leases, which don't expire even on a busy machine. */
  const three = Effect.flatMap(open, (layerOf) => cluster(3, () => layerOf({ lease: "20 seconds" })))

  describe.each(revisions)(`%s sessions on three nodes over ${name}`, (version) => {
    it.live(
      "A session is served by the node that opened it, wherever a request arrives",
      () =>
        Effect.gen(function* () {
          const nodes = yield* three
          const session = yield* openSession(nodes.at(2), version)
          for (const node of [1, 2, 3]) {
            const reply = yield* nodes
              .at(node)
              .fetch({ headers: headersOf(session, version), body: callOf("which", node) })
            assert.strictEqual(nodeOf(yield* reply.json), 2)
          }
        }),
      needs(missing === undefined, missing ?? "")
    )

    it.live(
      "A node looks up a session once and then remembers where it is",
      () =>
        Effect.gen(function* () {
          const layerOf = yield* open
          let looks = 0
          const counted = (node: number) =>
            Layer.effectContext(
              Effect.map(Layer.build(layerOf({ lease: "20 seconds" })), (context) => {
                const nodes = Context.get(context, Node)
                const { directory } = nodes
                const counting = Object.assign(Object.create(directory), {
                  locate: (...args: Parameters<typeof directory.locate>) => {
                    if (node === 1) looks++
                    return directory.locate(...args)
                  }
                })
                return Context.add(context, Node, { ...nodes, directory: counting })
              })
            )
          const nodes = yield* cluster(2, counted)
          const session = yield* openSession(nodes.at(2), version)
          for (let call = 1; call <= 10; call++) {
            const reply = yield* nodes
              .at(1)
              .fetch({ headers: headersOf(session, version), body: callOf("which", call) })
            assert.strictEqual(nodeOf(yield* reply.json), 2)
          }
          assert.strictEqual(looks, 1)
        }),
      needs(missing === undefined, missing ?? "")
    )

    it.live(
      "A request reaches another node without its client's credentials",
      () =>
        Effect.gen(function* () {
          const layerOf = yield* open
          const crossed: Array<string> = []
          const seen = () =>
            Layer.effectContext(
              Effect.map(Layer.build(layerOf({ lease: "20 seconds" })), (context) => {
                const nodes = Context.get(context, Node)
                const { relay } = nodes
                const recording = Object.assign(Object.create(relay), {
                  send: (...args: Parameters<typeof relay.send>) => {
                    crossed.push(...Object.keys(args[1].headers))
                    return relay.send(...args)
                  }
                })
                return Context.add(context, Node, { ...nodes, relay: recording })
              })
            )
          const nodes = yield* cluster(2, seen)
          const session = yield* openSession(nodes.at(2), version)
          const secrets = { authorization: "Bearer s", cookie: "s=1", "proxy-authorization": "Basic s", "x-own": "1" }
          const headers = { ...headersOf(session, version), ...secrets }
          const reply = yield* nodes.at(1).fetch({ headers, body: callOf("which", 1) })
          assert.strictEqual(nodeOf(yield* reply.json), 2)
          assert.include(crossed, "x-own")
          for (const name of ["authorization", "cookie", "proxy-authorization"]) assert.notInclude(crossed, name)
        }),
      needs(missing === undefined, missing ?? "")
    )

    it.live(
      "A question asked on one node can be answered on another",
      () =>
        Effect.gen(function* () {
          const nodes = yield* three
          const session = yield* openSession(nodes.any, "2025-11-25")
          const call = yield* session.call("ask", {}, 7)
          let asked = yield* call.event
          while (asked.data === "") asked = yield* call.event
          assert.strictEqual(asked.data.method, "elicitation/create")
          const accepted = yield* session.respond(asked.data.id, { action: "accept", content: {} })
          assert.strictEqual(accepted.status, 202)
          const answer = yield* call.event
          assert.strictEqual(answer.data.id, 7)
          assert.isNumber(nodeOf(answer.data))
        }),
      needs(missing === undefined, missing ?? "")
    )

    it.live(
      "A session streams 11 MiB to another node, complete and in order",
      () =>
        Effect.gen(function* () {
          const nodes = yield* three
          const session = yield* openSession(nodes.at(1), version)
          const params = { name: "pour", _meta: { progressToken: 9 } }
          const body = JSON.stringify({ jsonrpc: "2.0", id: 9, method: "tools/call", params })
          const reply = yield* nodes.at(2).fetch({ headers: headersOf(session, version), body })
          const seen: Array<number> = []
          let { data } = yield* reply.event
          while (data?.id !== 9) {
            if (data?.method === "notifications/progress") seen.push(data.params.progress)
            data = (yield* reply.event).data
          }
          assert.deepStrictEqual(
            seen,
            Array.from({ length: 128 }, (_, at) => at + 1)
          )
          assert.lengthOf(data.result.content[0].text, 3 * 1024 * 1024)
          const next = yield* nodes.at(2).fetch({ headers: headersOf(session, version), body: callOf("which", 10) })
          assert.strictEqual(nodeOf(yield* next.json), 1)
        }),
      needs(missing === undefined, missing ?? "")
    )

    it.live(
      "A DELETE on any node closes a session everywhere",
      () =>
        Effect.gen(function* () {
          const nodes = yield* three
          const session = yield* openSession(nodes.at(1), version)
          const headers = headersOf(session, version)
          assert.strictEqual((yield* nodes.at(3).fetch({ method: "DELETE", headers })).status, 204)
          for (const node of [1, 2, 3]) {
            assert.strictEqual((yield* nodes.at(node).fetch({ headers, body: callOf("which", 1) })).status, 404)
          }
        }),
      needs(missing === undefined, missing ?? "")
    )
  })

  describe(`2026-07-28 requests on three nodes over ${name}`, needs(missing === undefined, missing ?? ""), () => {
    it.live("A 2026-07-28 request is answered where it arrives, even if it names a session", () =>
      Effect.gen(function* () {
        const nodes = yield* three
        const session = yield* openSession(nodes.at(2))
        const headers = { "mcp-session-id": session.id }
        for (const node of [1, 2, 3]) {
          const reply = yield* nodes.at(node).post("tools/call", { name: "which", arguments: {} }, headers, node)
          assert.strictEqual(nodeOf(yield* reply.json), node)
        }
      })
    )
  })

  describe(`2026-07-28 subscriptions on three nodes over ${name}`, needs(missing === undefined, missing ?? ""), () => {
    it.live("A subscription is notified of another node's list change and resource update", () =>
      Effect.gen(function* () {
        const nodes = yield* three
        const wanted = { promptsListChanged: true, resourceSubscriptions: ["test://count"] }
        const listening = yield* nodes.at(1).post("subscriptions/listen", { notifications: wanted })
        assert.strictEqual((yield* listening.event).data.method, "notifications/subscriptions/acknowledged")
        const call = (name: string) => nodes.at(2).post("tools/call", { name, arguments: {} }, {}, 2)
        assert.strictEqual((yield* call("grow")).status, 200)
        yield* Effect.forkScoped(Effect.forever(Effect.andThen(call("touch"), Effect.sleep("50 millis"))))
        const seen = new Set<string>()
        while (seen.size < 2) seen.add((yield* listening.event).data.method)
        assert.isTrue(seen.has("notifications/prompts/list_changed"))
        assert.isTrue(seen.has("notifications/resources/updated"))
      })
    )
  })

  describe(`Clients of three nodes over ${name}`, needs(missing === undefined, missing ?? ""), () => {
    it.live("Every client is notified of one node's list change and another node's resource update", () =>
      Effect.gen(function* () {
        const nodes = yield* three
        const sessions = yield* Effect.forEach([1, 2, 3], (node) => openSession(nodes.at(node)))
        const streams = yield* Effect.forEach(sessions, (session) => session.get())
        for (const session of sessions) {
          yield* (yield* session.request("resources/subscribe", { uri: "test://count" }, 1)).json
        }
        yield* (yield* sessions[0]!.call("grow", {}, 2)).json
        // A hint that a node wants updates may be on its way while the first one happens.
        const touching = Effect.forever(Effect.andThen(sessions[1]!.call("touch", {}, 3), Effect.sleep("50 millis")))
        yield* Effect.forkScoped(touching)
        for (const stream of streams) {
          const seen = new Set<string>()
          while (seen.size < 2) {
            const { data } = yield* stream.event
            if (data !== "" && data !== undefined) seen.add(data.method)
          }
          assert.deepStrictEqual([...seen].toSorted(), [
            "notifications/prompts/list_changed",
            "notifications/resources/updated"
          ])
        }
      })
    )
  })
}
