/** The guard without a network: how long a response may last. */
import * as Auth from "@effect-mcp/auth/server/Auth"
import { TokenVerifier } from "@effect-mcp/auth/server/TokenVerifier"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Queue, Stream } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { initialize, modern, revisions } from "./support/protected.ts"

const resource = "https://mcp.example.com/mcp"
const issuer = "https://auth.example.com"

/** A guard that accepts every token until a minute after the epoch. */
const guard = Auth.layer({ resource, authorizationServers: [issuer], clockSkew: "30 seconds" }).pipe(
  Layer.provide(
    Layer.succeed(TokenVerifier, {
      verify: () => Effect.succeed({ iss: issuer, aud: resource, sub: "alice", exp: 60 })
    })
  )
)

/** The request that opens a long-lived stream in a revision. */
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

/** The streamed response to an admitted request: a way to send on it, and the text that the client receives. */
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

describe("Guard callbacks", () => {
  const admitted = (verify: () => any, satisfies?: () => any) =>
    Effect.gen(function* () {
      const { admit } = yield* Auth.Guard
      return yield* admit(HttpServerRequest.fromWeb(standing("2025-11-25")))
    }).pipe(
      Effect.provide(
        Auth.layer({ resource, authorizationServers: [issuer], scopes: ["use"], satisfies }).pipe(
          Layer.provide(Layer.succeed(TokenVerifier, { verify }))
        )
      )
    )
  const accept = () => Effect.succeed({ iss: issuer, aud: resource, sub: "alice", exp: 60 })
  const wrong: ReadonlyArray<readonly [string, () => any]> = [
    ["throws", () => assert.fail("thrown")],
    ["returns a rejected promise", () => Promise.reject(new Error("rejected"))],
    ["returns a promise", () => Promise.resolve(true)],
    ["returns undefined", () => undefined],
    ["returns a text", () => "yes"]
  ]

  it.effect.each(wrong)("A verifier that %s admits no request, and finalizers run", ([, verify]) =>
    Effect.gen(function* () {
      let isReleased = false
      const exit = yield* Effect.exit(
        Effect.ensuring(
          admitted(verify),
          Effect.sync(() => (isReleased = true))
        )
      )
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      assert.isTrue(isReleased)
    })
  )

  it.effect.each(wrong)("A satisfies function that %s grants no scope", ([, satisfies]) =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(admitted(accept, satisfies))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
    })
  )

  it.effect("A satisfies function that returns true grants the scope", () => admitted(accept, () => true))
})

describe.each(revisions)("Guard at %s", (revision) => {
  it.effect("A stream opened by the client ends when its token expires", () =>
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

  it.effect("A stream that answers a request outlives its token", () =>
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
