/** The guard by itself, without a network: until when a response may last. */
import * as Auth from "@effect-mcp/auth/server/Auth"
import { TokenVerifier } from "@effect-mcp/auth/server/TokenVerifier"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Queue, Stream } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { initialize, modern, revisions } from "./support/protected.ts"

const resource = "https://mcp.example.com/mcp"
const issuer = "https://auth.example.com"

/** A guard whose verifier takes every token, which ends a minute after 1970 began. */
const guard = Auth.layer({ resource, authorizationServers: [issuer], clockSkew: "30 seconds" }).pipe(
  Layer.provide(
    Layer.succeed(TokenVerifier, {
      verify: () => Effect.succeed({ iss: issuer, aud: resource, sub: "alice", exp: 60 })
    })
  )
)

/** The request of a revision for a stream that its client keeps open. */
const standing = (revision: string) => {
  const headers = { authorization: "Bearer a" }
  return revision === "2026-07-28"
    ? new Request(resource, {
        method: "POST",
        headers: { ...headers, "mcp-method": "subscriptions/listen", "mcp-protocol-version": revision },
        body: JSON.stringify(modern("subscriptions/listen", { notifications: {} }))
      })
    : new Request(resource, { headers: { ...headers, "mcp-session-id": "1", "mcp-protocol-version": revision } })
}

/** The response to an admitted request, a stream: what is sent on it, and what its client sees. */
const open = Effect.fnUntraced(function* (request: Request) {
  const { admit, respond } = yield* Auth.Guard
  const admitted = yield* Effect.catch(admit(HttpServerRequest.fromWeb(request)), ({ status }) =>
    Effect.die(new Error(`Refused with ${status}`))
  )
  const sent = yield* Queue.unbounded<Uint8Array>()
  const seen = yield* Queue.unbounded<"a chunk" | "the end">()
  const response = HttpServerResponse.stream(Stream.fromQueue(sent), { contentType: "text/event-stream" })
  const { body } = yield* respond(admitted, response)
  if (body._tag !== "Stream") return assert.fail("the response is no stream any more")
  const reading = Effect.andThen(
    Stream.runForEach(body.stream, () => Queue.offer(seen, "a chunk")),
    Queue.offer(seen, "the end")
  )
  yield* Effect.forkChild(reading)
  return { send: Queue.offer(sent, new Uint8Array([46])), next: Queue.take(seen) }
})

describe.each(revisions)("Guard at %s", (revision) => {
  it.effect(
    "A stream that its client keeps open ends when its token and the clocks' difference do, and no sooner",
    () =>
      Effect.gen(function* () {
        const { next, send } = yield* open(standing(revision))
        yield* send
        assert.strictEqual(yield* next, "a chunk")
        yield* TestClock.adjust("89999 millis")
        yield* send
        assert.strictEqual(yield* next, "a chunk")
        yield* TestClock.adjust("1 millis")
        assert.strictEqual(yield* next, "the end")
      }).pipe(Effect.provide(guard))
  )

  it.effect("A stream that answers a request outlasts its token", () =>
    Effect.gen(function* () {
      const message = revision === "2026-07-28" ? modern("tools/list") : initialize(revision)
      const request = new Request(resource, {
        method: "POST",
        headers: { authorization: "Bearer a", "mcp-method": message.method },
        body: JSON.stringify(message)
      })
      const { next, send } = yield* open(request)
      yield* send
      assert.strictEqual(yield* next, "a chunk")
      yield* TestClock.adjust("10 minutes")
      yield* send
      assert.strictEqual(yield* next, "a chunk")
    }).pipe(Effect.provide(guard))
  )
})
