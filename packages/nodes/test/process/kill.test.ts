/** Clients of three node processes behind a round robin, one of which is killed. */
import { McpClient } from "@effect-mcp/client"
import { Elicitation } from "@effect-mcp/core"
import { needs } from "@effect-mcp/spec/skip"
import { scaled } from "@effect-mcp/spec/Scale"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Fiber, Layer, Queue, Ref, Schema } from "effect"
import { FetchHttpClient } from "effect/http"
import { clientOf } from "../../../server/test/http/support/http.ts"
import { openSession } from "../../../server/test/http/support/session.ts"
import { Slow } from "../support/features.ts"
import { databases } from "../support/networks.ts"
import { robin, start } from "../support/robin.ts"

const Answer = Schema.Struct({ n: Schema.Int, node: Schema.Int })
const answerOf = (result: unknown) => Schema.decodeUnknownSync(Answer)(result)

const three = Effect.fnUntraced(function* (name: string, at: string) {
  const nodes = yield* Effect.all(
    ["1", "2", "3"].map((which) => start(name, at, which)),
    { concurrency: "unbounded" }
  )
  return { nodes, robin: yield* robin(nodes) }
})

const connect = (url: string) =>
  Effect.map(
    Layer.build(
      McpClient.layerHttp({ url, revisions: ["2025-11-25"] }).pipe(
        Layer.provide(
          Layer.merge(
            FetchHttpClient.layer,
            Elicitation.layer({ form: () => Effect.succeed({ action: "accept", content: {} }) })
          )
        )
      )
    ),
    (context) => Context.get(context, McpClient.McpClient)
  )

for (const { missing, name, place } of databases) {
  describe(`Nodes over ${name}`, needs(missing === undefined, missing ?? ""), () => {
    it.live("Calls to a killed node end exactly once, and its sessions live on", () =>
      Effect.gen(function* () {
        const { nodes, robin } = yield* three(name, yield* place)
        const clients = yield* Effect.replicateEffect(connect(robin.url), scaled(24, 200))
        const stopped = yield* Ref.make(false)
        const begun = yield* Queue.unbounded<void>()
        const ended: Array<{ readonly began: number; readonly took: number; readonly error: string | undefined }> = []
        const calls = (client: (typeof clients)[number]) =>
          Effect.gen(function* () {
            for (let n = 0; !(yield* Ref.get(stopped)); n++) {
              const began = Date.now()
              yield* Queue.offer(begun, undefined)
              const exit = yield* Effect.exit(client.callTool(Slow, { n, ms: 100 }))
              if (Exit.isSuccess(exit)) assert.strictEqual(exit.value.n, n)
              else assert.isTrue(exit.cause.reasons.every(Cause.isFailReason), String(exit.cause))
              const error = Exit.isSuccess(exit) ? undefined : String(Cause.squash(exit.cause))
              ended.push({ began, took: Date.now() - began, error })
            }
          })
        const running = yield* Effect.forkChild(Effect.forEach(clients, calls, { concurrency: "unbounded" }))
        yield* Queue.takeN(begun, clients.length * 3)
        const killed = Date.now()
        nodes[0]!.kill("SIGKILL")
        // Each session makes its next calls after the node has died.
        yield* Effect.repeat(Effect.sleep("50 millis"), {
          until: () =>
            ended.filter(({ began, error }) => error === undefined && began > killed + 2000).length >=
            clients.length * 2
        })
        yield* Ref.set(stopped, true)
        yield* Fiber.join(running)
        const late = ended.map(({ began, took }) => began + took - Math.max(began, killed)).toSorted((a, b) => b - a)
        // Twice the promised time, because the machine may be busy.
        assert.isBelow(late[0] ?? 0, 4000)
        for (const client of clients) assert.strictEqual((yield* client.callTool(Slow, { n: 1, ms: 0 })).n, 1)
      })
    )

    it.live("A disconnected client can resume its stream on any node", () =>
      Effect.gen(function* () {
        const { nodes, robin } = yield* three(name, yield* place)
        const scope = yield* Effect.scope
        const any = clientOf(robin.port, undefined as never, scope as never)
        const session = yield* openSession(any)
        const call = yield* session.follow("hang", {}, 5)
        let last = yield* call.event
        while (last.data === "") last = yield* call.event
        assert.strictEqual(last.data.method, "notifications/progress")
        yield* call.disconnect
        const again = yield* session.get("1-0")
        assert.deepStrictEqual((yield* again.event).data, last.data)
        yield* again.disconnect
        // The session's node is unknown, so the others answer for any node.
        const owner = answerOf({
          n: 0,
          ...(yield* (yield* session.call("which", {}, 6)).json).result.structuredContent
        }).node
        nodes[owner - 1]!.kill("SIGKILL")
        const rest = yield* session.get("1-0")
        assert.strictEqual(rest.status, 200)
        assert.deepStrictEqual((yield* rest.event).data, last.data)
        const { data: failure } = yield* rest.event
        assert.deepStrictEqual([failure.id, failure.error.code], [5, -31503])
      })
    )
  })
}
