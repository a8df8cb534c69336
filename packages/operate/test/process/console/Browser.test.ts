import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
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

describe("The page in a browser", needs(missing === undefined, missing ?? ""), () => {
  it.live("The page shows hostile text as text, and breaks no rule of its policy", () =>
    Effect.gen(function* () {
      const { more, url } = yield* busy()
      const { complaints, page } = yield* open(url)
      yield* Effect.promise(async () => {
        await connect(page)
        await row(page, `Reads page 3 of ${hostile}`).waitFor()
        await row(page, `${hostile} 1.4.0`).click()
        await page.locator("#details h2", { hasText: hostile }).waitFor()
        await page.locator("#details table td", { hasText: "initialize" }).first().waitFor()
        // What is shown follows without a reload.
        await Effect.runPromise(more.open)
        await row(page, "Reads page 7").waitFor()
        assert.strictEqual(await page.locator("#tree img, #tree script, #details img, #details script").count(), 0)
        assert.strictEqual(await page.title(), "MCP console")
      })
      assert.deepStrictEqual(complaints, [])
    }).pipe(Effect.scoped)
  )

  it.live(
    "The page lets an operator find a call that hangs among a thousand sessions, and stop it, by the keyboard alone",
    () =>
      Effect.gen(function* () {
        const { stuck, url } = yield* busy(997)
        const { page } = yield* open(url)
        yield* Effect.promise(async () => {
          await page.keyboard.type(token)
          await page.keyboard.press("Enter")
          await page.getByRole("treeitem").first().waitFor()
          await page.locator("#summary", { hasText: "1000 sessions" }).waitFor()
          assert.include(await page.locator("#empty").textContent(), "search to narrow")
          await page.keyboard.press("/")
          await page.keyboard.type("stuck")
          await row(page, "claude-desktop").waitFor()
          assert.strictEqual(await page.getByRole("treeitem").count(), 2)
          await page.keyboard.press("ArrowDown")
          await page.keyboard.press("ArrowDown")
          await page.keyboard.press("Enter")
          await page.locator("#details h2", { hasText: "tools/call stuck" }).waitFor()
          await page.keyboard.press("i")
          await page.keyboard.type("It hangs")
          await page.keyboard.press("Enter")
          await page.getByText("tools/call stuck was interrupted, and its client is told why").waitFor()
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

  it.live("The page offers no interrupt to a token that may only see, and forgets a token that is refused", () =>
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

  it.live("The page looks into the messages of a session, sets its log level, and drains the server", () =>
    Effect.gen(function* () {
      const { calls, requests, url } = yield* busy()
      const { complaints, page } = yield* open(url)
      yield* Effect.promise(async () => {
        await connect(page)
        await row(page, "claude-desktop").first().click()
        await page.getByRole("button", { name: "Look into messages" }).click()
        await page
          .getByText("No message of this session since you began to look. Messages are kept while you look.")
          .waitFor()
        await Effect.runPromise(calls)
        await page.locator(".messages td", { hasText: "tools/call · fails" }).first().waitFor()
        assert.notInclude((await page.locator(".messages").textContent()) ?? "", "done")
        await page.getByLabel("Log messages that its client is sent").selectOption("debug")
        await page.getByText("Its client is sent log messages from debug on").waitFor({ state: "attached" })
        await page.getByRole("button", { name: "Drain" }).click()
        await page.locator("#drain-dialog").getByRole("button", { name: "Drain" }).click()
        await page.getByText("The drain has begun").waitFor({ state: "attached" })
        await page.locator("#summary", { hasText: "draining" }).waitFor()
        assert.isFalse(await page.locator("#drain").isVisible())
      })
      assert.deepStrictEqual(complaints, [])
      for (const { key } of yield* requests.list) yield* requests.interrupt(key, "The test is over")
    }).pipe(Effect.scoped)
  )

  it.live("The page closes and opens sessions with the arrow keys, and keeps focus while rows change", () =>
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

  it.live("The page fits into 360 pixels, in light and in dark", () =>
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

  it.live("The page says that it has lost the server, and connects again by itself", () =>
    Effect.gen(function* () {
      const { url } = yield* busy()
      const { page } = yield* open(url)
      yield* Effect.promise(async () => {
        await connect(page)
        await page.route("**/api/changes", (route) => route.abort())
        await page.reload()
        await page.getByText("Lost: trying again").waitFor()
        await page.unroute("**/api/changes")
        await page.getByText("Live", { exact: true }).waitFor()
      })
    }).pipe(Effect.scoped)
  )
})
