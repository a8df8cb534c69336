/**
 * Nesting depth of messages: found without parsing, rejected with a clear error, and without effect on other messages.
 */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Excerpt from "@effect-mcp/protocol/Excerpt"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Queue, type Scope, Stream } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as Duplex from "../../src/transport/Duplex.ts"
import * as Framing from "../../src/transport/Framing.ts"
import * as Memory from "../../src/transport/Memory.ts"
import * as Peer from "../../src/peer/Peer.ts"
import type { Decoded, Transport } from "../../src/transport/Transport.ts"
import * as Wire from "../support/wire.ts"

/** A value of that depth, as text. */
const arrays = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`
const objects = (depth: number) => `${`{"a":`.repeat(depth - 1)}{}${"}".repeat(depth - 1)}`

interface Kind {
  readonly name: string
  /** The message of that depth. */
  readonly of: (depth: number) => string
  readonly id: JsonRpc.Id | undefined
  readonly response: boolean
}

const messages: ReadonlyArray<Kind> = [
  {
    name: "a request",
    of: (depth) => `{"jsonrpc":"2.0","id":7,"method":"work","params":{"a":${arrays(depth - 2)}}}`,
    id: 7,
    response: false
  },
  {
    name: "a request with its id last",
    of: (depth) => `{"params":${objects(depth - 1)},"method":"work","jsonrpc":"2.0","id":"}]\\\\"}`,
    id: "}]\\",
    response: false
  },
  {
    name: "a request with a deep id",
    of: (depth) => `{"jsonrpc":"2.0","id":${arrays(depth - 1)},"method":"work"}`,
    id: undefined,
    response: false
  },
  {
    name: "a request with array params",
    of: (depth) => `{"jsonrpc":"2.0","id":7,"method":"work","params":${arrays(depth - 1)}}`,
    id: 7,
    response: false
  },
  {
    name: "a notification",
    of: (depth) => `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":${arrays(depth - 2)}}}`,
    id: undefined,
    response: false
  },
  {
    name: "a result",
    of: (depth) => `{"jsonrpc":"2.0","id":7,"result":${objects(depth - 1)}}`,
    id: 7,
    response: true
  },
  {
    name: "an error",
    of: (depth) => `{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"","data":${arrays(depth - 2)}}}`,
    id: 7,
    response: true
  },
  { name: "an object that is not a message", of: objects, id: undefined, response: false }
]

const refusal = ({ id, response }: Pick<Kind, "id" | "response">, depth: number, allowed = 256) => [
  "InvalidMessage",
  -32600,
  `The message is nested ${depth} levels deep; at most ${allowed} are allowed`,
  id,
  response
]
const seen = (decoded: Decoded): unknown =>
  decoded._tag === "InvalidMessage"
    ? [decoded._tag, decoded.error.code, decoded.error.message, decoded.id, decoded.response]
    : decoded

describe.each(messages)("Depth of $name", (kind) => {
  it(`At 256 levels, ${kind.name} is accepted`, () => {
    assert.deepStrictEqual(Framing.decode(kind.of(256)), Framing.decode(kind.of(256), {}, Infinity))
  })
  it.each([257, 20_000, 1_000_000])(
    `At %i levels, ${kind.name} is rejected, and the error names depth and limit`,
    (depth) => {
      assert.deepStrictEqual(seen(Framing.decode(kind.of(depth))), refusal(kind, depth))
    }
  )
  it(`At 11 levels, ${kind.name} is rejected by a configured limit of 10`, () => {
    assert.deepStrictEqual(seen(Framing.decode(kind.of(11), {}, 10)), refusal(kind, 11, 10))
    assert.deepStrictEqual(
      seen(new Framing.LineDecoder(undefined, 10).push(lineOf(kind.of(11)))[0]!),
      refusal(kind, 11, 10)
    )
    const [read] = new Framing.LineDecoder(undefined, 10).push(lineOf(kind.of(10)))
    assert.deepStrictEqual(read, Framing.decode(kind.of(10)))
  })
})

const lineOf = (text: string) => new TextEncoder().encode(`${text}\n`)

describe("Batch depth", () => {
  it("Only the overly deep members of a batch are rejected", () => {
    const [request, last] = messages
    const members = [
      request!.of(300),
      `{"jsonrpc":"2.0","id":1,"method":"fine","params":{"a":[]}}`,
      last!.of(20_000),
      "7"
    ]
    const decoded = Framing.decode(`[${members.join(" , ")}]`)
    assert.deepStrictEqual(decoded._tag === "Batch" ? decoded.members.map(seen) : decoded, [
      refusal(request!, 300),
      Framing.decode(members[1]!),
      refusal(last!, 20_000),
      seen(Framing.decode("7"))
    ])
  })
  it("A member's depth does not include the batch", () => {
    const member = messages[0]!.of(256)
    assert.deepStrictEqual(Framing.decode(`[${member}]`), {
      _tag: "Batch",
      members: [Framing.decode(member)] as never
    })
  })
  it("A batch with too many members is rejected, regardless of their depth", () => {
    const members = [messages[0]!.of(300), ...Array.from({ length: Framing.maxBatchMembers }, () => "[]")]
    const decoded = Framing.decode(`[${members.join()}]`)
    assert.strictEqual(
      decoded._tag === "InvalidMessage" && decoded.error.message,
      "A batch must not have more than 4096 members"
    )
  })
})

describe("Deep text that is not JSON", () => {
  it.each([
    ["never closed", "[".repeat(100_000)],
    ["closed too often", `${arrays(300)}]`],
    ["closed by the wrong bracket", `${"[".repeat(300)}${"}".repeat(300)}`],
    ["in a batch", `[{"jsonrpc":"2.0","id":1,"method":"fine"},${"[".repeat(300)}]`],
    ["with an unterminated string", `[${arrays(300)},"${"\\".repeat(301)}"`]
  ])("Deep text that is not JSON is a parse error: %s", (_, text) => {
    assert.strictEqual((seen(Framing.decode(text)) as ReadonlyArray<unknown>)[1], -32700)
  })
})

/** A simple version for values that are not deep. */
const depthOf = (json: unknown): number =>
  typeof json === "object" && json !== null ? 1 + Math.max(0, ...Object.values(json).map(depthOf)) : 0

const Text = Schema.Union([Schema.String, Schema.Literals(['"', "\\", '\\"', "[[[[[[[[", '"}]', "{\\", "\u2028]"])])
const Json = Arbitrary.schema(
  Schema.Union([
    Schema.Json,
    Schema.Array(Schema.Json),
    Schema.Record(Text, Schema.Union([Text, Schema.Array(Schema.Array(Text)), Schema.Json])),
    Schema.Array(Schema.Record(Text, Schema.Array(Schema.Array(Text))))
  ])
)

describe("Arbitrary JSON", () => {
  it.prop(
    "JSON is rejected only by nesting depth, regardless of brackets in strings",
    { json: Json, limit: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 6 })), indented: Schema.Boolean },
    ({ indented, json, limit }) => {
      const text = JSON.stringify(json, null, indented ? 2 : 0)
      const told = (decoded: Decoded) => {
        if (decoded._tag === "Batch") return decoded.members.map((member) => seen(member))
        return [seen(decoded)]
      }
      const all = told(Framing.decode(text, {}, Infinity))
      const values: ReadonlyArray<unknown> = Array.isArray(json) ? json : [json]
      const expected = all.map((one, index) => {
        const depth = depthOf(values[index])
        if (depth <= limit) return one
        return refusal(facts(values[index]), depth, limit)
      })
      assert.deepStrictEqual(told(Framing.decode(text, {}, limit)), expected)
    },
    { arbitrary: { runs: 500 } }
  )
})

/** The facts that can be read from a value that is not a message. */
const facts = (json: unknown): Pick<Kind, "id" | "response"> => {
  const message = JsonRpc.classify(json)
  const fields = typeof json === "object" && json !== null ? Object.keys(json) : []
  return {
    id: JsonRpc.isInvalid(message) ? message.id : undefined,
    response: !fields.includes("method") && (fields.includes("result") || fields.includes("error"))
  }
}

describe("Deep cancellations", () => {
  const cancelOf = (reason: string) =>
    `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":${reason},"requestId":"a"}}`
  it.each([
    ["nested 20 000 levels deep", arrays(20_000)],
    ["a deep object", objects(20_000)],
    ["a number", "7"],
    ["nested 100 levels deep", arrays(100)],
    ["of a million characters", JSON.stringify("x".repeat(1_000_000))]
  ])("A cancellation takes effect even if its reason is %s", (_, reason) => {
    return Effect.gen(function* () {
      const interrupted = yield* Deferred.make<void>()
      const told = yield* Deferred.make<string | undefined>()
      const wire = Wire.make()
      yield* Peer.make(wire.transport, {
        request: () => Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined)),
        notification: () => {},
        cancelled: (_, reason) => Deferred.doneUnsafe(told, Effect.succeed(reason))
      })
      wire.push(`{"jsonrpc":"2.0","id":"a","method":"work"}`)
      wire.push(cancelOf(reason))
      yield* Deferred.await(interrupted)
      assert.isAtMost((yield* Deferred.await(told))?.length ?? 0, Excerpt.maxLength + 1)
    }).pipe(Effect.scoped, Effect.runPromise)
  })
})

const deep = (depth: number): JsonRpc.Params => JSON.parse(objects(depth - 1))
/** Wires read by a peer whose handlers answer everything; `say` sends a message unchanged. */
const doors: ReadonlyArray<{
  readonly name: string
  readonly open: (maxMessageDepth?: number) => Effect.Effect<
    {
      readonly transport: Transport
      readonly say: (message: JsonRpc.Message) => void
      readonly next: Effect.Effect<unknown>
    },
    never,
    Scope.Scope
  >
}> = [
  {
    name: "a pair of byte streams",
    open: Effect.fnUntraced(function* (maxMessageDepth?: number) {
      const input = yield* Queue.unbounded<Uint8Array>()
      const output = yield* Queue.unbounded<unknown>()
      const transport = yield* Duplex.make(
        {
          incoming: Stream.fromQueue(input),
          write: Stream.runForEach((lines) =>
            Effect.forEach(lines.trim().split("\n"), (line) => Queue.offer(output, JSON.parse(line)), { discard: true })
          )
        },
        { maxMessageDepth }
      )
      return {
        transport,
        say: (message) => void Queue.offerUnsafe(input, lineOf(JSON.stringify(message))),
        next: Queue.take(output)
      }
    })
  },
  {
    name: "memory",
    open: Effect.fnUntraced(function* (maxMessageDepth?: number) {
      const output = yield* Queue.unbounded<unknown>()
      const [near, transport] = yield* Memory.pair({ maxMessageDepth })
      yield* Effect.forkScoped(
        Stream.runForEach(near.incoming, (inbound) =>
          Queue.offer(output, inbound._tag === "Message" ? inbound.message : inbound)
        )
      )
      return { transport, say: (message) => near.sink.send(message, "control"), next: Queue.take(output) }
    })
  }
]

describe.each(doors)("over $name", ({ name, open }) => {
  it.effect.each([
    [undefined, 256],
    [10, 10]
  ] as const)(`A limit of %s over ${name} allows %i levels and rejects only deeper messages`, ([option, allowed]) =>
    Effect.gen(function* () {
      const { next, say, transport } = yield* open(option)
      const ended = yield* Deferred.make<string>()
      const notified: Array<string> = []
      const peer = yield* Peer.make(transport, {
        request: ({ request: { method } }) =>
          method === "wait" ? Effect.map(Deferred.await(ended), (as) => ({ as })) : Effect.succeed({ done: method }),
        notification: ({ method }) => void notified.push(method)
      })
      const refused = (id?: number) => ({
        jsonrpc: "2.0",
        ...(id === undefined ? {} : { id }),
        error: {
          code: -32600,
          message: `The message is nested ${allowed + 1} levels deep; at most ${allowed} are allowed`
        }
      })
      say(JsonRpc.request(1, "wait"))
      say(JsonRpc.request(2, "deep", deep(allowed + 1)))
      assert.deepStrictEqual(yield* next, refused(2))
      say(JsonRpc.notification("deep", deep(allowed + 1)))
      assert.deepStrictEqual(yield* next, refused())
      const asked = yield* Effect.forkChild(Effect.flip(peer.request("ask")), { startImmediately: true })
      assert.deepInclude(yield* next, { id: 1, method: "ask" })
      say(JsonRpc.success(1, deep(allowed + 1)))
      assert.deepInclude(yield* Fiber.join(asked), { code: -32600, message: refused().error.message })
      say(JsonRpc.notification("fine", deep(allowed)))
      say(JsonRpc.request(3, "fine", deep(allowed)))
      assert.deepStrictEqual(yield* next, JsonRpc.success(3, { done: "fine" }))
      assert.deepStrictEqual(notified, ["fine"])
      yield* Deferred.succeed(ended, "well")
      assert.deepStrictEqual(yield* next, JsonRpc.success(1, { as: "well" }))
    })
  )
})
