/** Errors of a client whose URL leads to a web server, but not to an MCP endpoint. */
import * as Fetch from "@effect-mcp/client/Fetch"
import * as Http from "@effect-mcp/client/Http"
import * as Sse from "@effect-mcp/client/Sse"
import * as McpClient from "@effect-mcp/client/McpClient"
import * as Revision from "@effect-mcp/protocol/Revision"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import * as Fake from "../../support/fake.ts"
import { discovered } from "./support/finding.ts"

const url = "https://example.com/docs?key=secret"
const page = "<!DOCTYPE html><html><head><title>Welcome</title></head></html>"

const messageOf = (
  answer: () => Response,
  revisions?: ReadonlyArray<Revision.Version>,
  connector = Http.open({ url })
) =>
  Effect.scoped(McpClient.open(connector, { revisions, reconnect: false })).pipe(
    Effect.flip,
    Effect.map(({ message }) => message),
    Effect.provideService(HttpClient.HttpClient, Fake.client(answer)),
    Effect.provideService(Http.ServerEraCache, new Map())
  )

const pages: ReadonlyArray<readonly [what: string, answer: () => Response, type: string]> = [
  [
    "text/html",
    () => new Response(page, { headers: { "content-type": "text/html; charset=utf-8" } }),
    "text/html; charset=utf-8"
  ],
  [
    "XHTML",
    () => new Response("<a/>", { headers: { "content-type": "application/xhtml+xml" } }),
    "application/xhtml+xml"
  ],
  [
    "HTML with another content type",
    () => new Response(page, { headers: { "content-type": "text/plain" } }),
    "text/plain"
  ],
  ["HTML without a content type", () => new Response(new TextEncoder().encode(page)), "no content type"],
  ["a 404 in HTML", () => new Response(page, { status: 404, headers: { "content-type": "text/html" } }), "text/html"],
  ["a 500 in HTML", () => new Response(page, { status: 500, headers: { "content-type": "text/html" } }), "text/html"]
]

describe.each([undefined, ...Revision.all.map(({ version }) => [version])])("%s clients at a web page", (revisions) => {
  for (const [what, answer, type] of pages) {
    it.effect(`${what} is reported as not an MCP endpoint, with hints`, () =>
      Effect.gen(function* () {
        const message = yield* messageOf(answer, revisions)
        const [, place, method, status, given] =
          /^(\S+) is not an MCP endpoint: it responded to (\S+) with status (\d+) and a web page \((.*)\)\. Check the path of the URL: an MCP endpoint responds with application\/json or text\/event-stream\.$/.exec(
            message
          ) ?? assert.fail(message)
        assert.deepStrictEqual([place, given], ["https://example.com/docs", type])
        assert.strictEqual(Number(status), answer().status)
        assert.include(["initialize", "server/discover"], method)
      })
    )
  }
})

describe("URLs that are not MCP endpoints", () => {
  it.effect("A client over HTTP with SSE also reports that its URL is not an MCP endpoint", () =>
    Effect.gen(function* () {
      const answer = () => new Response(page, { headers: { "content-type": "text/html" } })
      const message = yield* messageOf(answer, ["2024-11-05"], Sse.open({ url }))
      assert.match(message, /^https:\/\/example\.com\/docs is not an MCP endpoint: it responded to GET with status 200/)
    })
  )

  it.effect.each([
    ["https://example.com/", true],
    ["https://example.com/docs", false]
  ] as const)("A 404 at %s suggests /mcp only for the root", ([at, isSuggested]) =>
    Effect.gen(function* () {
      const notFound = () => new Response("Nothing", { status: 404, headers: { "content-type": "text/plain" } })
      const message = yield* messageOf(notFound, undefined, Http.open({ url: at }))
      const hint = "Most servers have their endpoint at https://example.com/mcp"
      assert.strictEqual(message.endsWith(hint), isSuggested, message)
    })
  )

  it.effect("An unexpected body is quoted with its type, truncated and without terminal control characters", () =>
    Effect.gen(function* () {
      const body = `\u001b[2Jnot it${"x".repeat(5000)}`
      const message = yield* messageOf(() => new Response(body, { headers: { "content-type": "text/plain" } }))
      const start = String.raw`https://example.com/docs responded to server/discover with status 200 (text/plain), which is not an MCP response: \u001b[2Jnot itxxx`
      assert.strictEqual(message.slice(0, start.length), start)
      assert.isBelow(message.length, 500)
    })
  )

  it.effect("An answer without content is reported", () =>
    Effect.gen(function* () {
      const message = yield* messageOf(() => new Response(null, { status: 204 }), ["2025-11-25"])
      assert.strictEqual(message, "https://example.com/docs responded to initialize with status 204 and no content")
    })
  )
})

type OptionsOfAll = { readonly url: string; readonly headers?: { readonly authorization: string } }

const openers = {
  Fetch: (options: OptionsOfAll) => Fetch.open(options),
  Http: (options: OptionsOfAll) => Http.open(options),
  "Http of the older transport": (options: OptionsOfAll) => Http.open({ ...options, transport: "sse" }),
  Sse: (options: OptionsOfAll) => Sse.open(options)
}

describe.each(Object.entries(openers))("Secrets that HTTP cannot send, passed to %s", (_, open) => {
  for (const [what, options, advice] of [
    ["header with a line break", { url, headers: { authorization: "secret\nx" } }, "`headers`"],
    ["URL with a password", { url: "https://me:secret@example.com/mcp" }, "authorization: Basic"]
  ] as const) {
    it.effect(`A ${what} is rejected before anything is sent, without appearing in the error`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(Effect.scoped(open(options)))
        assert.strictEqual(error.reason, "Open")
        assert.include(error.message, advice)
        assert.notInclude(Cause.pretty(Cause.fail(error)) + JSON.stringify(error), "secret")
      }).pipe(Effect.provide(FetchHttpClient.layer))
    )
  }
})

/** Discovers, and answers every call. */
const fetch: typeof globalThis.fetch = async (input, init) => {
  const message = await new Request(input, init).json()
  return Fake.result(
    message,
    message.method === "server/discover"
      ? { ...discovered, capabilities: { tools: {} } }
      : { resultType: "complete", content: [] }
  )
}

describe.each([
  ["fetch alone", Fetch.open({ url, fetch })],
  ["an HttpClient", Http.open({ url })]
] as const)("Per-request headers over %s", (_, open) => {
  it.effect("An invalid header fails only its request, without appearing in the error", () =>
    Effect.gen(function* () {
      const client = yield* McpClient.open(open, { listsTools: false })
      const call = (headers: { readonly [name: string]: string }) => client.callToolByName("a", {}, { headers })
      const error = yield* Effect.flip(call({ authorization: "secret\nx" }))
      assert.include(error.message, "`headers`")
      assert.notInclude(Cause.pretty(Cause.fail(error)) + JSON.stringify(error), "secret")
      assert.deepInclude(yield* call({ "X-Any": "fine" }), { content: [] })
    }).pipe(
      Effect.scoped,
      Effect.provideService(Http.ServerEraCache, new Map()),
      Effect.provide(FetchHttpClient.layer),
      Effect.provideService(FetchHttpClient.Fetch, fetch)
    )
  )
})
