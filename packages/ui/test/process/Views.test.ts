/** Views in the results of calls, in a real browser. */
import { App } from "@effect-mcp/apps"
import * as AppHost from "@effect-mcp/apps/AppHost"
import * as LocalPage from "@effect-mcp/apps/LocalPage"
import { Tool, Tools } from "@effect-mcp/core"
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import type { Page } from "playwright-core"
import { otherOrigin, pageOf } from "../../../apps/test/support/browser.ts"
import { missing, open } from "../support/browser.ts"
import { ofServer } from "../support/served.ts"

const Dice = Tool.make("dice", { description: "Rolls a die", input: { eyes: Schema.Int } })

/** Serves the page of a server whose tool has this view. */
const withView = Effect.fnUntraced(function* (html: string) {
  let calls = 0
  const features = Layer.merge(
    Tools.layer(Dice, ({ eyes }) => Effect.sync(() => `call ${++calls} rolled ${eyes}`)),
    App.layer(Dice, { html })
  )
  const { url } = yield* ofServer(features, {
    extensions: AppHost.declaration,
    view: (client, call) => Effect.map(LocalPage.serve(client, call), ({ url }) => url)
  })
  return url
})

const call = async (page: Page): Promise<void> => {
  await page.locator('.menu a[href="#/tool/dice"]').click()
  await page.getByLabel("eyes required").fill("5")
  await page.getByRole("button", { name: "Call", exact: true }).click()
}

/** The view itself: in the frame of its page, in the frame of the sandbox. */
const viewIn = (page: Page) =>
  page.frameLocator('iframe[title="View of dice"]').frameLocator("iframe").frameLocator("iframe")

describe("Views in results", needs(missing === undefined, missing ?? ""), () => {
  it.live("A view shows the result without another call, at the height it asks for", () =>
    Effect.gen(function* () {
      const shows = pageOf(
        `send({ method: "ui/notifications/size-changed", params: { width: 300, height: 111 } })`,
        "",
        `<script>addEventListener("message", ({ data }) => {
          if (data?.method !== "ui/notifications/tool-result") return
          const shown = document.createElement("output")
          shown.textContent = data.params.content[0].text
          document.body.append(shown)
        })</script>`
      )
      const url = yield* withView(shows)
      const { complaints, page } = yield* open(url)
      yield* Effect.promise(async () => {
        await call(page)
        await viewIn(page).getByText("call 1 rolled 5").waitFor()
        await page.locator('iframe[title="View of dice"][height="111"]').waitFor()
        // A view of an earlier run waits for a click.
        await page.reload()
        await page.getByRole("button", { name: "Show view" }).click()
        await viewIn(page).getByText("call 1 rolled 5").waitFor()
        const frame = await page.locator('iframe[title="View of dice"]').getAttribute("src")
        assert.notStrictEqual(new URL(frame ?? "").origin, new URL(url).origin)
      })
      assert.deepStrictEqual(complaints, [])
    }).pipe(Effect.scoped)
  )

  it.live("A hostile view neither leaves its frame nor changes the page", () =>
    Effect.gen(function* () {
      const { origin, visits } = yield* otherOrigin
      const attack = `
        const tried = []
        const attempt = async (name, body) => {
          try { tried.push(name + " " + await body()) } catch (error) { tried.push(name + " threw " + error.name) }
        }
        for (const [name, target] of [["top", top], ["page", parent.parent], ["sandbox", parent]]) {
          await attempt(name + " document", () => target.document.title)
          await attempt(name + " address", () => target.location.href)
          target.postMessage({ height: 9999 }, "*")
          target.postMessage({ jsonrpc: "2.0", method: "ui/notifications/sandbox-resource-ready", params: { html: "" } }, "*")
        }
        await attempt("leave", () => { top.location = other + "/top" })
        await attempt("window", () => window.open(other + "/popup"))
        await attempt("fetch", () => fetch(other + "/fetch"))
        await attempt("storage", () => localStorage.length)
        document.body.textContent = tried.join(", ")`
      const url = yield* withView(pageOf(attack, origin))
      const { page } = yield* open(url)
      yield* Effect.promise(async () => {
        await call(page)
        const tried = viewIn(page).getByText("storage threw")
        await tried.waitFor()
        const refused = ["top", "page", "sandbox"].flatMap((name) => [
          `${name} document threw SecurityError`,
          `${name} address threw SecurityError`
        ])
        assert.strictEqual(
          await tried.textContent(),
          [
            ...refused,
            "leave threw SecurityError",
            "window null",
            "fetch threw TypeError",
            "storage threw SecurityError"
          ].join(", ")
        )
        // The page still works, also after it has handled every message of the view.
        await page.getByRole("link", { name: "History" }).click()
        await page.goBack()
        assert.isBelow(Number(await page.locator('iframe[title="View of dice"]').getAttribute("height")), 1000)
        assert.strictEqual(page.url().split("#")[0], url)
      })
      assert.deepStrictEqual(visits, [])
    }).pipe(Effect.scoped)
  )
})
