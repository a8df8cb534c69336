import * as PrivateSocket from "@effect-mcp/operate/PrivateSocket"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { request, type Server } from "node:http"
import { tmpdir } from "node:os"
import * as path from "node:path"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(path.join(tmpdir(), "effect-mcp-socket-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
)

/** Leaves a socket without a listener, as a killed process does. */
const abandon = (file: string) =>
  Effect.promise(
    () =>
      new Promise<void>((resolve) => {
        const script = "require('node:net').createServer().listen(process.argv[1], () => console.log('listens'))"
        const child = spawn(process.execPath, ["-e", script, file], { stdio: ["ignore", "pipe", "ignore"] })
        child.stdout.once("data", () => child.kill("SIGKILL"))
        child.once("close", () => resolve())
      })
  )

/** Starts a server that answers with its number. Returns the number, or the code of the error. */
const started = (file: string, number: number) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly server: Server; readonly result: number | string }>((resume) => {
      const server = PrivateSocket.createServer().on("request", (_, response) => response.end(String(number)))
      server.once("error", (error) =>
        resume(Effect.succeed({ server, result: "code" in error ? String(error.code) : error.message }))
      )
      server.listen({ path: file }, () => resume(Effect.succeed({ server, result: number })))
    }),
    ({ server }) => Effect.sync(() => server.close())
  )

const answerAt = (file: string) =>
  Effect.promise(
    () =>
      new Promise<string>((resolve, reject) => {
        request({ socketPath: file, agent: false }, (response) => {
          response.setEncoding("utf8").once("data", resolve)
        })
          .on("error", reject)
          .end()
      })
  )

describe("PrivateSocket", () => {
  it.live("Only one of several starting servers replaces an abandoned socket", () =>
    Effect.gen(function* () {
      const place = yield* folder
      const file = path.join(place, "admin.sock")
      yield* abandon(file)
      assert.deepStrictEqual(readdirSync(place), ["admin.sock"])
      const all = yield* Effect.all(
        [1, 2, 3, 4, 5, 6].map((number) => started(file, number)),
        {
          concurrency: "unbounded"
        }
      )
      const results = all.map(({ result }) => result)
      const [winner, ...others] = results.filter((result) => result !== "EADDRINUSE")
      assert.deepStrictEqual(others, [])
      assert.strictEqual(yield* answerAt(file), String(winner))
      assert.deepStrictEqual(readdirSync(place), ["admin.sock"])
    }).pipe(Effect.scoped)
  )

  it.live("A socket in use is kept", () =>
    Effect.gen(function* () {
      const file = path.join(yield* folder, "admin.sock")
      yield* started(file, 1)
      assert.strictEqual((yield* started(file, 2)).result, "EADDRINUSE")
      assert.strictEqual(yield* answerAt(file), "1")
    }).pipe(Effect.scoped)
  )
})
