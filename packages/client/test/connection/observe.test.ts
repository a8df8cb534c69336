/** Several observers of one client. */
import * as Memory from "@effect-mcp/core/Memory"
import * as Peer from "@effect-mcp/core/Peer"
import type * as ClientObserver from "@effect-mcp/client/ClientObserver"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Effect, Exit } from "effect"
import { observed, repeated } from "../../src/connection/observe.ts"

const members = ["request", "question", "opened", "closed", "reconnected"] as const

const observerThat = (called: (member: string) => undefined): ClientObserver.ClientObserver =>
  Object.fromEntries(members.map((member) => [member, () => called(member)]))

const broken = new Error("broken")

describe("Multiple client observers", () => {
  it.effect.each(members)("%s is called on each observer even after one throws", (member) =>
    Effect.gen(function* () {
      const noted: Array<string> = []
      const failing = observerThat((name) => {
        if (name === member) throw broken
      })
      const all = [failing, observerThat((name) => void noted.push(name))]
      const [transport] = yield* Memory.pair()
      const peer = yield* Peer.make(transport, { request: () => Effect.never, notification: () => {} })
      const opening = observed(all, transport, yield* Clock.Clock)
      const reopened = repeated(all, Effect.void)
      const request = { jsonrpc: "2.0", id: 1, method: "ping" } as const
      const happens = {
        request: Effect.sync(() =>
          opening?.observer.sent?.({ began: 0, method: "ping", params: undefined }, Exit.void, peer)
        ),
        question: Effect.sync(() =>
          opening?.observer.received?.({ request, envelope: {}, arrived: 0, waited: 0 }, Exit.void, peer)
        ),
        opened: Effect.scoped(opening?.opened ?? Effect.void),
        closed: Effect.scoped(opening?.opened ?? Effect.void),
        reconnected: Effect.andThen(reopened, reopened)
      }
      // The peer logs errors that `request` and `question` throw.
      const exit = yield* Effect.exit(happens[member])
      const isThrown = member === "request" || member === "question"
      assert.strictEqual(Exit.isFailure(exit) && Cause.squash(exit.cause) === broken, isThrown)
      assert.include(noted, member)
    })
  )

  it.effect("Every observer is called when a connection ends, even if another one threw", () =>
    Effect.gen(function* () {
      const noted: Array<string> = []
      const failing: ClientObserver.ClientObserver = {
        opened: () => {
          throw broken
        }
      }
      const [transport] = yield* Memory.pair()
      const all = [failing, observerThat((name) => void noted.push(name))]
      const opening = observed(all, transport, yield* Clock.Clock)
      yield* Effect.scoped(opening?.opened ?? Effect.void)
      assert.deepStrictEqual(noted, ["opened", "closed"])
    })
  )
})
