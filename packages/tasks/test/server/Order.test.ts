/** The writes of a server over a pipe: messages of a task follow the answer that creates it. */
import { Duplex, Elicitation } from "@effect-mcp/core"
import { quiesce } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Schema } from "effect"
import * as Tasks from "../../src/Tasks.ts"
import { serve } from "../support/client.ts"
import { tool } from "../support/tools.ts"

/** A wire whose other end sends chunks and receives writes. */
const wire = Effect.gen(function* () {
  const writes: Array<string> = []
  const encoder = new TextEncoder()
  let receive: ((chunk: Uint8Array) => void) | undefined
  const incoming = Duplex.fromCallback((take) => {
    receive = take
    return Effect.never
  })
  const write = (text: string, taken: () => void): void => {
    writes.push(text)
    queueMicrotask(taken)
  }
  const ended = Deferred.makeUnsafe<void>()
  const end = () => void Deferred.doneUnsafe(ended, Effect.void)
  const transport = yield* Duplex.make({ ...incoming, write: { write, end, run: Deferred.await(ended) } })
  const send = (...messages: ReadonlyArray<object>) =>
    receive?.(encoder.encode(messages.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).join("")))
  return { writes, transport, send }
})

const initialize = {
  id: 0,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: { elicitation: {} },
    clientInfo: { name: "raw", version: "0" }
  }
}
const call = (id: number) => ({ id, method: "tools/call", params: { name: "text", arguments: {}, task: {} } })

describe("Task message order", () => {
  it.effect("A task's end is sent after the answer that creates it", () =>
    Effect.gen(function* () {
      const text = tool("text", "optional", () => Effect.succeed("Done"))
      const server = yield* serve(Layer.merge(text, Tasks.layer()))
      const { send, transport, writes } = yield* wire
      yield* server.connect(transport)
      yield* quiesce
      send(initialize, { method: "notifications/initialized" })
      yield* quiesce
      writes.length = 0
      send(call(1), call(2))
      yield* quiesce
      const messages = writes.flatMap((text) => text.split("\n")).map((line) => JSON.parse(line))
      assert.deepStrictEqual(
        messages.map(({ id, method }) => id ?? method),
        [1, 2, "notifications/tasks/status", "notifications/tasks/status"]
      )
      assert.deepStrictEqual(
        messages.slice(2).map(({ params: { status, taskId } }) => [status, taskId]),
        messages.slice(0, 2).map(({ result: { task } }) => ["completed", task.taskId])
      )
    })
  )

  it.effect("A task's question is written separately after the answer that names the task", () =>
    Effect.gen(function* () {
      const Name = Schema.Struct({ name: Schema.String })
      const asking = tool("text", "optional", () => Effect.map(Elicitation.form("Who?", Name), ({ name }) => name))
      const server = yield* serve(Layer.merge(asking, Tasks.layer()))
      const { send, transport, writes } = yield* wire
      yield* server.connect(transport)
      yield* quiesce
      send(initialize, { method: "notifications/initialized" })
      yield* quiesce
      writes.length = 0
      send(call(1))
      yield* quiesce
      const sent = writes.map((text) => text.split("\n").map((line) => JSON.parse(line)))
      assert.deepStrictEqual(
        sent.map((messages) => messages.some(({ method }) => method === "elicitation/create")),
        [false, true]
      )
    })
  )
})
