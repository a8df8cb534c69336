/**
 * Tests views in a real Chromium. The view runs in its sandbox, and the test can click, read, and see every message.
 *
 * This needs the package `playwright-core` and a Chromium in `PATH`.
 */
import type { ClientError } from "@effect-mcp/client/ClientError"
import { Consent } from "@effect-mcp/client/Consent"
import type * as McpClient from "@effect-mcp/client/McpClient"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { accessSync, constants } from "node:fs"
import * as path from "node:path"
import type { BrowserContextOptions, FrameLocator, Page } from "playwright-core"
import type * as AppHost from "../host/AppHost.ts"
import * as LocalPage from "../page/LocalPage.ts"

const names = ["chromium", "chromium-headless-shell", "chromium-browser", "google-chrome"]

const isProgram = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const executablePath = (process.env["PATH"] ?? "")
  .split(path.delimiter)
  .flatMap((folder) => names.map((name) => path.join(folder, name)))
  .find(isProgram)

/** The reason why views can't be opened here, or `undefined` if they can. Pass it to your test framework to skip the tests. */
export const missing: string | undefined =
  executablePath === undefined ? "no Chromium in PATH (Debian: apt install chromium)" : undefined

export interface Options extends LocalPage.Options {
  /** Options for the browser context, such as `viewport` and `colorScheme`. */
  readonly browser?: BrowserContextOptions | undefined
}

/** A view that is shown in a browser. */
export interface OpenedView {
  /** The host's page. */
  readonly page: Page
  /** The view's page, for locators: `view.getByRole("button")`. */
  readonly view: FrameLocator
  readonly serving: LocalPage.ServedPage
  /** The messages so far, in both directions. */
  readonly passed: ReadonlyArray<AppHost.PassedMessage>
  /** Errors and warnings in the browser's console, such as violations of the view's policy. */
  readonly complaints: ReadonlyArray<string>
  /** Waits for a message, which may have passed already. */
  readonly until: (predicate: (passed: AppHost.PassedMessage) => boolean) => Effect.Effect<AppHost.PassedMessage>
}

/** Opens an empty page in a new browser. Closes with the scope. */
const pageWith = (options?: BrowserContextOptions): Effect.Effect<Page, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { chromium } = yield* Effect.promise(() => import("playwright-core"))
    const browser = yield* Effect.acquireRelease(
      Effect.promise(() =>
        chromium.launch({
          ...(executablePath === undefined ? undefined : { executablePath }),
          // Containers run as root, where Chromium's own sandbox doesn't start.
          args: ["--no-sandbox", "--disable-gpu"]
        })
      ),
      (browser) => Effect.promise(() => browser.close())
    )
    return yield* Effect.promise(() => browser.newPage(options))
  })

/** Opens an empty page in a new browser, for tests that bring their own host page. Closes with the scope. */
export const page: Effect.Effect<Page, never, Scope.Scope> = pageWith()

/**
 * Calls the tool, opens its view in Chromium and waits until it is ready. The `Consent` policy in the context limits the view's actions, in
 * addition to the client's policy for tool calls. Without a policy, everything is allowed. Everything closes with the scope.
 *
 * @example
 * ```ts
 * import * as AppTest from "@effect-mcp/apps/AppTest"
 * import type { McpServer } from "@effect-mcp/server"
 * import { McpTest } from "@effect-mcp/testing"
 * import { Effect, type Layer } from "effect"
 *
 * export const rolls = (features: Layer.Layer<never, never, McpServer.Registries>) =>
 *   Effect.gen(function* () {
 *     const client = yield* McpTest.connect(features, "2026-07-28")
 *     const { view } = yield* AppTest.open(client, { tool: "dice" })
 *     yield* Effect.promise(() => view.getByText("You rolled 4").waitFor())
 *   }).pipe(Effect.scoped)
 * ```
 */
export const open = Effect.fnUntraced(function* (
  client: McpClient.McpClient["Service"],
  options: Options
): Effect.fn.Return<OpenedView, AppHost.ViewUnavailable | LocalPage.PortUnavailable | ClientError, Scope.Scope> {
  const passed: Array<AppHost.PassedMessage> = []
  const waiting = new Set<() => void>()
  const observe = (message: AppHost.PassedMessage): void => {
    passed.push(message)
    for (const check of waiting) check()
    options.host?.observe?.(message)
  }
  const until: OpenedView["until"] = (predicate) =>
    Effect.suspend(() => {
      const found = Deferred.makeUnsafe<AppHost.PassedMessage>()
      const check = (): void => {
        const message = passed.find(predicate)
        if (message !== undefined) Deferred.doneUnsafe(found, Effect.succeed(message))
      }
      waiting.add(check)
      check()
      return Effect.ensuring(
        Deferred.await(found),
        Effect.sync(() => waiting.delete(check))
      )
    })
  const serving = yield* Effect.provideService(
    LocalPage.serve(client, { ...options, host: { ...options.host, observe } }),
    Consent,
    yield* Consent
  )
  const page = yield* pageWith(options.browser)
  const complaints: Array<string> = []
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text())
  })
  page.on("pageerror", ({ message }) => complaints.push(message))
  yield* Effect.promise(() => page.goto(serving.url))
  const view = page.frameLocator("#stage iframe").frameLocator("iframe")
  return { page, view, serving, passed, complaints, until }
})
