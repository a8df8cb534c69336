/** `McpServer.requests` over HTTP with SSE. */
import * as McpError from "@effect-mcp/protocol/McpError"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Queue } from "effect"
import * as Puppet from "../support/puppet.ts"
import { open, request } from "./support/sse.ts"

describe("Request view over HTTP with SSE", () => {
  it.live("Interrupting a stuck call answers its client with the reason", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const { connect, server } = yield* open(puppet.layer)
      const clients = [yield* connect(), yield* connect()] as const
      for (const [at, client] of clients.entries()) {
        yield* client.initialize("2024-11-05")
        yield* client.post(request("tools/call", { name: "puppet", arguments: { name: `${at}` } }))
        yield* Queue.take(puppet.entered)
      }
      const rows = yield* server.requests.list
      assert.deepStrictEqual(
        rows.map(({ id, revision, transport }) => [id, revision, transport]),
        [
          [1, "2024-11-05", "sse"],
          [1, "2024-11-05", "sse"]
        ]
      )
      yield* server.requests.interrupt(rows[1]!.key, "It was stuck")
      const { error } = yield* clients[1].message
      assert.deepStrictEqual(error, { code: McpError.Interrupted, message: "It was stuck" })
      assert.deepStrictEqual(yield* Queue.take(puppet.ended), ["1", "interrupted"])
      yield* clients[0].disconnect
      assert.deepStrictEqual(yield* Queue.take(puppet.ended), ["0", "interrupted"])
      yield* Effect.repeat(server.requests.list, { until: (rows) => rows.length === 0 })
    })
  )
})
