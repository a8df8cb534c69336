/** New projects: compiled, tested and served, with the packages of this workspace as links. */
import * as McpClient from "@effect-mcp/client/McpClient"
import * as Revision from "@effect-mcp/protocol/Revision"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { spawn } from "node:child_process"
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { create, manifestOf, temporary } from "../support/create.ts"

interface Ran {
  readonly code: number | null
  readonly output: string
}

const ran = (folder: string, command: string, args: ReadonlyArray<string>): Effect.Effect<Ran> =>
  Effect.callback((resume) => {
    const child = spawn(command, args, { cwd: folder })
    let output = ""
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += String(text)))
    child.on("close", (code) => resume(Effect.succeed({ code, output })))
    return Effect.sync(() => child.kill())
  })

/** Links the dependencies of the projects' manifests, and nothing else, into the projects' folder. */
const link = (parent: string, projects: ReadonlyArray<string>): void => {
  const named = projects.flatMap((name) => {
    const { dependencies, devDependencies } = manifestOf(join(parent, name))
    return Object.keys({ ...dependencies, ...devDependencies })
  })
  for (const name of new Set(named)) {
    const at = join(parent, "node_modules", name)
    mkdirSync(resolve(at, ".."), { recursive: true })
    symlinkSync(join(import.meta.dirname, "../../node_modules", name), at)
  }
}

const project = Effect.fnUntraced(function* (...argv: ReadonlyArray<string>) {
  const parent = yield* temporary
  const made = create(parent, "my-server", ...argv)
  assert.strictEqual(made.code, 0, made.stderr)
  link(parent, ["my-server"])
  return join(parent, "my-server")
})

const variants = [[], ["--http"], ["--promise"], ["--promise", "--http"]]

const greeted = (client: McpClient.McpClient["Service"]) =>
  Effect.gen(function* () {
    const tools = yield* Stream.runCollect(client.listTools)
    assert.deepStrictEqual(
      tools.map(({ name }) => name),
      ["greet"]
    )
    const result = yield* client.raw.request("tools/call", { name: "greet", arguments: { name: "Ada" } })
    assert.deepInclude(result, { structuredContent: { greeting: "Hello, Ada" } })
    assert.strictEqual(client.serverInfo.name, "my-server")
  })

/** Waits until an HTTP server responds, and returns its URL. */
const served = (folder: string) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, ["src/server.ts"], { cwd: folder, env: { ...process.env, PORT: "0" } })
      ),
      (child) => Effect.sync(() => child.kill())
    ),
    (child) =>
      Effect.callback<string>((resume) => {
        let output = ""
        const look = (text: unknown): void => {
          output += String(text)
          const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? []
          if (url !== undefined) resume(Effect.succeed(`${url}/mcp`))
        }
        child.stdout.on("data", look)
        child.stderr.on("data", look)
        child.on("close", (code) => resume(Effect.die(new Error(`The server ended with ${code}: ${output}`))))
      })
  ).pipe(Effect.flatten)

describe.concurrent.each(variants.map((argv) => ({ argv, title: argv.join(" ") || "no option" })))(
  "A $title project",
  ({ argv }) => {
    it.live("A created project passes its test in every revision and serves", () =>
      Effect.gen(function* () {
        const folder = yield* project(...argv)
        const { scripts } = manifestOf(folder)
        assert.deepStrictEqual(
          [scripts.check, scripts.test, scripts.start],
          ["tsc", "node --test test/*.test.ts", "node src/server.ts"]
        )
        const tested = yield* ran(folder, "sh", [
          "-c",
          `${scripts.test.replace("--test", "--test --test-reporter=tap")}`
        ])
        assert.strictEqual(tested.code, 0, tested.output)
        for (const { version } of Revision.all) assert.include(tested.output, `greet greets by name (${version})`)

        const client = argv.includes("--http")
          ? Layer.provide(McpClient.layerHttp({ url: yield* served(folder) }), FetchHttpClient.layer)
          : McpClient.layerStdio({ command: process.execPath, args: ["src/server.ts"], cwd: folder })
        yield* greeted(Context.get(yield* Layer.build(client), McpClient.McpClient))
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
    )
  }
)

describe("Created projects", () => {
  it.live("A project's test fails on a Node version that cannot run TypeScript", () =>
    Effect.gen(function* () {
      const folder = yield* project()
      const script = manifestOf(folder).scripts.test.replace("node", "node --no-experimental-strip-types")
      const { code, output } = yield* ran(folder, "sh", ["-c", script])
      assert.deepStrictEqual([code, output.includes("ERR_UNKNOWN_FILE_EXTENSION")], [1, true], output)
    }).pipe(Effect.scoped)
  )

  it.live("Projects compile with their own settings", () =>
    Effect.gen(function* () {
      const parent = yield* temporary
      const names = variants.map((argv) => ["project", ...argv].join(""))
      for (const [index, name] of names.entries()) create(parent, name, ...(variants[index] ?? []))
      link(parent, names)
      const settings = names.map((name) => readFileSync(join(parent, name, "tsconfig.json"), "utf8"))
      assert.strictEqual(new Set(settings).size, 1)
      // Compiles all projects at once, because most of the time is spent on shared packages.
      const { compilerOptions, include } = JSON.parse(settings[0] ?? "")
      const all = { compilerOptions, include: include.map((folder: string) => `*/${folder}`) }
      writeFileSync(join(parent, "tsconfig.json"), JSON.stringify(all))
      const checked = yield* ran(parent, process.execPath, ["node_modules/typescript/bin/tsc", "--listFilesOnly"])
      for (const name of names) assert.include(checked.output, join(parent, name, "src/server.ts"))
      const compiled = yield* ran(parent, process.execPath, ["node_modules/typescript/bin/tsc"])
      assert.deepStrictEqual(compiled, { code: 0, output: "" })
    }).pipe(Effect.scoped)
  )
})
