/** The three programs of the example: an authorization server, a protected server, and a client that gets access. */
import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { ChildProcess } from "effect/process"
import { fileURLToPath } from "node:url"

const program = (name: string) => fileURLToPath(new URL(`../../../src/notes/${name}.ts`, import.meta.url))

/** Starts a program for the lifetime of the scope, and returns the first URL that it prints. */
const start = Effect.fnUntraced(function* (name: string, ...args: ReadonlyArray<string>) {
  const child = yield* ChildProcess.make(process.execPath, [program(name), ...args], { stdin: "ignore" })
  const lines = child.stdout.pipe(Stream.decodeText, Stream.splitLines)
  const url = yield* Stream.runHead(Stream.filter(lines, (line) => line.startsWith("http://")))
  return url._tag === "Some" ? url.value : assert.fail(`${name} did not start`)
})

layer(NodeServices.layer, { excludeTestServices: true })("notes example", (it) => {
  it.effect("The client logs in when asked and requests more scopes when a tool needs them", () =>
    Effect.gen(function* () {
      const issuer = yield* start("issuer", "0", "--yes", "alice")
      const url = yield* start("server", issuer, "0")
      const client = yield* ChildProcess.make(process.execPath, [program("client"), url, "--yes"], {
        stdin: "ignore"
      })
      const [output, code] = yield* Effect.all([Stream.mkString(Stream.decodeText(client.all)), client.exitCode], {
        concurrency: 2
      })
      assert.strictEqual(Number(code), 0, output)
      assert.include(output, 'Before: {"notes":[]}')
      assert.include(output, "Notes: 1")
      assert.match(output, /Granted: .*notes:read.*notes:write/)
    })
  )
})
