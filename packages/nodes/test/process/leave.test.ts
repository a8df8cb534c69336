/** Three node processes behind a round robin, one of which is stopped while it runs calls. */
import { McpClient } from "@effect-mcp/client"
import { Elicitation } from "@effect-mcp/core"
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Latch, Layer, Queue, Schedule } from "effect"
import { FetchHttpClient } from "effect/http"
import { connect as connectTo } from "node:net"
import { Ask, Slow } from "../support/features.ts"
import { databases } from "../support/networks.ts"
import { robin, start } from "../support/robin.ts"

/** Longer than any answer takes here. */
const drain = 60_000

/** A client whose user answers when the latch opens. Reports when the user is asked. */
const connect = (url: string, asked: Queue.Queue<void>, answers: Latch.Latch) => {
  const form = () =>
    Effect.andThen(Queue.offer(asked, undefined), Effect.as(answers.await, { action: "accept", content: {} } as const))
  const options = Layer.merge(Layer.fresh(FetchHttpClient.layer), Elicitation.layer({ form }))
  return Effect.map(
    Layer.build(McpClient.layerHttp({ url, revisions: ["2025-11-25"] }).pipe(Layer.provide(options))),
    (context) => Context.get(context, McpClient.McpClient)
  )
}

const refuses = (port: number) =>
  Effect.callback<boolean>((resume) => {
    const socket = connectTo({ host: "127.0.0.1", port })
    const done = (is: boolean) => {
      socket.destroy()
      resume(Effect.succeed(is))
    }
    socket.once("connect", () => done(false)).once("error", () => done(true))
  })

for (const { missing, name, place } of databases) {
  describe(`Leaving nodes over ${name}`, needs(missing === undefined, missing ?? ""), () => {
    it.live("Calls on a stopping node finish, and its sessions move to other nodes", () =>
      Effect.gen(function* () {
        const at = yield* place
        const nodes = yield* Effect.all(
          ["1", "2", "3"].map((which) => start(name, at, which, drain)),
          { concurrency: "unbounded" }
        )
        const { url } = yield* robin(nodes)
        const [asked, answers] = [yield* Queue.unbounded<void>(), Latch.makeUnsafe(false)]
        const clients = yield* Effect.replicateEffect(connect(url, asked, answers), 6)
        const where = (client: (typeof clients)[number]) =>
          Effect.map(client.callTool(Slow, { n: 1, ms: 0 }), ({ node }) => node)
        const before = yield* Effect.forEach(clients, where)
        assert.include(before, 1)
        const calls = yield* Effect.forEach(clients, (client) => Effect.forkChild(client.callTool(Ask, {})))
        yield* Queue.takeN(asked, clients.length)
        nodes[0]!.kill("SIGTERM")
        yield* Effect.repeat(refuses(nodes[0]!.port), { until: (is) => is, schedule: Schedule.spaced("10 millis") })
        yield* answers.open
        assert.deepStrictEqual(
          (yield* Effect.forEach(calls, Fiber.join)).map(({ node }) => node),
          before
        )
        yield* nodes[0]!.exited
        const after = yield* Effect.forEach(clients, where)
        assert.notInclude(after, 1)
        // The other sessions stay where they are.
        for (const [n, node] of before.entries()) if (node !== 1) assert.strictEqual(after[n], node)
      })
    )
  })
}
