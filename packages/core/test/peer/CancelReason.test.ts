/**
 * The reason of a cancellation is the reason of the interruption, in both directions (spec: basic/patterns/cancellation).
 */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber } from "effect"
import * as CancelReason from "../../src/peer/CancelReason.ts"
import type * as Peer from "../../src/peer/Peer.ts"
import { type Served, notification, request, serve, quiesce } from "../support/wire.ts"

const cancel = (requestId: unknown, reason?: unknown) =>
  notification("notifications/cancelled", { requestId, ...(reason === undefined ? undefined : { reason }) })

/** A handler that never ends by itself, and the reasons that its finalizers see. */
const watched = () => {
  const reasons: Array<string | undefined> = []
  const handle = (exchange: Peer.Exchange) =>
    Effect.onExit(
      exchange.request.method === "ask" ? Effect.orDie(exchange.peer.request("question")) : Effect.never,
      (exit) =>
        Effect.sync(() => void reasons.push(Exit.isFailure(exit) ? CancelReason.of(exit.cause) : "it has ended"))
    )
  return { handle, reasons }
}

const cancels = ({ messages }: Served) =>
  messages()
    .filter(({ method }) => method === "notifications/cancelled")
    .map(({ params }) => params.reason)

describe("Inbound cancellation reasons", () => {
  const long = "x".repeat(1000)
  it.effect.each([
    ["is seen by the handler's finalizers", "No longer needed", "No longer needed"],
    ["is truncated to 200 characters", long, `${long.slice(0, 200)}…`],
    ["keeps lines, joiners and emoji", "too slow:\n\t1. 👩‍💻 می‌خواهم", "too slow:\n\t1. 👩‍💻 می‌خواهم"],
    ["is not truncated within a surrogate pair", `${long.slice(0, 199)}🙂🙂`, `${long.slice(0, 199)}…`],
    ["can be absent", undefined, undefined],
    ["is ignored unless it is a string", { text: "No" }, undefined]
  ] as const)("An inbound cancellation reason %s", ([, given, seen]) =>
    Effect.gen(function* () {
      const { handle, reasons } = watched()
      const cancelled: Array<unknown> = []
      const { receive } = yield* serve(handle, {}, { cancelled: ({ id }, reason) => void cancelled.push([id, reason]) })
      receive(request(1))
      receive(cancel(1, given))
      yield* quiesce
      assert.deepStrictEqual(reasons, [seen])
      assert.deepStrictEqual(cancelled, [[1, seen]])
    })
  )

  it.effect("A cancelled request passes its reason on to the requests its handler made", () =>
    Effect.gen(function* () {
      const { handle, reasons } = watched()
      const served = yield* serve(handle)
      served.receive(request(1, "ask"))
      yield* quiesce
      const reason = "The user left:\n\t👩‍💻"
      served.receive(cancel(1, reason))
      yield* quiesce
      assert.deepStrictEqual(cancels(served), [reason])
      assert.deepStrictEqual(reasons, [reason])
    })
  )
})

describe("Local interruption reasons", () => {
  it.effect("A local interruption reason reaches the handler's finalizers", () =>
    Effect.gen(function* () {
      const { handle, reasons } = watched()
      const { peer, receive } = yield* serve(handle)
      receive(request(1))
      peer.interrupt("The server is shutting down", 1)
      yield* quiesce
      assert.deepStrictEqual(reasons, ["The server is shutting down"])
    })
  )

  it.effect.each([
    ["is sent when the caller's request is cancelled", CancelReason.annotation("Changed my mind"), "Changed my mind"],
    ["defaults to a sentence if the interruption has none", undefined, "The caller was interrupted"]
  ] as const)("A local interruption reason %s", ([, annotation, reason]) =>
    Effect.gen(function* () {
      const served = yield* serve(() => Effect.never)
      const caller = yield* Effect.forkChild(served.peer.request("ask"), { startImmediately: true })
      caller.interruptUnsafe(undefined, annotation)
      yield* Fiber.await(caller)
      assert.deepStrictEqual(cancels(served), [reason])
    })
  )
})

describe("CancelReason.of", () => {
  it("CancelReason.of finds no reason in a cause without an interruption", () => {
    assert.isUndefined(CancelReason.of(Cause.fail("no")))
    assert.isUndefined(CancelReason.of(Cause.interrupt(1)))
  })
})
