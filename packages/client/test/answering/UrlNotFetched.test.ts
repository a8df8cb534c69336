/** A client shows the URL of a question and never opens it. The test watches every way out of the process. */
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

/** A web page, and its visits by `fetch`, by the context's `HttpClient`, and at the page itself. */
const watched = Effect.gen(function* () {
  const web = yield* Raw.open
  const fetched = yield* Effect.acquireRelease(
    Effect.sync(() => vi.spyOn(globalThis, "fetch")),
    (spy) => Effect.sync(() => spy.mockRestore())
  )
  const executed: Array<string> = []
  const real = yield* HttpClient.HttpClient
  const http = HttpClient.tapRequest(real, ({ url }) => Effect.sync(() => executed.push(url)))
  /** Returns the visits so far. It visits the page itself at the end, so that any earlier visit has arrived. */
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

describe.each(since("2025-11-25"))("Question URLs in %s", (version) => {
  for (const action of ["accept", "decline", "cancel"] as const) {
    it.effect(
      `A question's URL is shown but not fetched when the user's answer is ${action}`,
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
    "A question's URL is not fetched if the client cannot show it",
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

describe("URLs that 2025-11-25 requires visiting first", () => {
  it.effect(
    "A URL required by an error is shown but not fetched",
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
