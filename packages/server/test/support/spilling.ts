/** The tests of results that are too large to send, for each store that holds them. */
import * as Content from "@effect-mcp/core/Content"
import type { Principal } from "@effect-mcp/core/Principal"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Version } from "@effect-mcp/protocol/Revision"
import type * as McpServer from "@effect-mcp/server/McpServer"
import type * as Limits from "@effect-mcp/server/Limits"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema, type Scope } from "effect"
import { connect, serve, session } from "./raw.ts"

export const limit = 1000
const Big = Tool.make("big", { description: "", input: { size: Schema.Int } })
/** A tool whose results may be too large. */
export const big = (output: (size: number) => Tool.ToolOutput) =>
  Tools.layer(Big, ({ size }) => Effect.succeed(output(size)), { limits: { bytes: limit } })
export const letters = (size: number) => Array.from({ length: size }, (_, at) => "abcdefghij"[at % 10]).join("")
export const all: Limits.SpillOptions = { rangeBytes: 400, previewBytes: 100, withoutLinks: true }
export const ada: Principal["Service"] = { subject: "ada", scopes: [], claims: {} }
export const bob: Principal["Service"] = { subject: "bob", scopes: [], claims: {} }

type Client = Effect.Success<ReturnType<typeof session>>
export const uriOf = (result: any): string =>
  /result:\/\/[\w-]{43}/.exec(result.content[0].text)?.[0] ?? assert.fail("no URI")
export const read = (client: Client, uri: string) =>
  Effect.map(client.request("resources/read", { uri }), ({ contents }) => contents[0])

/** Follows the ranges to the end, and joins them. */
export const whole = Effect.fnUntraced(function* (client: Client, uri: string) {
  const parts: Array<any> = []
  let next: string | undefined = uri
  while (next !== undefined) {
    const part: any = yield* read(client, next)
    parts.push(part)
    next = part._meta?.["effect-mcp/next"]
  }
  return parts
})

type Features = Layer.Layer<never, never, McpServer.Registries>

/** A store that holds results. */
export interface Place {
  /** Registers the store. */
  readonly features: Features
  /** Lets time pass by the clock of the store. */
  readonly pass: (millis: number) => Effect.Effect<void>
}

/** Defines the tests for one kind of store. */
export const testStore = (
  name: string,
  place: Effect.Effect<Place, never, Scope.Scope>,
  versions: ReadonlyArray<Version>
): void => {
  const opened = Effect.map(place, ({ features, pass }) => ({
    pass,
    merged: (more: Features) => Layer.merge(more, features)
  }))

  describe.each(versions)(`a result that is too large ${name} (%s)`, (version) => {
    const hasMeta = version >= "2025-06-18"

    it.effect("The whole text can be read in ranges, from the beginning or by position", () =>
      Effect.gen(function* () {
        const { merged } = yield* opened
        const client = yield* session(merged(big(letters)), { version }, { limits: { spill: all } })
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
          assert.strictEqual(
            (yield* client.refused("resources/read", { uri: uri + range })).code,
            McpError.InvalidParams
          )
        }
        for (const other of ["?to=5", "?from=-1", "?from=1e3", "/", "?from=1&to=2&to=3", "?from=9999999999999999"]) {
          const { code } = yield* client.refused("resources/read", { uri: uri + other })
          assert.strictEqual(code, version === "2026-07-28" ? McpError.InvalidParams : McpError.ResourceNotFound, other)
        }
      })
    )

    it.effect("Ranges of text never split a character, and join to the whole text", () =>
      Effect.gen(function* () {
        const { merged } = yield* opened
        const text = "a€😀é".repeat(200)
        const client = yield* session(
          merged(big(() => text)),
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
        const { merged } = yield* opened
        const bytes = Uint8Array.from({ length: 900 }, (_, at) => at % 251)
        const output = [Content.text("A picture:"), Content.image(bytes, "image/png"), Content.text("Nice?")]
        const client = yield* session(merged(big(() => output)), { version }, { limits: { spill: all } })
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

    it.effect("A result is dropped after its time to live", () =>
      Effect.gen(function* () {
        const { merged, pass } = yield* opened
        const client = yield* session(
          merged(big(letters)),
          { version },
          { limits: { spill: { ...all, timeToLive: "1 minute" } } }
        )
        const uri = uriOf(yield* client.call("big", { size: 1001 }))
        yield* pass(59_000)
        yield* read(client, uri)
        yield* pass(1000)
        yield* client.refused("resources/read", { uri })
      })
    )

    it.effect("Only the principal that made the call can read its result", () =>
      Effect.gen(function* () {
        const { merged } = yield* opened
        const server = yield* serve({ features: merged(big(letters)), limits: { spill: all } })
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
        const { merged } = yield* opened
        const options = { ...all, callerBytes: 4000, totalBytes: 100_000 }
        const server = yield* serve({ features: merged(big(letters)), limits: { spill: options } })
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
        const { merged } = yield* opened
        const server = yield* serve({ features: merged(big(letters)), limits: { spill: { ...all, totalBytes: 7000 } } })
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
  })
}
