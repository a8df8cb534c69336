/** What becomes of a request whose connection is lost while the module that would send it again cannot be loaded. */
import { Closed } from "@effect-mcp/core/Peer"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { imported } from "../../src/internal/Late.ts"
import * as FirstTry from "../../src/reconnect/FirstTry.ts"

const closed = new Closed({ message: "The wire was cut" })

const failing = (isOpen: boolean) =>
  FirstTry.make({
    late: { loaded: () => undefined, load: imported(() => Promise.reject(new TypeError("The module was not found"))) },
    policy: {},
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the first try reads these two
    reconnect: { latest: () => undefined, isOpen: () => isOpen } as unknown as FirstTry.Options["reconnect"]
  })({ attempt: () => Effect.fail(closed), safe: true })

describe("A first try whose module of retries cannot be loaded", () => {
  it.effect("The request fails as its connection did", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* Effect.flip(failing(true)), closed)
    })
  )

  it.effect("A request without a connection fails with Closed, and was not sent", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(failing(false))
      assert.deepInclude(error, { _tag: "Closed", unsent: true })
    })
  )
})
