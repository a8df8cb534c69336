/** Consent to what leaves a client: asked for before it does. */
import * as Consent from "@effect-mcp/client/Consent"
import type { Version } from "@effect-mcp/protocol/Revision"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { all, connected } from "../support/connected.ts"

describe("Consent", () => {
  const calls = (version: Version) =>
    connected({
      version,
      answers: {
        "tools/list": () => ({
          tools: [{ name: "x", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } }]
        }),
        "tools/call": () => ({ content: [] })
      }
    })

  it.effect.each(all)(
    "Consent over %s is asked before a tool is called, and gets the outcome",
    (version) =>
      Effect.gen(function* () {
        const asks: Array<Consent.Action> = []
        const audits: Array<string> = []
        const policy = Consent.layer({
          ask: (action) => Effect.sync(() => asks.push(action) === 1),
          audit: (_, outcome) => Effect.sync(() => void audits.push(outcome._tag))
        })
        const { client, server } = yield* calls(version).pipe(Effect.provide(policy))
        yield* client.callToolByName("x", { a: 1 })
        yield* Stream.runDrain(client.listTools)
        assert.strictEqual((yield* Effect.flip(client.callToolByName("x")))._tag, "ConsentDenied")
        assert.strictEqual(server.requests("tools/call").length, 1)
        assert.deepStrictEqual(audits, ["Success", "Failure"])
        const [first, second] = asks as ReadonlyArray<Extract<Consent.Action, { _tag: "CallTool" }>>
        assert.strictEqual(first?.tool, "x")
        assert.deepStrictEqual(first?.arguments, { a: 1 })
        assert.strictEqual(first?.server.name, "scripted")
        assert.isUndefined(first?.annotations)
        // Told as what the server says of itself; nothing here believes it.
        assert.deepStrictEqual(second?.annotations, { readOnlyHint: true })
      }),
    verifies("tools.security.audited", "tools.annotations.untrusted")
  )

  it.effect("Consent can be refused altogether", () =>
    Effect.gen(function* () {
      const { client } = yield* calls("2025-11-25").pipe(Effect.provide(Consent.layerDeny))
      assert.strictEqual((yield* Effect.flip(client.callToolByName("x")))._tag, "ConsentDenied")
    })
  )
})
