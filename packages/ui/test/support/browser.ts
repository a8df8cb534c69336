/** A real Chromium. Its tests are skipped if there is none. */
import { Effect } from "effect"
import { accessSync, constants } from "node:fs"
import * as path from "node:path"
import { type BrowserContextOptions, chromium, type Page } from "playwright-core"

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

/** Why no page can be opened here. */
export const missing = executablePath === undefined ? "no Chromium in PATH (Debian: apt install chromium)" : undefined

export interface Opened {
  readonly page: Page
  /** Problems that the browser reported: policy violations and page errors. */
  readonly complaints: ReadonlyArray<string>
  /** URLs that the browser requested. */
  readonly requests: ReadonlyArray<string>
}

/** Opens a new page, which closes with the scope. */
export const open = (url: string, options: BrowserContextOptions = {}) =>
  Effect.gen(function* () {
    const browser = yield* Effect.acquireRelease(
      Effect.promise(() =>
        chromium.launch({
          ...(executablePath === undefined ? undefined : { executablePath }),
          args: ["--no-sandbox", "--disable-gpu"]
        })
      ),
      (browser) => Effect.promise(() => browser.close())
    )
    const complaints: Array<string> = []
    const requests: Array<string> = []
    const page = yield* Effect.promise(async () => {
      const context = await browser.newContext({
        viewport: { width: 1440, height: 900 },
        permissions: ["clipboard-read", "clipboard-write"],
        // An element that fades in has too little contrast.
        reducedMotion: "reduce",
        ...options
      })
      const page = await context.newPage()
      // A busy machine takes long to draw; no test waits for time to pass.
      page.setDefaultTimeout(60_000)
      page.on("console", (message) => {
        if (["error", "warning"].includes(message.type())) complaints.push(message.text())
      })
      page.on("pageerror", ({ message }) => complaints.push(message))
      page.on("request", (request) => requests.push(request.url()))
      await page.goto(url)
      return page
    })
    return { page, complaints, requests } satisfies Opened
  })
