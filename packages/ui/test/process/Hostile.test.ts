import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { fileURLToPath } from "node:url"
import { missing, open } from "../support/browser.ts"
import { ofCommand } from "../support/served.ts"

const server = fileURLToPath(new URL("../support/hostile.mjs", import.meta.url))

describe("A hostile server", needs(missing === undefined, missing ?? ""), () => {
  it.live("Runs no script and causes no request from any view", () =>
    Effect.gen(function* () {
      const { url } = yield* ofCommand([server])
      const { complaints, page, requests } = yield* open(url)
      yield* Effect.promise(async () => {
        const items = page.getByRole("navigation", { name: "Server" }).getByRole("link")
        await page.locator(".top .state.connected").waitFor()
        await page.getByText("Tools 3").waitFor()
        // Every view, and in it every request that can be made.
        for (let at = 0; at < (await items.count()); at++) {
          await items.nth(at).click()
          // The buttons of the view before are gone then.
          await page.waitForFunction(
            (at) => document.querySelectorAll(".menu a")[at]?.getAttribute("aria-current") === "page",
            at
          )
          for (const name of ["Fill in an example", "Call", "Call anyway", "Read", "Get", "Get anyway"]) {
            const button = page.getByRole("button", { name, exact: true }).first()
            if (await button.isVisible()) await button.click()
          }
        }
        await page.evaluate(() => (location.hash = "#/tool/attack"))
        await page.locator(".run .badge", { hasText: "done" }).first().waitFor()
        // Only a part of a large result is drawn.
        assert.isBelow(await page.locator(".run .json-row").count(), 2000)
        for (const name of ["Markdown", "Text"]) {
          const buttons = page.locator(".run").getByRole("button", { name, exact: true })
          for (let at = 0; at < (await buttons.count()); at++) await buttons.nth(at).click()
        }
        for (const row of await page.locator(".message button.row").all()) await row.click()
        // A link asks first, and names its whole address. Other schemes are no links.
        await page.locator(".run").getByRole("button", { name: "Markdown", exact: true }).first().click()
        assert.strictEqual(await page.getByRole("button", { name: "click", exact: true }).count(), 0)
        await page.locator(".run").getByRole("button", { name: "fine", exact: true }).first().click()
        await page.getByRole("dialog").getByText("http://attacker.invalid/x", { exact: true }).waitFor()
        await page.getByRole("button", { name: "Stay" }).click()
        await page.locator(".run").getByRole("button", { name: "lookalike", exact: true }).first().click()
        await page.getByRole("dialog").getByText("https://xn--pple-43d.invalid/%E2%80%AEgpj", { exact: true }).waitFor()
        assert.strictEqual(await page.evaluate(() => Reflect.get(window, "hacked")), undefined)
        assert.strictEqual(
          await page.locator("#app script, #app iframe, #app svg, #app object, #app [onerror]").count(),
          0
        )
      })
      const { origin } = new URL(url)
      const elsewhere = requests.filter((each) => !each.startsWith(origin) && !/^(?:data|blob):/.test(each))
      assert.deepStrictEqual(elsewhere, [])
      // An image in the server's SVG is refused by the policy at most. Nothing else is.
      assert.deepStrictEqual(
        complaints.filter((each) => !each.includes("ERR_INVALID_URL")),
        []
      )
    }).pipe(Effect.scoped)
  )
})
