import { needs } from "@effect-mcp/spec/skip"
import { Progress, Tool, Tools } from "@effect-mcp/core"
import * as Transport from "@effect-mcp/core/Transport"
import { Tasks } from "@effect-mcp/tasks"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import type { Page } from "playwright-core"
import { missing, open } from "../support/browser.ts"
import { npmServer, ofCommand, ofServer } from "../support/served.ts"

const go = (page: Page, name: string) =>
  page.getByRole("navigation", { name: "Server" }).getByRole("link", { name, exact: true }).click()
const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).first().click()
const status = (page: Page, text: string) => page.locator(".run .badge", { hasText: text }).first().waitFor()
const clipboard = (page: Page): Promise<string> => page.evaluate(() => navigator.clipboard.readText())

describe("A developer with the page", needs(missing === undefined, missing ?? ""), () => {
  it.live("Calls, answers, cancels, subscribes and copies at server-everything", () =>
    Effect.gen(function* () {
      const { url } = yield* ofCommand([npmServer("everything")])
      const { complaints, page } = yield* open(url)
      yield* Effect.promise(async () => {
        // A form and its result.
        await go(page, "Get Sum Tool")
        await page.getByLabel("a required").fill("2")
        await page.getByLabel("b required").fill("x")
        await page.getByRole("button", { name: "Call anyway" }).waitFor()
        await page.getByLabel("b required").fill("3")
        await press(page, "Call")
        await page.getByText("The sum of 2 and 3 is 5.").first().waitFor()
        await press(page, "Copy as command")
        assert.match(await clipboard(page), /^effect-mcp call get-sum a:=2 b:=3 --revision 2025-11-25 -- node /)
        // A question.
        await go(page, "Trigger Elicitation Request Tool")
        await press(page, "Call")
        await page.getByLabel(/^name required/).fill("Ada")
        await press(page, "Send answer")
        await page.getByText("User provided the requested information").first().waitFor()
        // Progress, and an end before the work is done.
        await go(page, "Trigger Long Running Operation Tool")
        await page.getByLabel("duration").fill("600")
        await page.getByLabel("steps").fill("6000")
        await press(page, "Call")
        await page.getByText(/^[1-9]\d* of 6000$/).waitFor()
        await press(page, "Cancel")
        await status(page, "cancelled")
        await page.locator(".message", { hasText: "notifications/cancelled" }).waitFor()
        // A subscription.
        await go(page, "Toggle Subscriber Updates")
        await press(page, "Call")
        await status(page, "done")
        await page.evaluate(() => (location.hash = "#/resource/demo%3A%2F%2Fresource%2Fdynamic%2Ftext%2F1"))
        await page.getByLabel("Subscribe").check()
        await page.getByText(/^[1-9]\d* updates?, last at/).waitFor()
        // The wire.
        await page.getByLabel("Search messages").fill("get-sum")
        await page.getByLabel("Direction").selectOption("client")
        await page.locator(".message button.row", { hasText: "tools/call" }).click()
        await page.locator(".details").getByRole("button", { name: "Copy JSON" }).click()
        assert.deepInclude(JSON.parse(await clipboard(page)).params, { name: "get-sum", arguments: { a: 2, b: 3 } })
      })
      assert.deepStrictEqual(complaints, [])
    }).pipe(Effect.scoped)
  )

  it.live("Shows the address to log in at while it connects", () =>
    Effect.gen(function* () {
      const told = "To log in, open this page if your browser does not: https://as.invalid/authorize?state=1"
      const { url } = yield* ofServer(Layer.empty, { connect: ({ tell }) => Effect.andThen(tell(told), Effect.never) })
      const { page } = yield* open(url)
      yield* Effect.promise(async () => {
        await page.getByRole("button", { name: "https://as.invalid/authorize?state=1", exact: true }).click()
        await page.getByRole("dialog").getByText("https://as.invalid/authorize?state=1").waitFor()
      })
    }).pipe(Effect.scoped)
  )

  it.live("Reads files at server-filesystem, in an older revision too", () =>
    Effect.gen(function* () {
      const folder = mkdtempSync(path.join(tmpdir(), "ui-"))
      writeFileSync(path.join(folder, "notes.md"), "# Tea\n\n- green\n")
      const { url } = yield* ofCommand([npmServer("filesystem"), folder])
      const { page } = yield* open(url)
      yield* Effect.promise(async () => {
        await go(page, "Read Text File")
        await page.getByLabel("path required").fill(path.join(folder, "notes.md"))
        await press(page, "Call")
        await page.locator(".markdown .subhead", { hasText: "Tea" }).waitFor()
        await page.getByLabel("Revision").selectOption("2024-11-05")
        await page.locator(".top .state.connected", { hasText: "2024-11-05" }).waitFor()
        await press(page, "Run again")
        await page.locator(".run", { hasText: "2024-11-05" }).waitFor()
        await status(page, "done")
      })
    }).pipe(Effect.scoped)
  )

  it.live("Finds the fault that is planted in a server, and follows a task", () =>
    Effect.gen(function* () {
      const Steps = Tool.make("steps", { description: "Works in steps" })
      const Report = Tool.make("report", { description: "Writes a report", task: "optional" })
      const features = Layer.mergeAll(
        Tools.layer(Steps, () =>
          Effect.as(
            Effect.forEach([1, 2, 3], (done) => Progress.report(done, { total: 3 }), { discard: true }),
            "Finished"
          )
        ),
        Tools.layer(Report, () => Effect.as(Progress.report(1, { message: "Counting pages" }), "Three pages")),
        Tasks.layer()
      )
      /** The fault: progress that never increases. */
      const stuck = Transport.map((inbound) =>
        inbound._tag === "Message" && "method" in inbound.message && inbound.message.method === "notifications/progress"
          ? { ...inbound, message: { ...inbound.message, params: { ...inbound.message.params, progress: 1 } } }
          : inbound
      )
      const { url } = yield* ofServer(features, { revision: "2025-11-25" }, stuck)
      const { complaints, page } = yield* open(url)
      yield* Effect.promise(async () => {
        await go(page, "steps")
        await press(page, "Call")
        await page.getByText("Finished").first().waitFor()
        await page.getByRole("link", { name: /^Findings/ }).click()
        await page
          .getByText(/progress/i)
          .first()
          .waitFor()
        await page.locator(".badge.bad", { hasText: "MUST" }).first().waitFor()
        await go(page, "report")
        await page.getByLabel("As a task").check()
        await press(page, "Call")
        await page.getByText("Three pages").first().waitFor()
        await page.locator(".run .badge", { hasText: "completed" }).waitFor()
        await page.getByRole("link", { name: "Tasks", exact: true }).click()
        await press(page, "Follow")
        await page.locator(".view-run .run").getByText("Three pages").waitFor()
      })
      assert.deepStrictEqual(complaints, [])
    }).pipe(Effect.scoped)
  )
})
