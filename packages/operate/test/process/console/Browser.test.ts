import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import axe, { type AxeResults } from "axe-core"
import { Effect, Fiber } from "effect"
import type { Page } from "playwright-core"
import { missing, open } from "../../support/browser.ts"
import { busy, hostile, readOnly, token } from "../../support/busy.ts"

const connect = async (page: Page, as = token): Promise<void> => {
  await page.fill("#token", as)
  await page.click("#login button")
  await page.getByRole("treeitem").first().waitFor()
}

const row = (page: Page, text: string) => page.getByRole("treeitem").filter({ hasText: text })

/** Where the document is wider than the window, it scrolls sideways. */
const overflow = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)

/** Runs axe-core with its default rules, which include best practices. */
const violations = async (page: Page): Promise<ReadonlyArray<string>> => {
  const found = await page.evaluate<AxeResults>("axe.run()")
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`)
}

/** Rows of a tab's table, as text. */
const rowsOf = async (page: Page, tab: string): Promise<ReadonlyArray<string>> => {
  await page.getByRole("tab", { name: tab }).click()
  return page.locator(`#panel-${tab.toLowerCase()} tbody tr`).allTextContents()
}

describe("Console page in a browser", needs(missing === undefined, missing ?? ""), () => {
  it.live("Hostile text is shown as text and violates no content security policy", () =>
    Effect.gen(function* () {
      const { more, url } = yield* busy()
      const { complaints, page } = yield* open(url)
      yield* Effect.promise(async () => {
        await connect(page)
        await row(page, `Reads page 3 of ${hostile}`).waitFor()
        await row(page, `${hostile} 1.4.0`).click()
        await page.locator("#details h2", { hasText: hostile }).waitFor()
        await page.locator("#details table td", { hasText: "initialize" }).first().waitFor()
        // The page updates without a reload.
        await Effect.runPromise(more.open)
        await row(page, "Reads page 7").waitFor()
        assert.strictEqual(await page.locator("#tree img, #tree script, #details img, #details script").count(), 0)
        assert.match(await page.title(), /^busy: \d+ running · MCP console$/)
      })
      assert.deepStrictEqual(complaints, [])
    }).pipe(Effect.scoped)
  )

  it.live("An operator can find and stop a stuck call among a thousand sessions by keyboard alone", () =>
    Effect.gen(function* () {
      const { stuck, url } = yield* busy(997)
      const { page } = yield* open(url)
      yield* Effect.promise(async () => {
        await page.keyboard.type(token)
        await page.keyboard.press("Enter")
        await page.getByRole("treeitem").first().waitFor()
        await page.locator("#summary", { hasText: "1000 sessions" }).waitFor()
        // Only the rows in view are elements.
        assert.isBelow(await page.getByRole("treeitem").count(), 100)
        await page.keyboard.press("/")
        await page.keyboard.type("stuck")
        // The first key draws what was typed, so that an operator need not wait.
        await page.keyboard.press("ArrowDown")
        assert.strictEqual(await page.getByRole("treeitem").count(), 2)
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Enter")
        await page.locator("#details h2", { hasText: "tools/call stuck" }).waitFor()
        await page.keyboard.press("i")
        await page.keyboard.type("It hangs")
        await page.keyboard.press("Enter")
        await page.getByText("Interrupted tools/call stuck. Its client receives the reason").waitFor()
        await page.getByText("It has ended.").waitFor()
        // The header and the tile count the same requests.
        const [header, tile] = await page.evaluate(() => [
          /(\d+) request/.exec(document.querySelector("#summary")?.textContent ?? "")?.[1],
          document.querySelectorAll("#plots .figure")[1]?.textContent
        ])
        assert.isString(header)
        assert.strictEqual(tile, header)
      })
      assert.include((yield* Fiber.join(stuck)).message, "It hangs")
    }).pipe(Effect.scoped)
  )

  it.live("No interrupt is offered to a read-only token, and a rejected token is forgotten", () =>
    Effect.gen(function* () {
      const { url } = yield* busy()
      const { page } = yield* open(url)
      yield* Effect.promise(async () => {
        await page.fill("#token", "a-token-of-another-program")
        await page.click("#login button")
        await page.locator("#login-error", { hasText: "token" }).waitFor()
        assert.isNull(await page.evaluate(() => sessionStorage.getItem("effect-mcp-console-token")))
        await connect(page, readOnly)
        await page.getByText("Live, read only").waitFor()
        await row(page, "tools/call stuck").click()
        await page.locator("#details h2", { hasText: "tools/call stuck" }).waitFor()
        assert.strictEqual(await page.getByRole("button", { name: "Interrupt" }).count(), 0)
        assert.isFalse(await page.locator("#drain").isVisible())
        assert.isFalse(await page.locator(".messages").isVisible())
        await page.keyboard.press("i")
        assert.isFalse(await page.locator("#dialog").isVisible())
        await page.reload()
        await page.getByText("Live, read only").waitFor()
        await page.getByRole("button", { name: "Forget token" }).click()
        await page.locator("#login").waitFor()
        assert.strictEqual(await page.getByRole("treeitem").count(), 0)
      })
    }).pipe(Effect.scoped)
  )

  it.live("The page shows a session's messages, sets its log level and drains the server", () =>
    Effect.gen(function* () {
      const { calls, requests, url } = yield* busy()
      const { complaints, page } = yield* open(url)
      yield* Effect.promise(async () => {
        await connect(page)
        await row(page, "claude-desktop").first().click()
        await page.getByRole("button", { name: "Show messages" }).click()
        await page.getByText("No messages yet. Messages are recorded while you view the session.").waitFor()
        await Effect.runPromise(calls)
        await page.locator(".messages td", { hasText: "tools/call · fails" }).first().waitFor()
        assert.notInclude((await page.locator(".messages").textContent()) ?? "", "done")
        await page.getByLabel("Minimum level of log messages for the client").selectOption("debug")
        await page
          .getByText("The client now receives log messages of level debug and above")
          .waitFor({ state: "attached" })
        await page.getByRole("button", { name: "Drain" }).click()
        await page.locator("#drain-dialog").getByRole("button", { name: "Drain" }).click()
        await page.getByText("The server is now draining").waitFor({ state: "attached" })
        await page.locator("#summary", { hasText: "draining" }).waitFor()
        assert.isFalse(await page.locator("#drain").isVisible())
      })
      assert.deepStrictEqual(complaints, [])
      for (const { key } of yield* requests.list) yield* requests.interrupt(key, "The test is over")
    }).pipe(Effect.scoped)
  )

  it.live("Arrow keys expand and collapse sessions, and focus is kept while rows change", () =>
    Effect.gen(function* () {
      const { more, url } = yield* busy()
      const { page } = yield* open(url)
      const focused = () => page.evaluate(() => document.activeElement?.textContent ?? "")
      yield* Effect.promise(async () => {
        await connect(page)
        await row(page, "travel-agent").click()
        assert.strictEqual(await row(page, "travel-agent").getAttribute("aria-expanded"), "true")
        await page.keyboard.press("ArrowLeft")
        await row(page, "tools/call book").waitFor({ state: "detached" })
        assert.strictEqual(await row(page, "travel-agent").getAttribute("aria-expanded"), "false")
        await page.keyboard.press("ArrowRight")
        await page.keyboard.press("ArrowRight")
        assert.include(await focused(), "tools/call book")
        await Effect.runPromise(more.open)
        await row(page, "Reads page 7").waitFor()
        assert.include(await focused(), "tools/call book")
        assert.strictEqual(await row(page, "elicitation/create").last().getAttribute("aria-level"), "3")
      })
    }).pipe(Effect.scoped)
  )

  it.live("The page fits 360 pixels, in light and dark mode", () =>
    Effect.gen(function* () {
      const { url } = yield* busy()
      const looks = yield* Effect.forEach(["light", "dark"] as const, (colorScheme) =>
        Effect.gen(function* () {
          const { page } = yield* open(url, { colorScheme, viewport: { width: 360, height: 740 } })
          return yield* Effect.promise(async () => {
            assert.strictEqual(await overflow(page), 0)
            await connect(page)
            await row(page, "tools/call report").click()
            await page.locator("#details .timeline").waitFor()
            assert.strictEqual(await overflow(page), 0)
            return page.evaluate(() => getComputedStyle(document.body).backgroundColor)
          })
        })
      )
      assert.notStrictEqual(looks[0], looks[1])
    }).pipe(Effect.scoped)
  )

  it.live("axe-core finds no violation in any view, in light and dark mode", () =>
    Effect.gen(function* () {
      for (const colorScheme of ["light", "dark"] as const) {
        const { url } = yield* busy()
        // axe-core styles elements to measure them, which the page's policy does not allow.
        const { page } = yield* open(url, { colorScheme, bypassCSP: true })
        yield* Effect.promise(async () => {
          await page.evaluate(axe.source)
          assert.deepStrictEqual(await violations(page), [])
          await connect(page)
          await row(page, "tools/call report").click()
          await page.locator("#details .timeline").waitFor()
          assert.deepStrictEqual(await violations(page), [])
          await page.getByLabel("Group").selectOption("tool")
          await page.getByRole("treeitem").first().click()
          assert.deepStrictEqual(await violations(page), [])
          for (const tab of ["Tools", "Problems", "Nodes"]) {
            await rowsOf(page, tab)
            assert.deepStrictEqual(await violations(page), [], tab)
          }
          await page.getByRole("tab", { name: "Running" }).click()
          await page.getByRole("button", { name: "shown" }).click()
          assert.deepStrictEqual(await violations(page), [])
          await page.keyboard.type("The test is over")
          await page.keyboard.press("Enter")
          await page.locator("#outcome tbody tr").first().waitFor()
          assert.deepStrictEqual(await violations(page), [])
        })
      }
    }).pipe(Effect.scoped)
  )

  it.live("The tables show calls and failures from before the page was opened", () =>
    Effect.gen(function* () {
      const { url } = yield* busy()
      const { page } = yield* open(url)
      yield* Effect.promise(async () => {
        await connect(page)
        await page.getByRole("tab", { name: "Tools" }).click()
        await page.locator("#panel-tools tbody tr", { hasText: "tool failed at" }).waitFor()
        const tools = await rowsOf(page, "Tools")
        assert.match(tools.find((text) => text.startsWith("fails")) ?? "", /^fails01[\d.]+1 \(100%\).*tool failed at/)
        assert.match(tools.find((text) => text.startsWith("stuck")) ?? "", /^stuck10/)
        const [problem = ""] = await rowsOf(page, "Problems")
        assert.include(problem, "failedtools/call failsthe tool reported an error")
        assert.include(problem, "claude-desktop 1.4.0")
        assert.match((await rowsOf(page, "Nodes"))[0] ?? "", /^busyserving1/)
        // Like the header, without questions.
        const header = (await page.locator("#summary").textContent()) ?? ""
        const [sessions, requests] = (await page.locator("#panel-nodes tbody td").allTextContents()).slice(5)
        assert.include(header, `${sessions} sessions, ${requests} requests`)
        await page.locator("#name", { hasText: "busy 1" }).waitFor()
        assert.match((await page.locator("#about").textContent()) ?? "", /^on .+, up \d+ s$/)
        // A tool's name leads to its running calls.
        await page.getByRole("tab", { name: "Tools" }).click()
        await page.getByRole("button", { name: "stuck" }).click()
        await row(page, "tools/call stuck").waitFor()
        assert.strictEqual(await page.getByRole("treeitem").count(), 2)
      })
    }).pipe(Effect.scoped)
  )

  it.live("Tabs are moved by arrow keys", () =>
    Effect.gen(function* () {
      const { url } = yield* busy()
      const { page } = yield* open(url)
      yield* Effect.promise(async () => {
        await connect(page)
        await page.getByRole("tab", { name: "Running" }).focus()
        await page.keyboard.press("ArrowLeft")
        assert.strictEqual(await page.getByRole("tab", { selected: true }).textContent(), "Nodes")
        assert.isTrue(await page.locator("#panel-nodes").isVisible())
        assert.isFalse(await page.locator("#panel-running").isVisible())
        await page.keyboard.press("Home")
        assert.isTrue(await page.locator("#panel-running").isVisible())
      })
    }).pipe(Effect.scoped)
  )

  it.live("All shown calls can be interrupted at once, and the page says what became of them", () =>
    Effect.gen(function* () {
      const { requests, url } = yield* busy(20)
      const { page } = yield* open(url)
      yield* Effect.promise(async () => {
        await connect(page)
        await page.fill("#search", "tool:report client:client-")
        await page.getByLabel("Group").selectOption("tool")
        await page.getByRole("button", { name: "Interrupt 20 shown" }).click()
        assert.strictEqual(await page.locator("#dialog-what").textContent(), "20 × tools/call report")
        await page.keyboard.type("They hang")
        await page.keyboard.press("Enter")
        await page.locator("#outcome p", { hasText: "20 interrupted: 20 ended." }).waitFor()
      })
      const left = (yield* requests.list).filter(({ target }) => target === "report")
      assert.lengthOf(left, 1)
    }).pipe(Effect.scoped)
  )

  it.live("The page reports a lost server and reconnects by itself", () =>
    Effect.gen(function* () {
      const { url } = yield* busy()
      const { page } = yield* open(url)
      yield* Effect.promise(async () => {
        await connect(page)
        await page.route("**/api/changes", (route) => route.abort())
        await page.reload()
        await page.getByText("Connection lost. Reconnecting").waitFor()
        await page.unroute("**/api/changes")
        await page.getByText("Live", { exact: true }).waitFor()
      })
    }).pipe(Effect.scoped)
  )
})
