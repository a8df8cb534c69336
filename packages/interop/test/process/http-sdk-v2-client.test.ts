/** The official SDK v2 client drives the reference server over Streamable HTTP in 2026-07-28. */
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { connect as connectTo } from "node:net"
import { networkInterfaces } from "node:os"
import { ways } from "../support/http-server.ts"
import {
  answering,
  asks,
  call,
  connect,
  failure,
  interruption,
  Modern,
  progress,
  textOf,
  using
} from "../support/modern-sdk-v2.ts"
import { inlineTools } from "../support/names.ts"

const timeout = 30_000
const options = { timeout, excludeTestServices: true }

for (const [over, serve] of ways) {
  layer(
    Layer.effect(
      Modern,
      Effect.flatMap(serve, ({ url }) => connect({ url }))
    ),
    options
  )(`TypeScript SDK v2 clients over ${over}`, (it) => {
    it.effect(
      "The SDK client discovers, lists, reads and calls",
      () =>
        Effect.gen(function* () {
          const { client } = yield* Modern
          assert.strictEqual(client.getNegotiatedProtocolVersion(), "2026-07-28")
          assert.strictEqual((yield* using((client) => client.discover())).supportedVersions[0], "2026-07-28")
          const { tools } = yield* using((client) => client.listTools())
          assert.deepStrictEqual(
            tools.map(({ name }) => name),
            inlineTools
          )
          const { contents } = yield* using((client) => client.readResource({ uri: "test://static-text" }))
          assert.strictEqual(contents[0]?.uri, "test://static-text")
          assert.deepInclude(yield* call("add", { a: 1.5, b: 2 }), { structuredContent: { sum: 3.5 } })
          assert.strictEqual(textOf(yield* call("big", { bytes: 1_000_000 })).length, 1_000_000)
          assert.strictEqual((yield* failure(call("no_such_tool"))).code, -32602)
        }),
      verifies("http.endpoint.post", "discover.implemented")
    )

    it.effect(
      "The SDK client mirrors an argument into a header, regardless of its text",
      () =>
        Effect.gen(function* () {
          for (const region of ["nord", "sør", " padded ", "=?base64?literal?="]) {
            assert.strictEqual(textOf(yield* call("route", { region })), `Routed to ${region}.`)
          }
        }),
      verifies("http.params.validated", "http.params.decoded")
    )

    it.effect("The SDK client receives progress before the result", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* progress, [0, 50, 100])
      })
    )

    it.effect(
      "The SDK client stops a handler by hanging up and sees the interruption through a subscription",
      () =>
        Effect.gen(function* () {
          assert.deepInclude(yield* interruption("hung up"), { text: JSON.stringify(["hung up"]) })
        }),
      verifies("http.disconnect.cancels", "http.disconnect.stops")
    )

    it.effect(
      "The SDK client answers the server's questions in rounds",
      () =>
        Effect.gen(function* () {
          yield* answering("elicitation/create", () => ({ action: "accept", content: { name: "Ada", color: "red" } }))
          assert.strictEqual(textOf(yield* asks("elicitation")), "Hello, Ada!")
          assert.strictEqual(textOf(yield* asks("multi_round")), "Ada likes red")
        }),
      verifies("mrtr.server.asks-in-results", "http.post-stream.no-requests")
    )
  })

  describe(`The reference server over ${over}`, () => {
    it.live(
      "The reference server listens only on loopback",
      () =>
        Effect.gen(function* () {
          const { hostname, port } = new URL((yield* serve).url)
          const connects = (host: string) =>
            Effect.callback<boolean>((resume) => {
              const socket = connectTo({ host, port: Number(port) }, () => resume(Effect.succeed(true)))
              socket.on("error", () => resume(Effect.succeed(false)))
              return Effect.sync(() => void socket.destroy())
            })
          assert.strictEqual(hostname, "127.0.0.1")
          assert.isTrue(yield* connects(hostname))
          const others = Object.values(networkInterfaces()).flatMap((addresses = []) =>
            addresses.filter(({ family, internal }) => !internal && family === "IPv4")
          )
          for (const { address } of others) assert.isFalse(yield* connects(address), address)
        }),
      verifies("http.security.localhost")
    )

    it.live(
      "The reference server exits cleanly on SIGTERM while a client is subscribed",
      () =>
        Effect.gen(function* () {
          const { terminate, url } = yield* serve
          const modern = yield* connect({ url })
          const listen = yield* Effect.promise(() => modern.client.listen({ toolsListChanged: true }))
          // Nothing waits for the stream; an HTTP server alone would, for 20 seconds.
          const exit = yield* Effect.timeoutOption(terminate, "10 seconds")
          assert.strictEqual(exit._tag, "Some")
          assert.strictEqual(yield* Effect.promise(() => listen.closed), "graceful")
        }),
      timeout
    )
  })
}
