import { Tool, Tools } from "@effect-mcp/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ofServer } from "./support/served.ts"

const features = Tools.layer(Tool.make("echo", { description: "Says hello" }), () => Effect.succeed("hello"))

/** Sends a request to the page's listener. `path` follows the token. */
const asking = (url: string) => {
  const { origin, pathname } = new URL(url)
  const ask = (path: string, init: RequestInit = {}) => Effect.promise(() => fetch(`${origin}${path}`, init))
  const status = (path: string, init?: RequestInit) => Effect.map(ask(path, init), ({ status }) => status)
  const post = (headers: Record<string, string>, body = JSON.stringify({ _tag: "Ping" })) =>
    ask(`${pathname}command`, { method: "POST", body, headers })
  return { origin, pathname, ask, status, post }
}

describe("Requests to the page", () => {
  it.live("Another name, another site or no token is rejected", () =>
    Effect.gen(function* () {
      const { url } = yield* ofServer(features)
      const { origin, pathname, post, status } = asking(url)
      assert.strictEqual(yield* status("/"), 404)
      assert.strictEqual(yield* status("/events"), 404)
      assert.strictEqual(yield* status(`${pathname.slice(0, -2)}/`), 404)
      for (const site of ["cross-site", "same-site"]) {
        assert.strictEqual(yield* status(pathname, { headers: { "sec-fetch-site": site } }), 403)
      }
      const local = origin.replace("127.0.0.1", "localhost")
      for (const headers of [{}, { origin: "http://attacker.invalid" }, { origin: local }, { origin: "null" }]) {
        assert.strictEqual((yield* post(headers)).status, 403)
      }
      const renamed = Effect.promise(async () => (await fetch(`${local}${pathname}`)).status)
      assert.strictEqual(yield* renamed, 403)
    }).pipe(Effect.scoped)
  )

  it.live("Every file has the policy that keeps other programs out", () =>
    Effect.gen(function* () {
      const { url } = yield* ofServer(features)
      const { ask, pathname, status } = asking(url)
      for (const path of ["", "style.css", "nothing"]) {
        const { headers } = yield* ask(`${pathname}${path}`)
        assert.include(headers.get("content-security-policy") ?? "", "default-src 'none'; script-src 'self'; ")
        assert.include(headers.get("cache-control") ?? "", "no-store")
      }
      assert.strictEqual(yield* status(pathname, { method: "PUT" }), 405)
    }).pipe(Effect.scoped)
  )

  it.live("A command that is unknown, not JSON or too large is rejected with the reason", () =>
    Effect.gen(function* () {
      const { url } = yield* ofServer(features)
      const { origin, post } = asking(url)
      for (const body of ["", "{", '{"_tag":"Format"}', `"${"x".repeat(17 * 1024 * 1024)}"`]) {
        const response = yield* post({ origin }, body)
        assert.strictEqual(response.status, 400)
        const { error }: { readonly error: string } = yield* Effect.promise(() => response.json())
        assert.isNotEmpty(error)
        assert.isBelow(error.length, 1000)
      }
    }).pipe(Effect.scoped)
  )
})
