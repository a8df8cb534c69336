/** A client over HTTP only talks to the server it was configured with. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { ask, wired } from "./support/peer.ts"
import * as Raw from "./support/raw.ts"

describe("Cross-origin redirects", () => {
  for (const [name, layer] of Raw.clients)
    it.effect(`A cross-origin redirect is not followed, and no part of the request is sent there (${name})`, () =>
      Effect.gen(function* () {
        const [server, other] = [yield* Raw.open, yield* Raw.open]
        const peer = yield* wired({ url: server.url })
        const asked = yield* ask(peer, "tools/list")
        yield* (yield* server.next).status(307, "", { location: other.url })
        const error = yield* Effect.flip(Fiber.join(asked))
        assert.match(String(error), /307/)
        assert.strictEqual(yield* other.waiting, 0)
      }).pipe(Effect.scoped, Effect.provide(layer))
    )
})
