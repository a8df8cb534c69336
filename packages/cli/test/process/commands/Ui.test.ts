/** The page of `effect-mcp ui` and `effect-mcp dev --ui`, as processes. */
import { compileCache } from "@effect-mcp/spec/compileCache"
import { assert, describe, it } from "@effect/vitest"
import { needs } from "@effect-mcp/spec/skip"
import { Effect, Exit } from "effect"
import { spawn } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { protectedServer, user } from "../../support/login.ts"

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

/** Starts the command in a folder, with these environment variables, and returns the URL that it prints. */
const startedWith = (env: NodeJS.ProcessEnv, folder: string, ...args: ReadonlyArray<string>) =>
  Effect.flatMap(
    Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, [main, ...args], {
          cwd: folder,
          env: { ...process.env, ...compileCache, NO_COLOR: "1", XDG_STATE_HOME: join(folder, "state"), ...env },
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

const started = (folder: string, ...args: ReadonlyArray<string>) => startedWith({}, folder, ...args)

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

const sent = (url: string, command: object): Promise<Response> =>
  fetch(`${url}command`, {
    method: "POST",
    headers: { origin: new URL(url).origin },
    body: JSON.stringify(command)
  })
const post = (url: string, command: object) => Effect.promise(async () => (await sent(url, command)).status)
const posted = (url: string, command: object) =>
  Effect.promise(async (): Promise<{ readonly [name: string]: unknown }> => (await sent(url, command)).json())

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
      const other = yield* startedWith({ XDG_STATE_HOME: join(folder, "state") }, yield* project, ...args)
      assert.notInclude(yield* until(other, '"_tag":"Snapshot"'), '"status":"done"')
    }).pipe(Effect.scoped)
  )

  it.live.each([
    { command: ["ui"], server: ["--", process.execPath, "server.mjs"] },
    { command: ["dev", "--ui"], server: ["server.mjs"] }
  ])("The page of $command obeys --policy and --lock", ({ command, server }) =>
    Effect.gen(function* () {
      const folder = yield* project
      const tools = ["first", "second", "third"]
      const pinned = tools.slice(0, 2).map((name) => [name, { name, inputSchema: { type: "object" } }])
      const name = command.length === 1 ? `${process.execPath} server.mjs` : "node server.mjs"
      const offer = { name: "changing", version: "1", tools: Object.fromEntries(pinned) }
      const rules = [{ decide: "allow", name: "first", source: "user" }, { decide: "deny" }]
      writeFileSync(join(folder, "tools.txt"), tools.join("\n"))
      writeFileSync(join(folder, "pins.json"), JSON.stringify({ version: 1, servers: { [name]: offer } }))
      writeFileSync(join(folder, "policy.json"), JSON.stringify({ rules }))
      const url = yield* started(folder, ...command, "--lock", "pins.json", "--policy", "policy.json", ...server)
      assert.notInclude(yield* until(url, '"name":"second"'), '"name":"third","inputSchema"')
      yield* post(url, { _tag: "Call", tool: "first", arguments: {}, task: false })
      yield* until(url, '"status":"done"')
      yield* post(url, { _tag: "Call", tool: "second", arguments: {}, task: false })
      yield* until(url, "The policy denies call of second")
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

  it.live(
    "The page logs in at a server that requires it, and shows no token",
    () =>
      Effect.gen(function* () {
        const { issuer, url: server } = yield* protectedServer
        const { env, tokens } = yield* user
        const url = yield* startedWith(env, yield* project, "ui", "--", server)
        const read = yield* until(url, '"status":"connected"')
        assert.include(read, `To log in, open this page if your browser does not: ${issuer.issuer}/authorize?`)
        assert.include(read, '"authorization":"Bearer •••"')
        const saved = readdirSync(tokens, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map(({ name, parentPath }) => readFileSync(join(parentPath, name), "utf8"))
        const found = saved.flatMap((text) => [...text.matchAll(/"(?:access|refresh)Token":\s*"([^"]+)"/g)])
        assert.isNotEmpty(found)
        for (const [, token = ""] of found) assert.notInclude(read, token)
        assert.strictEqual(yield* issuer.count("authorize"), 1)
      }).pipe(Effect.scoped),
    needs(process.platform === "linux", "the browser's name is that of Linux")
  )

  it.live("Headers of the user reach the server, and the page masks secrets in them", () =>
    Effect.gen(function* () {
      const received: Array<string | undefined> = []
      const server = yield* Effect.acquireRelease(
        Effect.callback<Server>((resume) => {
          const made = createServer(({ headers }, response) => {
            received.push(headers["x-auth"]?.toString())
            response.writeHead(403).end("no")
          }).listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
        }),
        (made) => Effect.sync(() => made.close())
      )
      const address = server.address()
      const port = typeof address === "object" ? address?.port : undefined
      const args = ["ui", "--header", "X-Auth: swordfish", "--", `http://127.0.0.1:${port}/mcp`]
      const read = yield* until(yield* started(yield* project, ...args), '"status":"closed"')
      assert.strictEqual(received[0], "swordfish")
      assert.include(read, '"x-auth":"•••"')
      assert.notInclude(read, "swordfish")
    }).pipe(Effect.scoped)
  )

  it.live("The view of a call is served at another port, until the connection ends", () =>
    Effect.gen(function* () {
      const url = yield* started(yield* project, "ui", "--", process.execPath, path("../../support/viewed.ts"))
      yield* until(url, '"name":"dice"')
      const call = { _tag: "Call", tool: "dice", arguments: { count: 2 }, task: false }
      const { run } = yield* posted(url, call)
      yield* until(url, '"status":"done"')
      const view = { _tag: "View", run }
      const page = String((yield* posted(url, view))["url"])
      assert.notStrictEqual(new URL(page).port, new URL(url).port)
      const open = Effect.promise(async () => (await fetch(page)).status)
      assert.strictEqual(yield* open, 200)
      assert.strictEqual(yield* post(url, { _tag: "Disconnect" }), 200)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(open)))
      assert.include(JSON.stringify(yield* posted(url, view)), "There is no connection")
    }).pipe(Effect.scoped)
  )
})
