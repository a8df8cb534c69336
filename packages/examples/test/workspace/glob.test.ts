/** Globs of the search tool: their matches, and that no glob of a client takes long. */
import { matcher } from "@effect-mcp/examples/workspace/Glob"
import { Search } from "@effect-mcp/examples/workspace/tools"
import { Workspace } from "@effect-mcp/examples/workspace/Workspace"
import { Revision } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { matchesGlob } from "node:path/posix"
import { connect } from "./support.ts"

const paths = [
  "a",
  "b",
  "ab",
  "a.ts",
  "ab.ts",
  "a/b",
  "a/b.ts",
  "a/b/c.ts",
  "src/a.test.ts",
  "src/deep/b.ts",
  "a-b",
  "]",
  "ö.ts"
]

describe("Globs", () => {
  it.each([
    "*",
    "**",
    "a",
    "?",
    "??",
    "*.ts",
    "**/*.ts",
    "a/*",
    "a/**",
    "a/**/*.ts",
    "src/**/*.test.ts",
    "*/*.ts",
    "[ab]",
    "[!a]",
    "[a-c]*",
    "[]]",
    "{a,b}",
    "{a,ab}.ts",
    "{a,src}/**/{b,c,a.test}.ts",
    "{a,{b,ab}}",
    "a{,b}",
    "ö.*"
  ])("The glob %s matches the same paths as in Node", (glob) => {
    assert.deepStrictEqual(
      paths.filter(matcher(glob)),
      paths.filter((path) => matchesGlob(path, glob))
    )
  })

  it.each(["a{b", "a}b", "a[b", "{a,b", "a,b", "+(a)", "{1..3}", "\\", "(a|b)", "!a", "{}", "]", "}"])(
    "The glob %s is taken literally if it is not a pattern",
    (glob) => {
      const literal = glob === "{}" ? "" : glob === "{1..3}" ? "1..3" : glob
      assert.isTrue(matcher(glob)(literal))
    }
  )
})

/** Globs of allowed length on which other matchers never finish. */
const hostile = [
  "{a,b}".repeat(51),
  "{1..99999999}",
  "{a..z}{a..z}{a..z}{a..z}{a..z}",
  "{".repeat(128) + "}".repeat(128),
  "{a,{a,".repeat(30) + "a" + "}}".repeat(30),
  "*(a|aa)".repeat(30),
  "+(*)".repeat(60),
  "*a".repeat(128),
  "**/".repeat(85),
  "{*,**}".repeat(42),
  "[a-".repeat(85)
]

describe.each(Revision.all)("Hostile globs over $version", (revision) => {
  it.effect("A search answers globs crafted to hang, and the server continues", () =>
    Effect.gen(function* () {
      const files = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`${"a".repeat(200)}/${n}b`, "needle"]))
      const client = yield* connect(revision, { workspace: Workspace.layerMemory(files) })
      for (const glob of hostile) {
        assert.isAtMost(glob.length, 256)
        assert.isTrue((yield* client.callTool(Search, { query: "needle", glob })).complete, glob)
      }
    })
  )
})
