/** What the nodes of a session with guests say to each other. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { GuestLink } from "../../../src/http/session/GuestLink.ts"

describe("A response of another node about a guest", () => {
  it.effect.each([
    [200, "Success"],
    [503, "Failure"]
  ] as const)("A response of another node about a guest with status %d is a %s", ([status, tag]) =>
    Effect.gen(function* () {
      const nodes = {
        directory: { node: "here" },
        relay: { send: () => Effect.succeed({ status, headers: {}, body: "{}" }) }
      }
      const link = new GuestLink({ server: "server", nodes, clock: yield* Clock.Clock, own: () => [] })
      const exit = yield* Effect.exit(link.say("there", "session", { kind: "revoke", guest: 1 }))
      assert.strictEqual(exit._tag, tag)
    })
  )
})
