/** Questions of a handler over the open connection, and the options that reach the peer's request. */
import * as Revision from "@effect-mcp/protocol/Revision"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as RemoteInput from "../../src/request/RemoteInput.ts"
import type * as ClientInput from "../../src/request/ClientInput.ts"
import * as Sampling from "../../src/request/Sampling.ts"
import { notification, serve, quiesce, success } from "../support/wire.ts"

const params = { messages: [{ role: "user", content: { type: "text", text: "Hello" } }], maxTokens: 10 } as const
const answer = { role: "assistant", content: { type: "text", text: "Hello" }, model: "m" }

describe.each(Revision.stateful)("Questions over an open connection in $version", (revision) => {
  const ask = Effect.fnUntraced(function* (options?: ClientInput.AskOptions) {
    const served = yield* serve(() => Effect.never)
    const input = RemoteInput.remote({
      peer: served.peer,
      revision,
      capabilities: { sampling: {} },
      relatedTo: { request: { jsonrpc: "2.0", id: 7, method: "tools/call" } },
      timeout: "1 minute",
      ready: Effect.void
    })
    const model = Sampling.proxy(input, { tools: false, context: false })
    const fiber = yield* Effect.forkChild(model.createMessage(params, options), { startImmediately: true })
    yield* quiesce
    return { ...served, fiber }
  })

  it.effect("A question whose handler wants progress forwards every event", () =>
    Effect.gen(function* () {
      const seen: Array<number> = []
      const { fiber, messages, receive } = yield* ask({ onProgress: ({ progress }) => void seen.push(progress) })
      const [{ id, params }] = messages()
      receive(notification("notifications/progress", { progressToken: params._meta.progressToken, progress: 1 }))
      receive(notification("notifications/progress", { progressToken: params._meta.progressToken, progress: 2 }))
      receive(success(id, answer))
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(seen, [1, 2])
    })
  )

  it.effect("A question whose handler wants no progress requests none", () =>
    Effect.gen(function* () {
      const { messages } = yield* ask()
      const [{ params }] = messages()
      assert.isUndefined(params._meta)
    })
  )

  it.effect("A question is sent on its handler's request stream", () =>
    Effect.gen(function* () {
      const { sent } = yield* ask()
      assert.deepStrictEqual(
        sent.map(({ relatedTo }) => relatedTo),
        [7]
      )
    })
  )
})
