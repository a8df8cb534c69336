/** A session over HTTP that ends while it connects: its POST is answered, and the session leaves the table. */
import type { Options } from "../../../src/http/Endpoint.ts"
import type * as McpServer from "@effect-mcp/server/McpServer"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { make, type Sent, until } from "../support/endpoint.ts"
import { echo } from "../support/http.ts"
import { callOf, initialize, revisions } from "../support/session.ts"

type Server = McpServer.McpServer["Service"]

/** Serves an echo on a server with a replaced `connect`. */
const serve = (options: Options, connect: (server: Server) => Server["connect"]) =>
  make(echo, options, Layer.empty, (server) => ({ ...server, connect: connect(server) }))

describe.each(revisions)("A connecting %s session", (version) => {
  const posts: ReadonlyArray<readonly [string, Options, Sent]> = [
    ["at an endpoint with sessions", {}, { body: initialize(version) }],
    ["at an endpoint without sessions", { sessions: false }, { body: initialize(version) }],
    [
      "for a call without sessions",
      { sessions: false },
      { headers: { "mcp-protocol-version": version }, body: callOf("echo", { text: "hei" }) }
    ]
  ]

  for (const [where, options, sent] of posts) {
    it.effect(`Shutdown does not wait for a session connecting ${where}, which is answered with 500`, () =>
      Effect.gen(function* () {
        const endpoint = yield* serve({ drain: 0, ...options }, () => () => Effect.never)
        const reply = yield* endpoint.send(sent)
        const ending = yield* Effect.forkChild(endpoint.end(), { startImmediately: true })
        yield* TestClock.adjust("1 second")
        yield* until(() => reply.status !== undefined, "a status")
        yield* Fiber.join(ending)
        assert.strictEqual(reply.status, 500)
      })
    )

    it.effect(`A client that disconnects while connecting ${where} ends the session`, () =>
      Effect.gen(function* () {
        const interrupted = yield* Deferred.make<void>()
        const waiting = Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined))
        const waits = [true]
        const limit: Options = options.sessions === false ? {} : { sessions: { capacity: 1 } }
        const endpoint = yield* serve(
          { ...options, ...limit },
          ({ connect }) =>
            (...connecting) =>
              waits.pop() === true ? waiting : connect(...connecting)
        )
        const reply = yield* endpoint.send(sent)
        reply.leave()
        yield* Deferred.await(interrupted)
        assert.strictEqual((yield* endpoint.ask(sent)).status, 200)
      })
    )
  }
})
