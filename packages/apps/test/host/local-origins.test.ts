/** Views whose policy names this machine or a private network. */
import * as AppHost from "@effect-mcp/apps/AppHost"
import * as App from "@effect-mcp/apps/App"
import { Tool, Tools } from "@effect-mcp/core"
import { McpTest } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { isLocal } from "../../src/contract/Origins.ts"

const Dice = Tool.make("dice", { description: "Rolls a die" })
const api = "https://api.example.com"
const near = "http://localhost:8080"
const router = "https://192.168.0.1"

const features = Layer.merge(
  Tools.layer(Dice, () => Effect.succeed("4")),
  App.layer(Dice, {
    html: "<!doctype html><title>Dice</title>",
    csp: { connectDomains: [api, near], frameDomains: [router, near] }
  })
)

const read = (options: AppHost.Options) =>
  Effect.gen(function* () {
    const host = yield* AppHost.make(yield* McpTest.connect(features, "2026-07-28"), options)
    return (yield* host.read("ui://dice")).csp
  })

const all = { connectDomains: [api, near], resourceDomains: [], frameDomains: [router, near] }
const confined = { connectDomains: [api], resourceDomains: [], frameDomains: [] }

describe("Local origins of a view", () => {
  it.effect("Are removed from its policy by default", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* read({}), confined)
    })
  )

  it.effect("Are asked about, and kept if the host allows them", () =>
    Effect.gen(function* () {
      const asked: Array<unknown> = []
      const answering = (allowed: boolean) => (origins: ReadonlyArray<string>, view: string) =>
        Effect.as(
          Effect.sync(() => asked.push([view, ...origins])),
          allowed
        )
      assert.deepStrictEqual(yield* read({ allowLocal: answering(false) }), confined)
      assert.deepStrictEqual(yield* read({ allowLocal: answering(true) }), all)
      assert.deepStrictEqual(asked, [
        ["ui://dice", near, router],
        ["ui://dice", near, router]
      ])
    })
  )

  it.effect.each([
    ["throws", () => assert.fail("thrown")],
    ["dies", () => Effect.die("dead")],
    ["returns a promise", () => Promise.resolve(true)],
    ["returns text", () => Effect.succeed("yes")]
  ] as ReadonlyArray<readonly [string, () => any]>)("Are removed if allowLocal %s", ([, allowLocal]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* read({ allowLocal }), confined)
    })
  )

  it("Are found by name and by address, in every form that browsers read", () => {
    for (const origin of [
      near,
      router,
      "https://LOCALHOST",
      "ws://127.0.0.1:1",
      "http://[::1]:8080",
      "https://127.1",
      "https://0x7f.1",
      "https://017700000001.0",
      "https://10.0.0.1",
      "https://172.16.0.1",
      "https://169.254.169.254",
      "https://0.0.0.0",
      "https://a.localhost:*",
      "https://*.a.localhost",
      "https://*.127.0.0.1",
      "https://*.1.1",
      "https://*.168.1.1",
      "https://100.64.0.1",
      "https://100.127.255.254",
      "https://198.18.0.1",
      "https://239.255.255.250",
      "https://nas.local",
      "https://metadata.google.internal",
      "https://*.lan:8443",
      "wss://router.home.arpa"
    ])
      assert.isTrue(isLocal(origin), origin)
    for (const origin of [
      api,
      "https://*.example.com",
      "https://10.example.com",
      "https://172.32.0.1",
      "https://100.63.0.1",
      "https://100.128.0.1",
      "https://local.example.com",
      "https://home.arpa.example",
      "wss://8.8.8.8:*"
    ])
      assert.isFalse(isLocal(origin), origin)
  })
})
