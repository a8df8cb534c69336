/** A connection that fails to open leaves nothing behind before the next attempt. */
import { Closed } from "@effect-mcp/client/ClientError"
import type { Connection } from "../../src/connection/Connection.ts"
import * as Recovery from "../../src/reconnect/Reconnect.ts"
import { TransportError } from "@effect-mcp/core/Transport"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"

const scene = Effect.fnUntraced(function* (fails: (opening: number) => boolean, refuses: (opening: number) => boolean) {
  let openings = 0
  let alive = 0
  const most: Array<number> = []
  const losses: Array<Deferred.Deferred<Closed>> = []
  const open = Effect.gen(function* () {
    const opening = openings++
    yield* Effect.acquireRelease(
      Effect.sync(() => most.push(++alive)),
      () => Effect.sync(() => alive--)
    )
    if (fails(opening)) return yield* new TransportError({ reason: "Open", message: "Not now" })
    const lost = Deferred.makeUnsafe<Closed>()
    losses.push(lost)
    // Only its end is asked of it here.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the boundary named above
    return { ended: Deferred.await(lost), opening } as unknown as Connection
  })
  const restore = (connection: Connection) =>
    refuses((connection as unknown as { readonly opening: number }).opening)
      ? Effect.fail(new Closed({ message: "Not restored" }))
      : Effect.void
  const recovery = yield* Recovery.make({ open, onLost: () => {}, restore, policy: { attempts: 5 } })
  return {
    recovery,
    alive: () => alive,
    most,
    lose: () => Deferred.doneUnsafe(losses.at(-1)!, Effect.succeed(new Closed({ message: "Lost" })))
  }
})

describe("Connections that fail to open", () => {
  for (const [what, fails, refuses] of [
    ["that fails", (opening: number) => opening === 1 || opening === 2, () => false],
    ["that cannot be restored", () => false, (opening: number) => opening === 1 || opening === 2]
  ] as const) {
    it.effect(`A connection is closed before the next attempt: one ${what}`, () =>
      Effect.gen(function* () {
        const { alive, lose, most, recovery } = yield* scene(fails, refuses)
        lose()
        const acquired = yield* Effect.forkChild(recovery.acquire, { startImmediately: true })
        yield* TestClock.adjust("1 minute")
        yield* Fiber.join(acquired)
        assert.strictEqual(most.length, 4)
        assert.deepStrictEqual([...most, alive()], [1, 1, 1, 1, 1])
      })
    )
  }

  it.effect("A failed first connection leaves nothing open", () =>
    Effect.scoped(
      Effect.gen(function* () {
        let alive = 0
        const open = Effect.andThen(
          Effect.acquireRelease(
            Effect.sync(() => alive++),
            () => Effect.sync(() => alive--)
          ),
          Effect.fail(new TransportError({ reason: "Open", message: "Not now" }))
        )
        yield* Effect.flip(Recovery.make({ open, onLost: () => {}, restore: () => Effect.void, policy: {} }))
        assert.strictEqual(alive, 0)
      })
    )
  )
})
