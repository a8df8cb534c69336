/** The page of `effect-mcp ui` and `effect-mcp dev --ui`, as processes. */
import { compileCache } from "@effect-mcp/spec/compileCache"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))
const main = path("../../../src/main.ts")
const changing = path("../../support/changing.ts")

/** A folder with a server whose tools are the lines of a file. */
const project = Effect.acquireRelease(
  Effect.sync(() => {
    const folder = mkdtempSync(join(tmpdir(), "effect-mcp-ui-"))
    writeFileSync(join(folder, "server.mjs"), `import ${JSON.stringify(`file://${changing}`)}\n`)
    writeFileSync(join(folder, "tools.txt"), "first")
    return folder
  }),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
)

/** Starts the command in a folder and returns the URL that it prints. `state` is the folder for its state. */
const startedWith = (state: string, folder: string, ...args: ReadonlyArray<string>) =>
  Effect.flatMap(
    Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, [main, ...args], {
          cwd: folder,
          env: { ...process.env, ...compileCache, NO_COLOR: "1", XDG_STATE_HOME: join(state, "state") },
          stdio: ["pipe", "pipe", "ignore"]
        })
      ),
      (child) =>
        Effect.promise(() => {
          const ended = new Promise<void>((resolve) => child.once("close", () => resolve()))
          child.kill("SIGTERM")
          return ended
        })
    ),
    ({ stdout }) =>
      Effect.promise(
        () => new Promise<string>((resolve) => createInterface({ input: stdout }).once("line", (url) => resolve(url)))
      )
  )

const started = (folder: string, ...args: ReadonlyArray<string>) => startedWith(folder, folder, ...args)

/** Reads the events of the page until one contains the text. */
const until = (url: string, text: string) =>
  Effect.promise(async (signal) => {
    const response = await fetch(`${url}events`, { signal })
    const decoder = new TextDecoder()
    let read = ""
    for await (const chunk of response.body ?? []) {
      read += decoder.decode(chunk, { stream: true })
      if (read.includes(text)) return read
    }
    return assert.fail(`The stream ended without ${text}`)
  })

const post = (url: string, command: object) =>
  Effect.promise(async () => {
    const { origin } = new URL(url)
    const response = await fetch(`${url}command`, {
      method: "POST",
      headers: { origin },
      body: JSON.stringify(command)
    })
    return response.status
  })

describe("effect-mcp ui", () => {
  it.live("The page calls a tool, and the next start still has the run", () =>
    Effect.gen(function* () {
      const folder = yield* project
      const args = ["ui", "--", process.execPath, "server.mjs"]
      const run = Effect.gen(function* () {
        const url = yield* started(folder, ...args)
        yield* until(url, '"status":"connected"')
        const call = { _tag: "Call", tool: "first", arguments: {}, task: false }
        assert.strictEqual(yield* post(url, call), 200)
        yield* until(url, '"status":"done"')
      })
      yield* Effect.scoped(run)
      const url = yield* started(folder, ...args)
      assert.include(yield* until(url, '"_tag":"Snapshot"'), '"status":"done"')
      // The same command in another folder is another server.
      const other = yield* startedWith(folder, yield* project, ...args)
      assert.notInclude(yield* until(other, '"_tag":"Snapshot"'), '"status":"done"')
    }).pipe(Effect.scoped)
  )

  it.live("The page of dev --ui stays connected when the server restarts", () =>
    Effect.gen(function* () {
      const folder = yield* project
      const url = yield* started(folder, "dev", "--ui", "server.mjs")
      yield* until(url, '"name":"first"')
      writeFileSync(join(folder, "tools.txt"), "second")
      const read = yield* until(url, '"name":"second"')
      assert.notInclude(read, '"status":"closed"')
    }).pipe(Effect.scoped)
  )
})
