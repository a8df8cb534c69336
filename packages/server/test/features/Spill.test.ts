/** Results that are too large to send: a preview, a link, and a resource that is read in ranges. */
import * as Content from "@effect-mcp/core/Content"
import * as Resources from "@effect-mcp/core/Resources"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import type * as McpServer from "@effect-mcp/server/McpServer"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import { TestClock } from "effect/testing"
import { everyVersion, session } from "../support/raw.ts"
import { all, big, letters, limit, read, testStore, uriOf, whole } from "../support/spilling.ts"

const Typed = Tool.make("typed", { description: "", input: { size: Schema.Int }, output: { text: Schema.String } })
const status = Resources.layer({ uri: "status://now", name: "status" }, Effect.succeed("well"))

testStore(
  "in memory",
  Effect.succeed({ features: Layer.empty, pass: (millis) => TestClock.adjust(millis) }),
  everyVersion()
)

describe.each(everyVersion())("a result that is too large (%s)", (version) => {
  const hasLinks = version >= "2025-06-18"

  it.effect("The client receives the start of the text, a link and instructions", () =>
    Effect.gen(function* () {
      const client = yield* session(big(letters), { version }, { limits: { spill: all } })
      const fits = yield* client.call("big", { size: limit })
      assert.deepStrictEqual(fits.content, [{ type: "text", text: letters(limit) }])
      const result = yield* client.call("big", { size: limit + 1 })
      assert.notProperty(result, "isError")
      const uri = uriOf(result)
      const [preview, link] = result.content
      assert.include(
        preview.text,
        'The result of the tool "big" is too large to send at once: 1001 bytes of text/plain'
      )
      assert.include(preview.text, `${uri}?from=0&to=400, then ${uri}?from=400&to=800, and so on up to 1001`)
      assert.isTrue(preview.text.endsWith(`It begins with these 100 bytes:\n\n${letters(100)}`))
      if (hasLinks) {
        assert.deepInclude(link, { type: "resource_link", uri, name: "big-result", mimeType: "text/plain", size: 1001 })
      } else assert.strictEqual(link.type, "text")
    })
  )

  it.effect("Many small blocks are kept as one JSON resource", () =>
    Effect.gen(function* () {
      const content = Array.from({ length: 300 }, (_, at) => ({ type: "text" as const, text: `block ${at}` }))
      const client = yield* session(
        big(() => content),
        { version },
        { limits: { spill: { ...all, rangeBytes: 1e6 } } }
      )
      const result = yield* client.call("big", { size: 0 })
      assert.lengthOf(result.content, 2)
      assert.deepStrictEqual(JSON.parse((yield* read(client, uriOf(result))).text), { content })
    })
  )

  it.effect("Structured content is kept as JSON, and the result has isError", () =>
    Effect.gen(function* () {
      const typed = Tools.layer(Typed, ({ size }) => Effect.succeed({ text: letters(size) }), {
        limits: { bytes: limit }
      })
      const client = yield* session(typed, { version }, { limits: { spill: { ...all, rangeBytes: 1e6 } } })
      const result = yield* client.call("typed", { size: 900 })
      assert.isTrue(result.isError)
      assert.notProperty(result, "structuredContent")
      const part = yield* read(client, uriOf(result))
      assert.strictEqual(part.mimeType, "application/json")
      assert.deepStrictEqual(JSON.parse(part.text), { text: letters(900) })
    })
  )

  it.effect("Results are kept by default if the server has resources and the revision has links", () =>
    Effect.gen(function* () {
      const spills = (
        features: Layer.Layer<never, never, McpServer.Registries>,
        options: Partial<McpServer.Options<never, never>> = {}
      ) =>
        Effect.flatMap(session(features, { version }, options), (client) =>
          Effect.map(client.call("big", { size: 1001 }), ({ isError }) => isError !== true)
        )
      assert.isFalse(yield* spills(big(letters)))
      assert.strictEqual(yield* spills(Layer.merge(big(letters), status)), hasLinks)
      assert.strictEqual(yield* spills(big(letters), { dynamic: true }), hasLinks)
      assert.strictEqual(yield* spills(big(letters), { limits: { spill: true } }), hasLinks)
      assert.isFalse(yield* spills(Layer.merge(big(letters), status), { limits: { spill: false } }))
    })
  )

  it.effect("A server configured to keep results declares resources but lists none of the results", () =>
    Effect.gen(function* () {
      const client = yield* session(big(letters), { version }, { limits: { spill: all } })
      assert.property(client.initialized.capabilities, "resources")
      yield* client.call("big", { size: 1001 })
      assert.deepStrictEqual((yield* client.request("resources/list")).resources, [])
      assert.deepStrictEqual((yield* client.request("resources/templates/list")).resourceTemplates, [])
    })
  )
})

it.effect("Ranges of any size join to the original text", () =>
  Effect.gen(function* () {
    const checked = yield* Arbitrary.checkEffect(
      Arbitrary.all({
        text: Arbitrary.schema(Schema.String),
        rangeBytes: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 50 })))
      }),
      ({ rangeBytes, text }) =>
        Effect.scoped(
          Effect.gen(function* () {
            const given = `${text.toWellFormed()}${"é".repeat(limit)}`
            const client = yield* session(
              big(() => given),
              {},
              { limits: { spill: { ...all, rangeBytes } } }
            )
            const parts = yield* whole(client, uriOf(yield* client.call("big", { size: 0 })))
            return parts.map(({ text }) => text).join("") === given
          })
        ),
      { runs: 20 }
    )
    assert.isUndefined(Arbitrary.formatCheckFailure(checked))
  })
)

describe.each(everyVersion())("embedded resources (%s)", (version) => {
  it.effect(
    "Embedding resources without declaring them is logged once per tool",
    () =>
      Effect.gen(function* () {
        const logged: Array<string> = []
        const logger = Logger.make(({ message }) => void logged.push(String(message)))
        const calls = (features: Layer.Layer<never, never, McpServer.Registries>) =>
          Effect.gen(function* () {
            const client = yield* session(features, { version })
            yield* client.call("big", { size: 0 })
            yield* client.call("big", { size: 0 })
            return logged.splice(0).filter((line) => line.includes("embeds resources"))
          }).pipe(Effect.provide(Logger.layer([logger])))
        const embedding = big(() => Content.resource("status://now", "well"))
        assert.lengthOf(yield* calls(embedding), 1)
        assert.lengthOf(yield* calls(Layer.merge(embedding, status)), 0)
        assert.lengthOf(yield* calls(big(letters)), 0)
      }),
    version >= "2025-06-18" ? verifies("tools.result.embedded-resource-capability") : {}
  )
})
