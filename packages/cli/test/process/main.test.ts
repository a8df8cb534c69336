import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { verifies } from "@effect-mcp/spec/verifies"
import { Effect } from "effect"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { commandLine, everything, program, raw, spawned, type Step } from "../support/run.ts"

const recording = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "effect-mcp-main-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true }))
  ),
  (dir) => ({
    file: join(dir, "wire"),
    messages: (): Array<any> =>
      readFileSync(join(dir, "wire"), "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line))
  })
)

describe.concurrent("effect-mcp process", () => {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    it.live(`${signal} cancels the call at the server and exits with 130`, () =>
      Effect.gen(function* () {
        const { file, messages } = yield* recording
        const argv = ["call", "slow", "--json", "--progress", ...raw("plain", file)]
        const { code, stderr, stdout } = yield* program(argv, [{ until: "half", signal }])
        assert.deepStrictEqual([code, stderr], [130, ""])
        assert.strictEqual(stdout, `{"event":"progress","progress":1,"total":2,"message":"half"}\n`)
        const call = messages().find(({ method }) => method === "tools/call")
        const last = messages().at(-1)
        assert.deepStrictEqual([last.method, last.params.requestId], ["notifications/cancelled", call.id])
      })
    )
  }

  it.live("A watched resource is printed until the process is interrupted", () =>
    Effect.gen(function* () {
      const argv = ["watch", "test://watched-resource", "--json", ...everything]
      const { code, stdout } = yield* program(argv, [{ until: "}\n", signal: "SIGINT" }])
      assert.strictEqual(code, 130)
      const { contents, ...event } = JSON.parse(stdout)
      assert.deepStrictEqual(event, { event: "watching", uri: "test://watched-resource" })
      assert.strictEqual(contents[0].text, "Touched 0 times.")
    })
  )

  it.live("A closed stdout ends the process without a message", () =>
    Effect.gen(function* () {
      const command = commandLine(["call", "big", "bytes=1000000", ...everything]).join(" ")
      const { stderr, stdout } = yield* spawned("sh", ["-c", `${command} | head -c 5`])
      assert.deepStrictEqual([stdout, stderr], ["xxxxx", ""])
    })
  )

  /** `script` from util-linux runs a program in a terminal. */
  const hasScript = process.platform === "linux" && existsSync("/usr/bin/script")
  const terminal = "a terminal by util-linux's script"
  const onTerminal = (argv: ReadonlyArray<string>, steps: ReadonlyArray<Step>) =>
    spawned("/usr/bin/script", ["-qec", commandLine(argv).join(" "), "/dev/null"], steps)

  it.live(
    "Questions are asked on a real terminal",
    () =>
      Effect.gen(function* () {
        const argv = ["call", "test_elicitation_sep1034_defaults", ...everything]
        const prompts = ["Your answer", "name:", "age:", "score:", "status:", "verified:", "Send this?"]
        const steps = prompts.map((until) => ({ until, type: "\r" }))
        const { code, stdout } = yield* onTerminal(argv, steps)
        assert.strictEqual(code, 0, stdout)
        assert.include(stdout, `${everything.slice(everything.indexOf("--") + 1).join(" ")} asks: Check these values.`)
        assert.include(stdout, `Elicitation completed: action=accept, content={"name":"John Doe","age":30`)
      }),
    needs(hasScript, terminal, verifies("elicitation.ui.shows-server").meta)
  )

  it.live(
    "Progress is shown on a terminal, and Ctrl+C cancels the call",
    () =>
      Effect.gen(function* () {
        const { file, messages } = yield* recording
        const { code, stdout } = yield* onTerminal(
          ["call", "slow", ...raw("plain", file)],
          [{ until: "1/2  half", type: "\u0003" }]
        )
        assert.strictEqual(code, 130, stdout)
        assert.strictEqual(messages().at(-1).method, "notifications/cancelled")
      }),
    needs(hasScript, terminal)
  )
})
