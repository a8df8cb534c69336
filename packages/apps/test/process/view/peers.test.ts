/** Our view and our host against the official package, and against each other, in a real Chromium. */
import * as AppHost from "@effect-mcp/apps/AppHost"
import * as AppTest from "@effect-mcp/apps/AppTest"
import { Consent } from "@effect-mcp/client"
import { verifies } from "@effect-mcp/spec/verifies"
import { McpTest } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import type { FrameLocator, Page } from "playwright-core"
import { rolldown } from "rolldown"
import { logged, needsChromium } from "../../support/browser.ts"
import { features } from "../../support/dice.ts"

/** Waits until the page shows the text. */
const shows = (place: FrameLocator | Page, text: string) => place.getByText(text, { exact: true }).first().waitFor()
const click = (place: FrameLocator | Page, name: string) => place.getByRole("button", { name, exact: true }).click()

const opened = Effect.fnUntraced(function* (view: "ours" | "theirs", allow = true) {
  const done: Array<string> = []
  const record = (what: string) => Effect.sync(() => void done.push(what))
  const policy = Consent.layer({
    ask: (action) => Effect.succeed(allow || (action._tag === "CallTool" && action.view === undefined))
  })
  const test = yield* Effect.gen(function* () {
    const client = yield* Effect.provide(McpTest.connect(features(view), "2026-07-28"), AppHost.declaration)
    return yield* AppTest.open(client, {
      tool: "dice",
      arguments: { count: 3 },
      host: {
        context: { availableDisplayModes: ["inline", "fullscreen"] },
        changeMode: (mode) => Effect.succeed(mode),
        logged: () => Effect.void,
        openLink: (url) => record(`link ${url}`),
        sendMessage: (content) => record(`message ${content.length}`),
        updateModelContext: ({ structuredContent }) => record(`context ${JSON.stringify(structuredContent)}`),
        download: ({ data, name }) => record(`file ${name} ${data.length}`)
      }
    })
  }).pipe(Effect.provide(policy))
  return { ...test, done }
})

describe("Our view in our host", needsChromium, () => {
  it.live(
    "Data arrives, and a click calls a tool",
    () =>
      Effect.gen(function* () {
        const { complaints, view } = yield* opened("ours")
        yield* Effect.promise(async () => {
          await shows(view, "host effect-mcp")
          await shows(view, "input 3")
          await shows(view, "rolled 3")
          await click(view, "call")
          await shows(view, "called 6")
          await click(view, "save")
          await shows(view, "saved 1")
          await click(view, "read")
          await shows(view, "read A note")
          await click(view, "fail")
          await shows(view, "No such count (undefined)")
        })
        assert.deepStrictEqual(complaints, [])
      }).pipe(Effect.scoped),
    verifies("apps.sandbox.proxy", "apps.sandbox.origin", "apps.sandbox.permissions")
  )

  it.live("A rejected call is shown in the view", () =>
    Effect.gen(function* () {
      const { done, view } = yield* opened("ours", false)
      yield* Effect.promise(async () => {
        await click(view, "call")
        await shows(view, "The user or the host's policy denied the request (-32000)")
        await click(view, "link")
        await view.getByText("(-32000)").nth(1).waitFor()
      })
      assert.deepStrictEqual(done, [])
    }).pipe(Effect.scoped)
  )

  it.live("The host carries out the view's requests", () =>
    Effect.gen(function* () {
      const { done, view } = yield* opened("ours")
      yield* Effect.promise(async () => {
        for (const name of ["link", "message", "context", "file", "mode"]) await click(view, name)
        await shows(view, "mode fullscreen")
        await click(view, "pip")
        await view.getByText("mode fullscreen").nth(1).waitFor()
        await shows(view, "downloaded undefined")
      })
      assert.deepStrictEqual(done, ["link https://example.com/", "message 1", 'context {"page":1}', "file a b.txt 3"])
    }).pipe(Effect.scoped)
  )

  it.live(
    "The frame adopts the view's size, and the view adopts the host's theme",
    () =>
      Effect.gen(function* () {
        const { page, view } = yield* opened("ours")
        yield* Effect.promise(async () => {
          await click(view, "grow")
          await page.waitForFunction(() => (document.querySelector("iframe")?.clientHeight ?? 0) >= 1234)
          await click(page, "Dark")
          await shows(view, "theme dark")
          assert.strictEqual(await view.locator("html").getAttribute("data-theme"), "dark")
          assert.include(await view.locator("html").getAttribute("style"), "dark")
        })
      }).pipe(Effect.scoped),
    verifies("apps.size.followed")
  )

  it.live("A view can cancel its call and time out", () =>
    Effect.gen(function* () {
      const { until, view } = yield* opened("ours")
      const cancels = ({ message }: AppHost.PassedMessage) =>
        JSON.stringify(message).includes("notifications/cancelled")
      yield* Effect.promise(async () => {
        await click(view, "stop")
        await shows(view, "tools/call: cancelled (undefined)")
        await click(view, "late")
        await shows(view, "tools/call: no response within 1 ms (undefined)")
      })
      assert.strictEqual((yield* until(cancels)).from, "view")
    }).pipe(Effect.scoped)
  )

  for (const name of ["close", "Close view"]) {
    it.live(
      `The view says goodbye before ${name === "close" ? "its own request removes it" : "the host removes it"}`,
      () =>
        Effect.gen(function* () {
          const { page, until, view } = yield* opened("ours")
          // The page's own button works before there is a view.
          yield* Effect.promise(() => shows(view, "rolled 3"))
          yield* Effect.promise(() => click(name === "close" ? view : page, name))
          yield* until((passed) => logged(passed) === "goodbye")
          yield* Effect.promise(() => page.locator("#stage iframe").waitFor({ state: "detached" }))
        }).pipe(Effect.scoped)
    )
  }
})

describe("The official package's view in our host", needsChromium, () => {
  it.live("Receives data, calls tools and sends requests to the host", () =>
    Effect.gen(function* () {
      const { complaints, done, page, until, view } = yield* opened("theirs")
      yield* Effect.promise(async () => {
        await shows(view, "host effect-mcp")
        await shows(view, "input 3")
        await shows(view, 'rolled {"eyes":3}')
        await click(view, "call")
        await shows(view, 'called {"eyes":6}')
        await click(view, "read")
        await shows(view, "read 1")
        for (const name of ["link", "message", "context", "mode"]) await click(view, name)
        await shows(view, "mode fullscreen")
        await click(page, "Dark")
        await shows(view, "theme dark")
        await click(page, "Close view")
      })
      yield* until((passed) => logged(passed) === "goodbye")
      assert.deepStrictEqual(done, ["link https://example.com/", "message 1", 'context {"page":1}'])
      assert.deepStrictEqual(complaints, [])
    }).pipe(Effect.scoped)
  )
})

describe("Our view in the official package's host", needsChromium, () => {
  it.live(
    "Receives data, calls tools, sends requests and prepares for removal",
    () =>
      Effect.gen(function* () {
        const client = yield* McpTest.connect(features("ours"), "2026-07-28")
        const html = yield* client.readResourceText("ui://dice")
        const script = yield* Effect.promise(async () => {
          const input = fileURLToPath(new URL("../../support/views/bridge.ts", import.meta.url))
          const build = await rolldown({ input, platform: "browser", logLevel: "silent" })
          const { output } = await build.generate({ format: "esm", codeSplitting: false })
          await build.close()
          return output[0].code
        })
        const page = yield* AppTest.page
        yield* Effect.promise(async () => {
          await page.setContent("<!doctype html><body></body>")
          await page.evaluate((html) => void (document.body.dataset["view"] = html), html)
          await page.addScriptTag({ content: script, type: "module" })
          const view = page.frameLocator("#view")
          await shows(page, 'view dice view 2.0.0 {"availableDisplayModes":["inline","fullscreen"]}')
          for (const text of [
            "host bridge",
            "theme dark",
            "partial 1",
            "input 12",
            "rolled 12",
            "theme light",
            "cancelled too late"
          ]) {
            await shows(view, text)
          }
          await click(view, "call")
          await shows(view, "called 6")
          await click(view, "fail")
          await shows(view, "No such count (undefined)")
          await click(view, "read")
          await shows(view, "read A note")
          await click(view, "link")
          await shows(page, "link https://example.com/")
          await click(view, "message")
          await shows(view, "The host denied the request (-32000)")
          await click(view, "context")
          await shows(page, 'context {"page":1}')
          await click(view, "mode")
          await shows(view, "mode inline")
          await shows(page, "asked for fullscreen")
          await click(view, "pip")
          await view.getByText("mode inline").nth(1).waitFor()
          assert.strictEqual(await page.getByText("asked for pip").count(), 0)
          await click(view, "file")
          await shows(view, "downloaded undefined")
          await click(view, "stop")
          await shows(page, "slow was cancelled")
          await click(view, "grow")
          await page.getByText(/^height 1[23]\d\d$/).waitFor()
          await click(view, "close")
          await shows(page, "log goodbye")
          await shows(page, "torn down")
        })
      }).pipe(Effect.scoped),
    verifies("apps.view.capabilities", "apps.mode.declared-by-view", "apps.mode.available", "apps.mode.different")
  )
})
