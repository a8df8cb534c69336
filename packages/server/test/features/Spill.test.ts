/** Results that are too large to send: a preview, a link, and a resource that is read in ranges. */
import * as Content from "@effect-mcp/core/Content"
import type { Principal } from "@effect-mcp/core/Principal"
import * as Resources from "@effect-mcp/core/Resources"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as McpServer from "@effect-mcp/server/McpServer"
import type * as Limits from "@effect-mcp/server/Limits"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import { TestClock } from "effect/testing"
import { connect, everyVersion, serve, session } from "../support/raw.ts"

const limit = 1000
const Big = Tool.make("big", { description: "", input: { size: Schema.Int } })
const Typed = Tool.make("typed", { description: "", input: { size: Schema.Int }, output: { text: Schema.String } })
const big = (output: (size: number) => Tool.ToolOutput) =>
  Tools.layer(Big, ({ size }) => Effect.succeed(output(size)), { limits: { bytes: limit } })
const letters = (size: number) => Array.from({ length: size }, (_, at) => "abcdefghij"[at % 10]).join("")
const status = Resources.layer({ uri: "status://now", name: "status" }, Effect.succeed("well"))
const all: Limits.SpillOptions = { rangeBytes: 400, previewBytes: 100, withoutLinks: true }
const ada: Principal["Service"] = { subject: "ada", scopes: [], claims: {} }
const bob: Principal["Service"] = { subject: "bob", scopes: [], claims: {} }

type Client = Effect.Success<ReturnType<typeof session>>
const uriOf = (result: any): string => /result:\/\/[\w-]{43}/.exec(result.content[0].text)?.[0] ?? assert.fail("no URI")
const read = (client: Client, uri: string) =>
  Effect.map(client.request("resources/read", { uri }), ({ contents }) => contents[0])

/** Follows the ranges to the end, and joins them. */
const whole = Effect.fnUntraced(function* (client: Client, uri: string) {
  const parts: Array<any> = []
  let next: string | undefined = uri
  while (next !== undefined) {
    const part: any = yield* read(client, next)
    parts.push(part)
    next = part._meta?.["effect-mcp/next"]
  }
  return parts
})

describe.each(everyVersion())("a result that is too large (%s)", (version) => {
  const hasLinks = version >= "2025-06-18"
  const hasMeta = hasLinks

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

  it.effect("The whole text can be read in ranges, from the beginning or by position", () =>
    Effect.gen(function* () {
      const client = yield* session(big(letters), { version }, { limits: { spill: all } })
      const uri = uriOf(yield* client.call("big", { size: 1001 }))
      for (const [range, from, to] of [
        ["", 0, 400],
        ["?from=0", 0, 400],
        ["?from=990", 990, 1001],
        ["?from=10&to=20", 10, 20],
        ["?from=0&to=999999", 0, 400]
      ] as const) {
        const part = yield* read(client, uri + range)
        assert.strictEqual(part.text, letters(1001).slice(from, to), range)
        assert.strictEqual(part.uri, `${uri}?from=${from}&to=${to}`)
        assert.strictEqual(part.mimeType, "text/plain")
        if (hasMeta) assert.strictEqual(part._meta["effect-mcp/size"], 1001)
      }
      if (hasMeta) {
        const parts = yield* whole(client, uri)
        assert.strictEqual(parts.map(({ text }) => text).join(""), letters(1001))
      }
      for (const range of ["?from=1001", "?from=10&to=10", "?from=10&to=9"]) {
        assert.strictEqual((yield* client.refused("resources/read", { uri: uri + range })).code, McpError.InvalidParams)
      }
      for (const other of ["?to=5", "?from=-1", "?from=1e3", "/", "?from=1&to=2&to=3", "?from=9999999999999999"]) {
        const { code } = yield* client.refused("resources/read", { uri: uri + other })
        assert.strictEqual(code, version === "2026-07-28" ? McpError.InvalidParams : McpError.ResourceNotFound, other)
      }
    })
  )

  it.effect("Ranges of text never split a character, and join to the whole text", () =>
    Effect.gen(function* () {
      const text = "a€😀é".repeat(200)
      const client = yield* session(
        big(() => text),
        { version },
        { limits: { spill: { ...all, rangeBytes: 7 } } }
      )
      const uri = uriOf(yield* client.call("big", { size: 0 }))
      const size = new TextEncoder().encode(text).length
      let joined = ""
      for (let from = 0; from < size; from += 7)
        joined += (yield* read(client, `${uri}?from=${from}&to=${from + 7}`)).text
      assert.strictEqual(joined, text)
      // The emoji has four bytes.
      assert.strictEqual((yield* read(client, `${uri}?from=4&to=5`)).text, "😀")
    })
  )

  it.effect("Media keep their bytes and type, and other blocks are sent as usual", () =>
    Effect.gen(function* () {
      const bytes = Uint8Array.from({ length: 900 }, (_, at) => at % 251)
      const output = [Content.text("A picture:"), Content.image(bytes, "image/png"), Content.text("Nice?")]
      const client = yield* session(
        big(() => output),
        { version },
        { limits: { spill: all } }
      )
      const result = yield* client.call("big", { size: 0 })
      assert.deepStrictEqual(result.content[0], output[0])
      assert.deepStrictEqual(result.content.at(-1), output[2])
      const uri = uriOf({ content: [result.content[1]] })
      assert.include(result.content[1].text, "900 bytes of image/png")
      const parts: Array<number> = []
      for (const from of [0, 400, 800]) {
        const part = yield* read(client, `${uri}?from=${from}`)
        assert.strictEqual(part.mimeType, "image/png")
        parts.push(...Buffer.from(part.blob, "base64"))
      }
      assert.deepStrictEqual(parts, [...bytes])
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

  it.effect("A result is dropped after its time to live", () =>
    Effect.gen(function* () {
      const client = yield* session(
        big(letters),
        { version },
        { limits: { spill: { ...all, timeToLive: "1 minute" } } }
      )
      const uri = uriOf(yield* client.call("big", { size: 1001 }))
      yield* TestClock.adjust("59 seconds")
      yield* read(client, uri)
      yield* TestClock.adjust("1 second")
      yield* client.refused("resources/read", { uri })
    })
  )

  it.effect("Only the principal that made the call can read its result", () =>
    Effect.gen(function* () {
      const server = yield* serve({ features: big(letters), limits: { spill: all } })
      const as = (principal?: Principal["Service"]) => connect(server, { version, ...(principal && { principal }) })
      const [first, again, other, nobody] = [yield* as(ada), yield* as(ada), yield* as(bob), yield* as()]
      const uri = uriOf(yield* first.call("big", { size: 1001 }))
      assert.lengthOf((yield* read(again, uri)).text, 400)
      for (const client of [other, nobody]) yield* client.refused("resources/read", { uri })
      // Without a principal, who knows the URI may read.
      const open = uriOf(yield* nobody.call("big", { size: 1001 }))
      assert.lengthOf((yield* read(yield* as(), open)).text, 400)
      yield* other.refused("resources/read", { uri: open })
    })
  )

  it.effect("A caller over its limit loses only its own oldest result", () =>
    Effect.gen(function* () {
      const options = { ...all, callerBytes: 4000, totalBytes: 100_000 }
      const server = yield* serve({ features: big(letters), limits: { spill: options } })
      const [first, other] = [
        yield* connect(server, { version, principal: ada }),
        yield* connect(server, { version, principal: bob })
      ]
      const kept = uriOf(yield* other.call("big", { size: 2000 }))
      const oldest = uriOf(yield* first.call("big", { size: 2000 }))
      const newer = uriOf(yield* first.call("big", { size: 1100 }))
      yield* first.refused("resources/read", { uri: oldest })
      yield* read(first, newer)
      yield* read(other, kept)
      // A single result beyond the limit is left out as before, and costs nothing.
      const { content, isError } = yield* first.call("big", { size: 4000 })
      assert.isTrue(isError)
      assert.include(content[0].text, "was omitted because it is too large: 4000 bytes")
      yield* read(first, newer)
    })
  )

  it.effect("The largest caller loses results when all callers exceed the total limit", () =>
    Effect.gen(function* () {
      const server = yield* serve({ features: big(letters), limits: { spill: { ...all, totalBytes: 7000 } } })
      const [first, other] = [
        yield* connect(server, { version, principal: ada }),
        yield* connect(server, { version, principal: bob })
      ]
      const flood = [yield* first.call("big", { size: 2000 }), yield* first.call("big", { size: 1900 })].map(uriOf)
      const small = uriOf(yield* other.call("big", { size: 1100 }))
      const another = uriOf(yield* other.call("big", { size: 1100 }))
      yield* first.refused("resources/read", { uri: flood[0] ?? "" })
      for (const uri of [small, another]) yield* read(other, uri)
      yield* read(first, flood[1] ?? "")
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
