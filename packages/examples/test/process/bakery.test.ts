/** The example of a server whose task survives a kill, run unchanged. */
import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { ChildProcess } from "effect/process"
import { fileURLToPath } from "node:url"

const program = fileURLToPath(new URL("../../src/tasks/bakery-kill.ts", import.meta.url))

layer(NodeServices.layer, { excludeTestServices: true })("bakery", (it) => {
  it.effect("The bakery finishes a killed process's task in another one without repeating a recorded step", () =>
    Effect.gen(function* () {
      const child = yield* ChildProcess.make(process.execPath, [program], { stdin: "ignore" })
      const [output, code] = yield* Effect.all([Stream.mkString(Stream.decodeText(child.all)), child.exitCode], {
        concurrency: 2
      })
      assert.strictEqual(Number(code), 0, output)
      const lines = output.trim().split("\n")
      assert.deepStrictEqual(lines.slice(0, 5), [
        "The call is a task.",
        "rye: mix is done",
        "The process of the server is killed.",
        "Another process is started on the file.",
        "mix: by the first process"
      ])
      assert.match(lines.slice(5).join("\n"), /^knead: .*\nrise: .*\nbake: by the second process$/)
    })
  )
})
