/** Random protocol values, also as input for a real server. */
import * as Framing from "@effect-mcp/core/Framing"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpServer from "@effect-mcp/server/McpServer"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import * as Arbitraries from "../src/Arbitraries.ts"
import * as Scripted from "../src/wire/Scripted.ts"
import { Bookings, features } from "./features.ts"

describe("Arbitraries", () => {
  it.prop("Arbitrary messages are valid JSON-RPC", [Arbitraries.message], ([message]) => {
    assert.strictEqual(JsonRpc.classify(JSON.parse(JSON.stringify(message))) instanceof JsonRpc.Invalid, false)
  })

  it.prop("Arbitrary junk is a single line that is never a message", [Arbitraries.junk], ([line]) => {
    assert.notInclude(line, "\n")
    const read = Framing.decode(line)
    assert.include(["InvalidMessage", "Batch"], read._tag)
  })

  it.prop("Arbitrary ids are valid JSON-RPC ids", [Arbitraries.id], ([id]) => assert.isTrue(JsonRpc.isId(id)))

  for (const revision of Revision.all) {
    it.prop(
      `Arbitrary ${revision.version} requests can be read in that revision`,
      [Arbitraries.request(revision)],
      ([{ method, params }]) => {
        const table: { readonly [method: string]: Revision.MethodCodec<any, any> | undefined } = {
          ...revision.clientRequests
        }
        Schema.decodeUnknownSync(table[method]!.params)(params)
      }
    )
  }
})

const server = McpServer.layer({ name: "fuzzed", version: "1", features }).pipe(Layer.provide(Bookings.layerTest))

/** A session on the server, opened by hand. */
const session = Effect.fnUntraced(function* (revision: Revision.Revision) {
  const wire = yield* Scripted.make
  yield* (yield* McpServer.McpServer).connect(wire.transport)
  const params = { protocolVersion: revision.version, capabilities: {}, clientInfo: { name: "fuzz", version: "1" } }
  yield* wire.push({ jsonrpc: "2.0", id: "init", method: "initialize", params })
  yield* wire.take
  yield* wire.push({ jsonrpc: "2.0", method: "notifications/initialized" })
  return wire
})

const Ping = { jsonrpc: "2.0", id: "alive", method: "ping" }

describe.each(Revision.stateful)("Servers with random input in $version", (revision) => {
  it.effect.prop(
    "Every valid request is answered exactly once, with its id",
    { requests: Arbitrary.array(Arbitraries.request(revision), { maxLength: 10 }) },
    ({ requests }) =>
      Effect.gen(function* () {
        const wire = yield* session(revision)
        const asked = requests.filter(({ method }) => method !== "initialize")
        for (const [id, request] of asked.entries()) yield* wire.push({ jsonrpc: "2.0", id, ...request })
        yield* wire.push(Ping)
        const answered: Array<unknown> = []
        while (answered.length < asked.length + 1) {
          const message = yield* wire.take
          assert.isFalse(JsonRpc.classify(message) instanceof JsonRpc.Invalid)
          if (typeof message === "object" && message !== null && "id" in message && !("method" in message)) {
            answered.push(message.id)
          }
        }
        assert.sameMembers(answered, [...asked.keys(), "alive"])
      }).pipe(Effect.scoped, Effect.provide(server)),
    { ...verifies("json-rpc.response.same-id", "json-rpc.message.conformant"), arbitrary: { runs: 40 } }
  )

  it.effect.prop(
    "A server still answers after any junk and unusual messages",
    {
      lines: Arbitrary.array(Arbitraries.junk, { maxLength: 10 }),
      messages: Arbitrary.array(Arbitraries.message, { maxLength: 10 })
    },
    ({ lines, messages }) =>
      Effect.gen(function* () {
        const wire = yield* session(revision)
        for (const line of [...lines, ...messages]) yield* wire.push(line)
        yield* wire.push(Ping)
        let message = yield* wire.take
        while (!(typeof message === "object" && message !== null && "id" in message && message.id === "alive")) {
          message = yield* wire.take
        }
      }).pipe(Effect.scoped, Effect.provide(server)),
    { arbitrary: { runs: 40 } }
  )
})
