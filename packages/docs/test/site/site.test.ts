/** The site that `npm run docs` has built, in a real Chromium. `npm run test:docs` builds it first. */
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, readFileSync, statSync } from "node:fs"
import { createServer } from "node:http"
import { createRequire } from "node:module"
import * as path from "node:path"
import type { Page } from "playwright-core"
import { missing, open } from "../../../operate/test/support/browser.ts"
import * as Pages from "../../src/Pages.ts"
import { docs } from "../../src/Repository.ts"

const html = path.join(docs, ".site/html")
const types: Readonly<Record<string, string>> = {
  ".css": "text/css",
  ".html": "text/html",
  ".js": "text/javascript",
  ".json": "application/json",
  ".md": "text/markdown",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain"
}

/** Serves the files as a host of static sites does: `/tools` is `tools.html`. */
const served = Effect.acquireRelease(
  Effect.callback<{ readonly url: string; readonly close: () => void }>((resume) => {
    const server = createServer(({ url = "/" }, response) => {
      const wanted = path.join(html, decodeURIComponent(new URL(url, "http://localhost").pathname))
      const file = [wanted, `${wanted}.html`, path.join(wanted, "index.html")].find(
        (file) => existsSync(file) && statSync(file).isFile()
      )
      const type = types[path.extname(file ?? "")] ?? "application/octet-stream"
      response.writeHead(file === undefined ? 404 : 200, { "content-type": type })
      response.end(file === undefined ? undefined : readFileSync(file))
    }).listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" ? address?.port : undefined
      resume(
        Effect.succeed({
          url: `http://127.0.0.1:${port}`,
          close: () => {
            server.closeAllConnections()
            server.close()
          }
        })
      )
    })
  }),
  ({ close }) => Effect.sync(close)
)

/** Where the document is wider than the window, it scrolls sideways. */
const overflow = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

interface Violation {
  readonly id: string
  readonly nodes: ReadonlyArray<{ readonly html: string }>
}

/** Returns the accessibility rules that the page breaks, each with the first element that breaks it. */
const violations = async (page: Page): Promise<ReadonlyArray<string>> => {
  await page.evaluate(axe)
  const found = await page.evaluate<ReadonlyArray<Violation>>("axe.run().then(({ violations }) => violations)")
  return found.map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ""}`)
}

/** Pages with every kind of content: code, output, tables, diagrams, pictures and the recording. */
const kinds = ["", "tools", "asking", "hosts", "tasks", "deploying-proxy", "testing-fuzzing", "operations"]

const names = Pages.all.flatMap(({ pages }) => pages.map(({ name }) => name))

describe("Site in a browser", needs(missing === undefined, missing ?? ""), () => {
  it.live("Every page loads without a browser error and does not scroll sideways at 360 pixels", () =>
    Effect.gen(function* () {
      const { url } = yield* served
      const { complaints, page } = yield* open(url, { viewport: { width: 360, height: 740 } })
      yield* Effect.promise(async () => {
        for (const name of ["", ...names, "api/", "api/core/Tools", "api/client/McpClient"]) {
          await page.goto(`${url}/${name}`, { waitUntil: "networkidle" })
          assert.isAtMost(await overflow(page), 0, `/${name} is wider than the window`)
        }
      })
      assert.deepStrictEqual(complaints, [])
    }).pipe(Effect.scoped)
  )

  it.live.each([
    { width: 1440, colorScheme: "light" as const },
    { width: 360, colorScheme: "dark" as const }
  ])("Pages break no rule of accessibility at $width pixels in $colorScheme", ({ colorScheme, width }) =>
    Effect.gen(function* () {
      const { url } = yield* served
      const { page } = yield* open(url, { colorScheme, viewport: { width, height: 900 } })
      yield* Effect.promise(async () => {
        for (const name of kinds) {
          await page.goto(`${url}/${name}`, { waitUntil: "networkidle" })
          assert.deepStrictEqual(await violations(page), [], `/${name}`)
        }
      })
    }).pipe(Effect.scoped)
  )

  it.live("The recording is complete, and plays from its start", () =>
    Effect.gen(function* () {
      const { url } = yield* served
      const { page } = yield* open(url)
      yield* Effect.promise(async () => {
        await page.waitForLoadState("networkidle")
        const output = page.locator(".terminal pre")
        const whole = (await output.textContent()) ?? ""
        assert.include(whole, "elicitation")
        await page.clock.install()
        await page.locator(".terminal button").click()
        await page.clock.runFor(1000)
        assert.notInclude((await output.textContent()) ?? "", "elicitation")
        await page.clock.runFor(600_000)
        assert.strictEqual(await output.textContent(), whole)
      })
    }).pipe(Effect.scoped)
  )

  it.live("A page can be found by keyboard search", () =>
    Effect.gen(function* () {
      const { url } = yield* served
      const { page } = yield* open(`${url}/start`)
      yield* Effect.promise(async () => {
        await page.waitForLoadState("networkidle")
        await page.keyboard.press("Control+k")
        await page.locator("#localsearch-input:focus").waitFor()
        await page.keyboard.type("The client does not support")
        await page.locator(".result", { hasText: "Troubleshooting" }).first().waitFor()
        await page.keyboard.press("Enter")
        await page.waitForURL(/troubleshooting#/)
      })
    }).pipe(Effect.scoped)
  )

  it.live("Code is shown with Effect and with promises", () =>
    Effect.gen(function* () {
      const { url } = yield* served
      const { page } = yield* open(`${url}/tools`)
      yield* Effect.promise(async () => {
        await page.waitForLoadState("networkidle")
        const group = page.locator(".vp-code-group").first()
        assert.include(await group.locator(".active pre").textContent(), "Tools.layer(Forecast")
        await group.locator("label", { hasText: "Promise" }).click()
        await group.locator(".active pre", { hasText: "server.tool(" }).waitFor()
      })
    }).pipe(Effect.scoped)
  )

  it.live("The chosen language applies to all pages without moving the clicked position", () =>
    Effect.gen(function* () {
      const { url } = yield* served
      const { page } = yield* open(`${url}/tools`)
      const shown = (): Promise<ReadonlyArray<string>> =>
        page.evaluate(() =>
          [...document.querySelectorAll(".vp-code-group")].map(
            (group) => group.querySelector("input:checked + label")?.textContent?.trim() ?? ""
          )
        )
      yield* Effect.promise(async () => {
        await page.waitForLoadState("networkidle")
        const last = page.locator(".vp-code-group").last()
        const promise = last.locator("label", { hasText: "Promise" })
        await promise.scrollIntoViewIfNeeded()
        const before = await promise.boundingBox()
        await promise.click()
        await last.locator(".active pre", { hasText: "server.tool(" }).waitFor()
        assert.deepStrictEqual([...new Set(await shown())], ["Promise"])
        assert.closeTo((await promise.boundingBox())?.y ?? 0, before?.y ?? 1, 1)
        await page.goto(`${url}/resources`)
        await page.locator(".vp-code-group").first().locator(".active pre", { hasText: "server.resource(" }).waitFor()
        // Groups of other labels stay as they are.
        await page.goto(`${url}/migrating`)
        await page.locator(".vp-code-group").first().locator(".active pre").waitFor()
        assert.deepStrictEqual(await shown(), ["Here, with promises"])
      })
    }).pipe(Effect.scoped)
  )

  it.live("Dark mode follows the reader's preference", () =>
    Effect.gen(function* () {
      const { url } = yield* served
      const { page } = yield* open(`${url}/tools`, { colorScheme: "dark" })
      const color = yield* Effect.promise(() => page.evaluate(() => getComputedStyle(document.body).backgroundColor))
      assert.strictEqual(color, "rgb(27, 27, 31)")
    }).pipe(Effect.scoped)
  )

  it.live("Pages are also served as Markdown, along with llms.txt", () =>
    Effect.gen(function* () {
      const { url } = yield* served
      const read = (name: string) => Effect.promise(() => fetch(`${url}/${name}`).then((response) => response.text()))
      assert.match(yield* read("llms.txt"), /^# effect-mcp\n/)
      assert.match(yield* read("tools.md"), /^# Tools\n/)
      assert.include(yield* read("llms-full.txt"), "# Long work")
    }).pipe(Effect.scoped)
  )
})
