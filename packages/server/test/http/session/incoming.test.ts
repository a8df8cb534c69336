/**
 * The transport of a session over HTTP: POSTed messages can be tapped, changed and dropped, and the transport can fail, like any other.
 */
import type { Inbound } from "@effect-mcp/core/Transport"
import * as Transport from "@effect-mcp/core/Transport"
import type { Options } from "../../../src/http/Endpoint.ts"
import type * as McpServer from "@effect-mcp/server/McpServer"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Latch, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { make, until } from "../support/endpoint.ts"
import { echo } from "../support/http.ts"
import { callOf, initialize, revisions } from "../support/session.ts"

type Change = (transport: Transport.Transport) => Transport.Transport

/** Opens a session on a changed transport and returns a function that posts to it. */
const open = Effect.fnUntraced(function* (version: string, change: Change, options: Options = {}) {
  const changed = (server: McpServer.McpServer["Service"]): McpServer.McpServer["Service"] => ({
    ...server,
    connect: (transport, options) => server.connect(change(transport), options)
  })
  const endpoint = yield* make(echo, options, Layer.empty, changed)
  const opened = yield* endpoint.ask({ body: initialize(version) })
  assert.strictEqual(opened.status, 200)
  const headers = { "mcp-session-id": String(opened.headers["mcp-session-id"]), "mcp-protocol-version": version }
  const post = (body: unknown) => endpoint.ask({ headers, body })
  assert.strictEqual((yield* post({ jsonrpc: "2.0", method: "notifications/initialized" })).status, 202)
  return { endpoint, post, headers }
})

const methodOf = (inbound: Inbound): string =>
  inbound._tag === "Message" && "method" in inbound.message ? inbound.message.method : inbound._tag

const textOf = (json: any): unknown => json.result.content[0].text

/** Changes the arguments of calls. */
const shout = (inbound: Inbound): Inbound =>
  inbound._tag === "Message" && methodOf(inbound) === "tools/call"
    ? { ...inbound, message: JsonRpc.request(1, "tools/call", { name: "echo", arguments: { text: "HEI" } }) }
    : inbound

describe.each(revisions)("Session transport in %s", (version) => {
  it.effect("A tap sees each session message in order without affecting the answers", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const { post } = yield* open(
        version,
        Transport.tap((inbound) => void seen.push(methodOf(inbound)))
      )
      assert.strictEqual(textOf((yield* post(callOf("echo", { text: "hei" }))).json), "hei")
      assert.deepStrictEqual(seen, ["initialize", "notifications/initialized", "tools/call"])
    })
  )

  it.effect("The session handles the message returned by Transport.map", () =>
    Effect.gen(function* () {
      const { post } = yield* open(version, Transport.map(shout))
      assert.strictEqual(textOf((yield* post(callOf("echo", { text: "hei" }))).json), "HEI")
    })
  )

  it.effect("A replaced `incoming` is read, and requests are answered on their own POSTs", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const { post } = yield* open(version, (transport) => ({
        ...transport,
        incoming: Stream.tap(transport.incoming, (inbound) => Effect.sync(() => seen.push(methodOf(inbound))))
      }))
      const replies = yield* Effect.all(
        ["a", "b", "c"].map((text, id) => post(callOf("echo", { text }, id))),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        replies.map(({ json }) => [json.id, textOf(json)]),
        [
          [0, "a"],
          [1, "b"],
          [2, "c"]
        ]
      )
      assert.strictEqual(seen.length, 5)
    })
  )

  it.effect("A message dropped by Transport.filter is not handled, and others are", () =>
    Effect.gen(function* () {
      const { endpoint, headers, post } = yield* open(
        version,
        Transport.filter((inbound) => methodOf(inbound) !== "tools/call")
      )
      const dropped = yield* endpoint.send({ headers, body: callOf("echo", { text: "hei" }, 1) })
      assert.strictEqual((yield* post({ jsonrpc: "2.0", id: 2, method: "ping" })).status, 200)
      assert.isUndefined(dropped.status)
    })
  )

  it.effect("A dropped request counts as in flight until it times out", () =>
    Effect.gen(function* () {
      const { endpoint, headers, post } = yield* open(
        version,
        Transport.filter((inbound) => methodOf(inbound) !== "tools/call"),
        { inFlight: 2, sessions: { idle: "10 minutes" } }
      )
      for (const id of [1, 2, 3]) {
        const dropped = yield* endpoint.send({ headers, body: callOf("echo", { text: "hei" }, id) })
        dropped.leave()
      }
      yield* TestClock.adjust("3 minutes")
      assert.strictEqual((yield* post({ jsonrpc: "2.0", id: 1, method: "ping" })).status, 200)
      yield* TestClock.adjust("11 minutes")
      yield* until(() => endpoint.openSessions() === 0, "the end of the session")
    })
  )

  it.effect("An error thrown by a tap ends the session and answers open requests with an error", () =>
    Effect.gen(function* () {
      const { endpoint, headers, post } = yield* open(
        version,
        Transport.tap((inbound) => {
          if (methodOf(inbound) === "tools/list") throw new Error("tap")
        })
      )
      assert.strictEqual((yield* post(callOf("echo", { text: "hei" }))).status, 200)
      const failed = yield* post({ jsonrpc: "2.0", id: 3, method: "tools/list" })
      assert.strictEqual(failed.json.error.code, -31503)
      yield* until(() => endpoint.openSessions() === 0, "the end of the session")
      const next = yield* endpoint.ask({ headers, body: { jsonrpc: "2.0", id: 3, method: "ping" } })
      assert.strictEqual(next.status, 404)
    })
  )

  it.effect("A failing stream ends the session and answers undelivered requests with an error", () =>
    Effect.gen(function* () {
      const { endpoint, post } = yield* open(version, (transport) => ({
        ...transport,
        incoming: Stream.mapEffect(transport.incoming, (inbound) =>
          methodOf(inbound) === "ping"
            ? Effect.fail(new Transport.TransportError({ reason: "Read", message: "cut" }))
            : Effect.succeed(inbound)
        )
      }))
      assert.strictEqual((yield* post(callOf("echo", { text: "hei" }))).status, 200)
      assert.strictEqual((yield* post({ jsonrpc: "2.0", id: 3, method: "ping" })).json.error.code, -31503)
      yield* until(() => endpoint.openSessions() === 0, "the end of the session")
      assert.strictEqual((yield* post(callOf("echo", { text: "hei" }))).status, 404)
    })
  )

  it.effect("A session with a slow reader answers 429 above its limit of unread messages", () =>
    Effect.gen(function* () {
      const reads = yield* Latch.make()
      const seen: Array<string> = []
      const { endpoint, headers, post } = yield* open(
        version,
        (transport) => ({
          ...transport,
          incoming: Stream.tap(transport.incoming, (inbound) => {
            seen.push(methodOf(inbound))
            return methodOf(inbound) === "notifications/progress" ? reads.await : Effect.void
          })
        }),
        { sessions: { unread: 4 } }
      )
      const progress = { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 1, progress: 1 } }
      yield* until(() => seen.length === 2, "the end of the handshake")
      let accepted = 0
      while (accepted < 50 && (yield* post(progress)).status === 202) accepted++
      // The reader may already have pulled as many.
      assert.isTrue(accepted >= 4 && accepted <= 9, `${accepted} were accepted`)
      for (const body of [progress, { jsonrpc: "2.0", id: 1, result: {} }, { jsonrpc: "2.0", id: 1, result: 1 }]) {
        const refused = yield* post(body)
        assert.deepStrictEqual([refused.status, refused.headers["retry-after"]], [429, "1"])
      }
      const ping = yield* endpoint.send({ headers, body: { jsonrpc: "2.0", id: 1, method: "ping" } })
      yield* reads.open
      yield* until(() => ping.status === 200, "the answer to the ping")
      assert.strictEqual(seen.length, accepted + 3)
      assert.strictEqual((yield* post(progress)).status, 202)
    })
  )

  it.effect("A broken transport ends the session", () =>
    Effect.gen(function* () {
      const broken = yield* Deferred.make<never, Transport.TransportError>()
      const { endpoint, post } = yield* open(version, (transport) => ({
        ...transport,
        broken: Deferred.await(broken)
      }))
      assert.strictEqual((yield* post(callOf("echo", { text: "hei" }))).status, 200)
      yield* Deferred.fail(broken, new Transport.TransportError({ reason: "Write", message: "broken" }))
      yield* until(() => endpoint.openSessions() === 0, "the end of the session")
      assert.strictEqual((yield* post(callOf("echo", { text: "hei" }))).status, 404)
    })
  )
})
