import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import type { Page } from "playwright-core"
import { missing, open } from "../support/browser.ts"
import { npmServer, ofCommand } from "../support/served.ts"

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

interface Report {
  readonly violations: ReadonlyArray<{ readonly id: string; readonly nodes: ReadonlyArray<{ readonly html: string }> }>
}

const views = [
  "overview",
  "history",
  "findings",
  "logs",
  "answers",
  "tasks",
  "menu",
  "wire",
  "tool/echo",
  "tool/trigger-elicitation-request",
  "resource/demo%3A%2F%2Fresource%2Fstatic%2Fdocument%2Ffeatures.md",
  "template/demo%3A%2F%2Fresource%2Fdynamic%2Ftext%2F%7BresourceId%7D",
  "prompt/completable-prompt"
]

/** Rules that a view violates, and whether it scrolls sideways. */
const problems = async (page: Page, view: string): Promise<ReadonlyArray<string>> => {
  await page.evaluate((hash) => (location.hash = hash), `#/${view}`)
  await page.locator(`.view-${view.split("/")[0]}`).waitFor()
  const report = await page.evaluate<Report>("axe.run()")
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  return [
    ...report.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${view}: ${id} ${html}`)),
    ...(wider > 0 ? [`${view} scrolls sideways by ${wider} px`] : [])
  ]
}

describe("Accessibility of the page", needs(missing === undefined, missing ?? ""), () => {
  for (const [colorScheme, width] of [
    ["light", 1440],
    ["dark", 1440],
    ["light", 768],
    ["dark", 360]
  ] as const) {
    it.live(`No rule of axe is violated in ${colorScheme} at ${width} px`, () =>
      Effect.gen(function* () {
        const { url } = yield* ofCommand([npmServer("everything")])
        // The page's own policy keeps the tester's program out. A question that fades in has too little contrast.
        const { page } = yield* open(url, {
          colorScheme,
          viewport: { width, height: 900 },
          bypassCSP: true,
          reducedMotion: "reduce"
        })
        yield* Effect.promise(async () => {
          await page.evaluate(axe)
          await page.locator(".top .state.connected").waitFor()
          await page.evaluate(() => (location.hash = "#/tool/get-structured-content"))
          await page.getByLabel("location required").selectOption({ index: 1 })
          await page.getByRole("button", { name: "Call", exact: true }).click()
          await page.locator(".run .badge.good").first().waitFor()
          await page.evaluate(() => (location.hash = "#/tool/trigger-elicitation-request"))
          await page.getByRole("heading", { name: "Trigger Elicitation Request Tool" }).waitFor()
          await page.getByRole("button", { name: "Call", exact: true }).click()
          await page.locator(".question").waitFor()
          const found: Array<string> = []
          for (const view of [...views, "run/1"]) found.push(...(await problems(page, view)))
          assert.deepStrictEqual(found, [])
        })
      }).pipe(Effect.scoped)
    )
  }
})
