import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { here, run } from "../../support/run.ts"
import { annotation } from "../../../src/render/Annotation.ts"

const tool = "json_schema_2020_12_tool"

describe("lint", () => {
  it.live("The lint command names the tool, the place, the hosts, the fix and the sources", () =>
    Effect.gen(function* () {
      const { code, stderr, stdout } = yield* run(["lint", ...here])
      assert.strictEqual(code, 1)
      assert.match(stdout, new RegExp(`^${tool}$`, "m"))
      assert.match(stdout, /refused {2}inputSchema\n/)
      assert.match(stdout, /`allOf` at the root is refused by .*Claude Code.*\. Merge the parts into one object\./)
      assert.match(stdout, /https:\/\/github\.com\/\S+ \(\d{4}-\d\d-\d\d\)/)
      assert.match(stderr, /\d+ of \d+ tools are missing or misunderstood in some host/)
    })
  )

  it.live("The lint command prints every tool and finding as JSON", () =>
    Effect.gen(function* () {
      const { code, stdout } = yield* run(["lint", "--json", ...here])
      assert.strictEqual(code, 1)
      const linted: ReadonlyArray<{ readonly tool: string; readonly findings: ReadonlyArray<object> }> =
        JSON.parse(stdout)
      assert.isAbove(linted.length, 10)
      const found = linted.find((one) => one.tool === tool)
      assert.deepInclude(found?.findings[0], {
        rule: "root-intersection",
        part: "inputSchema",
        at: "",
        severity: "refused"
      })
      assert.deepStrictEqual(linted.find((one) => one.tool === "test_simple_text")?.findings, [])
    })
  )

  it.live("The lint command only names the chosen hosts", () =>
    Effect.gen(function* () {
      const { code, stdout } = yield* run(["lint", "--host", "claude-code,gemini", ...here])
      assert.strictEqual(code, 1)
      assert.notInclude(stdout, "OpenAI")
      assert.notInclude(stdout, "Codex")
      assert.include(stdout, "Claude Code")
    })
  )

  it.live("The lint command rejects an unknown host and suggests one", () =>
    Effect.gen(function* () {
      const { code, stderr } = yield* run(["lint", "--host", "claud-code", ...here])
      assert.strictEqual(code, 2)
      assert.include(stderr, "there is no host named claud-code. Did you mean claude-code?")
    })
  )

  it.live("The lint command writes annotations of GitHub Actions", () =>
    Effect.gen(function* () {
      const { code, stdout } = yield* run(["lint", "--github", ...here])
      assert.strictEqual(code, 1)
      const lines = stdout.trim().split("\n")
      assert.isTrue(lines.every((line) => /^::(error|warning|notice) title=tool [\w.]+::\S/.test(line)))
      assert.isTrue(lines.some((line) => line.startsWith(`::error title=tool ${tool}::inputSchema: `)))
    })
  )

  it("An annotation keeps the text of a server in one command", () => {
    assert.strictEqual(
      annotation("error", "a:b,c\n", "100%\r\n::set-env name=x::y"),
      "::error title=a%3Ab%2Cc%0A::100%25%0D%0A::set-env name=x::y"
    )
  })
})
