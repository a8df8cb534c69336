/** Long-lived responses: when the guard admits and ends them. */
import * as Auth from "@effect-mcp/auth/server/Auth"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as Headers from "@effect-mcp/protocol/Headers"
import { since } from "@effect-mcp/spec/Requirement"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Latch, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { initialize, modern, open as openProtected, request, type Revision } from "./support/protected.ts"

const sessionStart = initialize("2025-11-25")
const call = (name: string) => ({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: {} } })

const who = Effect.map(Auth.caller, ({ subject }) => subject)
const features = Layer.mergeAll(
  Tools.layer(Tool.make("whoami", { description: "Who calls." }), () => who),
  Tools.layer(Tool.make("more", { description: "Needs more." }), () => who).pipe(Auth.requires("more"))
)

interface Reading {
  readonly status: number
  /** Reads the response until it contains `text` or ends. */
  readonly upTo: (text: string) => Effect.Effect<string>
  readonly rest: Effect.Effect<string>
}

/** A response that is read piece by piece. */
const read = (url: string, init: RequestInit): Effect.Effect<Reading, never, Scope.Scope> =>
  Effect.gen(function* () {
    const abort = new AbortController()
    yield* Effect.addFinalizer(() => Effect.sync(() => abort.abort()))
    const response = yield* Effect.promise(() => fetch(url, { ...init, signal: abort.signal }))
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    const until = (ends: (text: string) => boolean) =>
      Effect.promise(async () => {
        let text = ""
        while (!ends(text)) {
          const next = await reader?.read()
          if (next?.value === undefined) break
          text += next.value
        }
        return text
      })
    return { status: response.status, upTo: (text) => until((all) => all.includes(text)), rest: until(() => false) }
  })

const stream = { accept: "text/event-stream" }

const lateAnswer = (revision: Revision) =>
  Effect.gen(function* () {
    const running = yield* Deferred.make<void>()
    const latch = yield* Latch.make()
    const slow = Tools.layer(Tool.make("slow", { description: "Takes long." }), () =>
      Effect.as(Effect.andThen(Deferred.succeed(running, undefined), latch.await), "done")
    )
    const { bearer, post } = yield* openProtected({ revision, features: slow })
    const calling = yield* Effect.forkChild(
      post("tools/call", { name: "slow", arguments: {} }, yield* bearer({ lifetime: 60 }))
    )
    yield* Deferred.await(running)
    yield* TestClock.adjust("2 minutes")
    yield* latch.open
    const { text } = yield* Fiber.join(calling)
    assert.include(text, "done")
  })

describe.each(since("2025-03-26", "2025-11-25"))("Streams at %s", (revision) => {
  it.effect("A session stream ends with its token and can be reopened with a new one", () =>
    Effect.gen(function* () {
      const { bearer, send, url } = yield* openProtected({ features })
      const early = yield* bearer({ lifetime: 60 })
      const late = yield* bearer({ lifetime: 3600 })
      const session = {
        "mcp-session-id": (yield* send(initialize(revision), early)).headers.get("mcp-session-id") ?? ""
      }
      const own = yield* read(url, { headers: { ...stream, ...session, ...early } })
      assert.strictEqual(own.status, 200)
      yield* TestClock.adjust("89 seconds")
      yield* own.upTo("keep-alive")
      yield* TestClock.adjust("1 second")
      yield* own.rest
      assert.strictEqual((yield* request(url, { headers: { ...stream, ...session, ...early } })).status, 401)
      const again = yield* read(url, { headers: { ...stream, ...session, ...late } })
      assert.strictEqual(again.status, 200)
    })
  )

  it.effect("An answer is delivered even after the token expired", () => lateAnswer(revision))
})

describe("Streams in 2026-07-28", () => {
  it.effect("A subscription ends with its token", () =>
    Effect.gen(function* () {
      const { bearer, url } = yield* openProtected({ features })
      const message = modern("subscriptions/listen", { notifications: { toolsListChanged: true } })
      const headers = {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...Headers.of(message),
        ...(yield* bearer({ lifetime: 60 }))
      }
      const listening = yield* read(url, { method: "POST", headers, body: JSON.stringify(message) })
      assert.strictEqual(listening.status, 200)
      yield* listening.upTo("subscriptions/acknowledged")
      yield* TestClock.adjust("90 seconds")
      yield* listening.rest
    })
  )

  it.effect("An answer is delivered even after the token expired", () => lateAnswer("2026-07-28"))
})

describe("HTTP with SSE streams", () => {
  it.effect("HTTP with SSE rejects a stream or POST without its caller's token", () =>
    Effect.gen(function* () {
      const { bearer, origin } = yield* openProtected({ features, sse: true })
      const refused = yield* request(`${origin}/sse`, { headers: stream })
      assert.strictEqual(refused.status, 401)
      assert.include(
        refused.headers.get("www-authenticate"),
        `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`
      )
      const alice = yield* bearer({ subject: "alice", lifetime: 60 })
      const session = yield* read(`${origin}/sse`, { headers: { ...stream, ...alice } })
      const [, path = ""] = /data: (\S+)/.exec(yield* session.upTo("\n\n")) ?? []
      const post = (message: object, headers: Readonly<Record<string, string>> = {}) =>
        request(new URL(path, origin).href, {
          method: "POST",
          headers: { "content-type": "application/json", ...headers },
          body: JSON.stringify(message)
        })
      assert.strictEqual((yield* post(sessionStart)).status, 401)
      assert.strictEqual((yield* post(sessionStart, yield* bearer({ subject: "mallory" }))).status, 404)
      assert.strictEqual((yield* post(sessionStart, alice)).status, 202)
      yield* session.upTo("serverInfo")
      yield* post({ jsonrpc: "2.0", method: "notifications/initialized" }, alice)
      assert.strictEqual((yield* post(call("whoami"), alice)).status, 202)
      assert.include(yield* session.upTo("\n\n"), '"text":"alice"')
      // The response to a POST has started by then, so the missing scope is reported on the stream.
      assert.strictEqual((yield* post(call("more"), alice)).status, 202)
      assert.match(yield* session.upTo("\n\n"), /"code":-31403.*"scope":"more"/)
      const renewed = yield* bearer({ subject: "alice", scopes: ["more"] })
      yield* TestClock.adjust("90 seconds")
      yield* session.upTo("keep-alive")
      assert.strictEqual((yield* post(call("more"), alice)).status, 401)
      assert.strictEqual((yield* post(call("more"), renewed)).status, 202)
      assert.include(yield* session.upTo('"text"'), '"text":"alice"')
    })
  )
})
