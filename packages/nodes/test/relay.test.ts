/** The relay over HTTP: strangers are kept out, and whether a request may have run is known. */
import type { RelayedRequest, RelayedResponse, RelayError } from "@effect-mcp/server/Nodes"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { make } from "../src/relay/HttpRelay.ts"

const request: RelayedRequest = {
  server: "test",
  session: "s\u00e9",
  method: "POST",
  url: "/mcp?a=1",
  headers: { accept: "text/event-stream", "x-odd": "\u00fc" },
  body: new TextEncoder().encode('{"jsonrpc":"2.0"}'),
  principal: { subject: "ada", scopes: ["a"], claims: { iss: "https://issuer.test" } },
  address: "10.0.0.1"
}

const pair = Effect.gen(function* () {
  const options = { host: "127.0.0.1" }
  return { a: yield* make(options, "secret"), b: yield* make(options, "secret") }
})

const serving = (response: Partial<RelayedResponse>, seen: Array<RelayedRequest> = []) => ({
  server: "test",
  answer: (request: RelayedRequest) =>
    Effect.sync((): RelayedResponse => {
      seen.push(request)
      return { status: 200, headers: {}, body: Stream.empty, ...response }
    })
})

describe("A relay over HTTP", () => {
  it.live("carries a request whole, and its response as it is written", () =>
    Effect.gen(function* () {
      const { a, b } = yield* pair
      const seen: Array<RelayedRequest> = []
      const parts = ["one", "two"].map((text) => new TextEncoder().encode(text))
      yield* b.relay.serve(
        serving({ status: 418, headers: { "mcp-session-id": "s" }, body: Stream.fromIterable(parts) }, seen)
      )
      const { body, headers, status } = yield* a.relay.send(`id ${b.address}`, request)
      assert.deepStrictEqual([status, headers], [418, { "mcp-session-id": "s" }])
      assert.strictEqual(new TextDecoder().decode(yield* Stream.mkUint8Array(body)), "onetwo")
      const received = seen[0]!
      assert.deepStrictEqual({ ...received, body: new Uint8Array(received.body ?? []) }, request)
    })
  )

  it.live("answers a stranger by 403, and calls no endpoint", () =>
    Effect.gen(function* () {
      const { b } = yield* pair
      const seen: Array<RelayedRequest> = []
      yield* b.relay.serve(serving({}, seen))
      const stranger = yield* make({ host: "127.0.0.1" }, "guessed")
      const refused = yield* Effect.flip(stranger.relay.send(`id ${b.address}`, request))
      assert.deepStrictEqual([refused.reason, seen], ["Cut", []])
      const bare = yield* Effect.promise(() => fetch(`http://${b.address}/`, { method: "POST" }))
      assert.strictEqual(bare.status, 403)
    })
  )

  it.live("tells a request that no server has seen from one that may have run", () =>
    Effect.gen(function* () {
      const { a, b } = yield* pair
      const reasonOf = (effect: Effect.Effect<RelayedResponse, RelayError, never>) =>
        Effect.map(Effect.flip(effect), ({ reason }) => reason)
      const send = (address: string) => Effect.scoped(a.relay.send(`id ${address}`, request))
      assert.strictEqual(yield* reasonOf(send("127.0.0.1:1")), "NotSent")
      assert.strictEqual(yield* reasonOf(send(b.address)), "NotSent")
      const broken = Stream.concat(Stream.succeed(new Uint8Array(1)), Stream.die(new Error("secret")))
      yield* b.relay.serve(serving({ body: broken }))
      const { body } = yield* a.relay.send(`id ${b.address}`, request)
      assert.strictEqual((yield* Effect.flip(Stream.runDrain(body))).reason, "Cut")
    })
  )

  it.live("carries claims that JSON does not have, and refuses those that no other process can have", () =>
    Effect.gen(function* () {
      const { a, b } = yield* pair
      const seen: Array<RelayedRequest> = []
      yield* b.relay.serve(serving({}, seen))
      const sent = (claims: object) =>
        a.relay.send(`id ${b.address}`, {
          ...request,
          principal: { subject: "ada", scopes: [], claims: { ...claims } }
        })
      const claims = { id: 1n, at: new Date(5), groups: new Map([["a", 1]]), none: undefined }
      yield* sent(claims)
      assert.deepStrictEqual(seen[0]?.principal?.claims, claims)
      assert.strictEqual((yield* Effect.flip(sent({ act: () => {} }))).reason, "NotSent")
      assert.lengthOf(seen, 1)
    })
  )

  it.live("cannot be made at a port that is in use, by a typed error that names it", () =>
    Effect.gen(function* () {
      const { b } = yield* pair
      const port = Number(b.address.split(":").at(-1))
      const error = yield* Effect.flip(make({ host: "127.0.0.1", port }, "secret"))
      assert.strictEqual(error._tag, "NodesUnavailable")
      assert.include(error.message, String(port))
    })
  )
})
