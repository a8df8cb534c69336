/**
 * Many sessions and subscriptions of one resource, driven over IPC: `{ open, era }` opens as many more of either kind, `{ updates }`
 * announces as many updates, each once all messages of the one before have left.
 *
 * Each has a wire of its own through the public API, with the framing and the outbox of stdio and sockets; what leaves is counted
 * instead of written.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Duplex from "@effect-mcp/core/Duplex"
import * as Resources from "@effect-mcp/core/Resources"
import type { Transport } from "@effect-mcp/core/Transport"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Effect from "effect/Effect"
import * as PubSub from "effect/PubSub"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as C from "../peers/contract.mjs"

interface Question {
  readonly open?: number
  readonly era?: "2025" | "2026"
  readonly updates?: number
}

const uri = "bench://watched"
const updates = Effect.runSync(PubSub.unbounded<void>())
let watchers = 0
const watched = Resources.layer(
  { uri, name: "watched" },
  Effect.succeed("hello"),
  Stream.unwrap(
    Effect.sync(() => {
      watchers++
      return Stream.fromPubSub(updates)
    })
  )
)
const server = McpServer.layer({ ...C.info, features: watched })

// ---- what leaves

let wanted = ""
let left = 0
let done = (): void => {}
const leave = (text: string): void => {
  for (const line of text.split("\n")) if (line.includes(wanted) && line !== "" && --left === 0) done()
}
/** Does something, and waits until as many lines with that text have left. */
const after = (count: number, text: string, act: () => void): Effect.Effect<void> =>
  Effect.callback((resume) => {
    wanted = text
    left = count
    done = () => resume(Effect.void)
    act()
  })

// ---- the wires

const encoder = new TextEncoder()
const lines = (...messages: ReadonlyArray<object>): Uint8Array =>
  encoder.encode(messages.map((message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`).join(""))
const clientInfo = { name: "driver", version: "1.0.0" }
const opening = {
  "2025": lines(
    { id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo } },
    { method: "notifications/initialized" },
    { id: 2, method: "resources/subscribe", params: { uri } }
  ),
  "2026": lines({
    id: 1,
    method: "subscriptions/listen",
    params: {
      notifications: { resourceSubscriptions: [uri] },
      _meta: {
        "io.modelcontextprotocol/protocolVersion": C.modern,
        "io.modelcontextprotocol/clientInfo": clientInfo,
        "io.modelcontextprotocol/clientCapabilities": {}
      }
    }
  })
}
/** What says that it is subscribed. */
const opened = { "2025": `"id":2,"result"`, "2026": "subscriptions/acknowledged" }

const wire = Effect.fnUntraced(function* (sent: Uint8Array): Effect.fn.Return<Transport, never, Scope.Scope> {
  const input = yield* Queue.unbounded<Uint8Array>()
  Queue.offerUnsafe(input, sent)
  return yield* Duplex.make({
    incoming: Stream.fromQueue(input),
    write: Stream.runForEach((text) => Effect.sync(() => leave(text)))
  })
})

const program = Effect.gen(function* () {
  const { connect } = yield* McpServer.McpServer
  const questions = yield* Queue.unbounded<Question>()
  process.on("message", (message: Question | string) => {
    if (typeof message === "object") Queue.offerUnsafe(questions, message)
  })
  const runFork = Effect.runForkWith(yield* Effect.context<Scope.Scope>())
  process.send?.({})
  for (;;) {
    const { era = "2025", open = 0, updates: count = 0 } = yield* Queue.take(questions)
    const connecting = Effect.forEach(
      Array.from({ length: open }),
      () => Effect.flatMap(wire(opening[era]), (transport) => connect(transport)),
      { discard: true }
    )
    if (open > 0) {
      yield* after(open, opened[era], () => runFork(connecting))
      subscribed += open
    }
    for (let i = 0; i < count; i++) {
      yield* after(subscribed, "notifications/resources/updated", () => PubSub.publishUnsafe(updates, undefined))
    }
    process.send?.({ messages: count * subscribed, watchers })
  }
})
let subscribed = 0

program.pipe(Effect.scoped, Effect.provide(server), NodeRuntime.runMain)
