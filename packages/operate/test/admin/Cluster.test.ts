import { McpServer } from "@effect-mcp/server"
import type { Nodes } from "@effect-mcp/server/Nodes"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as Cluster from "../../src/admin/Cluster.ts"
import type { NodeRecord } from "../../src/admin/Recent.ts"

const recordOf = (tool: string): NodeRecord => ({
  samples: [],
  tools: [{ name: tool, calls: 1, failures: 0, lately: 1, durations: [] }],
  problems: []
})

/** A node with another one, which answers at once. */
const withOther = (record: NodeRecord): Nodes["Service"] => {
  let heard: (text: string) => void = () => {}
  // The cast leaves out the parts that a cluster does not use.
  return {
    directory: { node: "1 a" },
    bus: {
      publish: () => heard(JSON.stringify({ node: "2 b", asks: false })),
      subscribe: (_: string, received: (text: string) => void) => Effect.sync(() => void (heard = received))
    },
    relay: {
      serve: () => Effect.void,
      send: () => Effect.succeed({ status: 200, headers: {}, body: JSON.stringify({ status: 200, body: record }) })
    }
  } as unknown as Nodes["Service"]
}

describe("Cluster", () => {
  it.effect("The first look at the last 15 minutes includes other nodes", () =>
    Effect.gen(function* () {
      const built = yield* Layer.build(McpServer.layer({ name: "test", version: "1", features: Layer.empty }))
      const server = { ...Context.get(built, McpServer.McpServer), nodes: withOther(recordOf("far")) }
      const { recent } = yield* Cluster.make(server, () => Effect.succeed({ status: 200, body: recordOf("near") }))
      const looked = yield* Effect.forkChild(recent(0))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(
        (yield* Fiber.join(looked))?.tools.map(({ name }) => name),
        ["near", "far"]
      )
    }).pipe(Effect.scoped)
  )
})
