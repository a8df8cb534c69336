/**
 * The reason of a cancellation, from the caller of a client to the server and from the server to the client's own services.
 */
import * as CancelReason from "@effect-mcp/core/CancelReason"
import * as Sampling from "@effect-mcp/core/Sampling"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { all, cancellation, connected, quiesce, versions } from "../support/connected.ts"
import { sampling } from "../support/questions.ts"

describe.each(all)("Cancellation in %s", (version) => {
  it.effect("Cancelling a call sends the caller's reason to the server", () =>
    Effect.gen(function* () {
      const { client, server } = yield* connected({
        version,
        answers: { "tools/call": () => Effect.never, "tools/list": () => ({ tools: [] }) }
      })
      const call = yield* Effect.forkChild(client.callToolByName("slow"), { startImmediately: true })
      yield* quiesce
      call.interruptUnsafe(undefined, CancelReason.annotation("The window was closed"))
      yield* Fiber.await(call)
      assert.strictEqual((yield* cancellation(server)).params?.reason, "The window was closed")
    })
  )
})

describe.each(versions)("Cancellation by a %s server", (version) => {
  it.effect("The reason for a server's cancellation reaches the client model's finalizers", () =>
    Effect.gen(function* () {
      const reasons: Array<string | undefined> = []
      const model = Sampling.layer(() =>
        Effect.onExit(Effect.never, (exit) =>
          Effect.sync(() => void reasons.push(Exit.isFailure(exit) ? CancelReason.of(exit.cause) : undefined))
        )
      )
      const { server } = yield* connected({ version }).pipe(Effect.provide(model))
      let id: number | string = 0
      const ask = server.peer.request("sampling/createMessage", sampling, { onSend: (sent) => (id = sent) })
      yield* Effect.forkChild(ask, { startImmediately: true })
      yield* quiesce
      server.peer.notify("notifications/cancelled", { requestId: id, reason: "Not needed" })
      yield* quiesce
      assert.deepStrictEqual(reasons, ["Not needed"])
    })
  )
})
