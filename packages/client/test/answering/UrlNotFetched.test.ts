/** A client shows the URL of a question and never opens it: all ways out of the process are watched meanwhile. */
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as McpError from "@effect-mcp/protocol/McpError"
import { verifies } from "@effect-mcp/spec/verifies"
import { NodeHttpClient } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HttpClient } from "effect/http"
import { vi } from "vitest"
import * as Raw from "../transport/http/support/raw.ts"
import { connected, since } from "../support/connected.ts"
import { asked, page } from "../support/questions.ts"

/** A page of the web, and what came to it: requests of `fetch`, of the context's `HttpClient`, and at the page itself. */
const watched = Effect.gen(function* () {
  const web = yield* Raw.open
  const fetched = yield* Effect.acquireRelease(
    Effect.sync(() => vi.spyOn(globalThis, "fetch")),
    (spy) => Effect.sync(() => spy.mockRestore())
  )
  const executed: Array<string> = []
  const real = yield* HttpClient.HttpClient
  const http = HttpClient.tapRequest(real, ({ url }) => Effect.sync(() => executed.push(url)))
  /** What came so far. The page is visited at last: whatever was on its way arrived before that. */
  const visits = Effect.gen(function* () {
    const requested = [...fetched.mock.calls].length + executed.length
    const waiting = yield* web.waiting
    yield* Effect.forkChild(real.get(`${web.origin}/visited-by-the-test`), { startImmediately: true })
    const hit = yield* web.next
    yield* hit.status(200)
    return [requested, waiting, hit.path]
  })
  return { url: `${web.origin}/pay`, http, visits }
})

const none = [0, 0, "/visited-by-the-test"]

describe.each(since("2025-11-25"))("The URL of a question in %s", (version) => {
  for (const action of ["accept", "decline", "cancel"] as const) {
    it.effect(
      `The URL of a question is shown and not fetched when the user's answer is ${action}`,
      () =>
        Effect.gen(function* () {
          const { http, url, visits } = yield* watched
          const shown: Array<string> = []
          const user = Elicitation.layer({ url: (params) => Effect.sync(() => (shown.push(params.url), { action })) })
          const answered = asked(version, "elicitation/create", { ...page, url })
          assert.deepStrictEqual(
            yield* answered.pipe(Effect.provide(user), Effect.provideService(HttpClient.HttpClient, http)),
            { action }
          )
          assert.deepStrictEqual(shown, [url])
          assert.deepStrictEqual(yield* visits, none)
        }).pipe(Effect.provide(NodeHttpClient.layerNodeHttp)),
      verifies("elicitation.url.not-prefetched")
    )
  }

  it.effect(
    "The URL of a question is not fetched when the client cannot show it",
    () =>
      Effect.gen(function* () {
        const { http, url, visits } = yield* watched
        const forms = Elicitation.layer({ form: () => Effect.succeed({ action: "cancel" }) })
        yield* asked(version, "elicitation/create", { ...page, url }).pipe(
          Effect.flip,
          Effect.provide(forms),
          Effect.provideService(HttpClient.HttpClient, http)
        )
        assert.deepStrictEqual(yield* visits, none)
      }).pipe(Effect.provide(NodeHttpClient.layerNodeHttp)),
    verifies("elicitation.url.not-prefetched")
  )
})

describe("A URL that 2025-11-25 requires to be visited first", () => {
  it.effect(
    "The URL that an error requires to be visited is shown and not fetched",
    () =>
      Effect.gen(function* () {
        const { http, url, visits } = yield* watched
        const required = new McpError.McpError({
          code: McpError.UrlElicitationRequired,
          message: "Pay first",
          data: { elicitations: [{ ...page, url }] }
        })
        const shown: Array<string> = []
        const user = Elicitation.layer({
          url: (params) => Effect.sync(() => (shown.push(params.url), { action: "decline" as const }))
        })
        yield* Effect.gen(function* () {
          const answers = { "tools/call": () => Effect.fail(required) }
          const { client } = yield* connected({ version: "2025-11-25", answers })
          yield* Effect.flip(client.callToolByName("a"))
        }).pipe(Effect.provide(user), Effect.provideService(HttpClient.HttpClient, http))
        assert.deepStrictEqual(shown, [url])
        assert.deepStrictEqual(yield* visits, none)
      }).pipe(Effect.provide(NodeHttpClient.layerNodeHttp)),
    verifies("elicitation.url.not-prefetched")
  )
})
