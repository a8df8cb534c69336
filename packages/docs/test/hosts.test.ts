import { assert, describe, it } from "@effect/vitest"
import * as Host from "@effect-mcp/protocol/Host"
import { type Evidence, rules, titleOf } from "@effect-mcp/protocol/Portability"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "../src/Repository.ts"

const page = readFileSync(join(root, "packages/docs/pages/hosts.md"), "utf8")

/** The cells of a table's rows, without the spaces that align them. */
const rowsIn = (section: string): ReadonlyArray<string> => {
  const [, text = ""] = page.split(`## ${section}\n`)
  const [own = ""] = text.split("\n## ")
  return own
    .split("\n")
    .filter((line) => line.startsWith("|") && !/^\|[ :|-]+\|$/.test(line))
    .map((line) => line.replaceAll(/ +/g, " "))
}
const row = (cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`.replaceAll(/ +/g, " ")
const cited = (text: string, source: string, seen: string): string => `[${text}](${source}) (${seen})`
const mark = (has: boolean): string => (has ? "yes" : "")
const byName = (evidence: ReadonlyArray<Evidence>): string =>
  evidence.map(({ on, seen, severity, source }) => `${severity}: ${cited(titleOf(on), source, seen)}`).join(", ")

describe("The page about hosts", () => {
  it("Has the features of every host in the table", () => {
    assert.deepStrictEqual(rowsIn("What each host supports"), [
      row(["host", ...Host.features]),
      ...Host.all.map(({ features, title }) =>
        row([title, ...Host.features.map((one) => mark(features.includes(one)))])
      )
    ])
    for (const { seen, source } of Host.all) assert.include(page, cited("list of clients", source, seen))
  })

  it("Has the transports and limits of every host in the table", () => {
    assert.deepStrictEqual(rowsIn("Transports and limits"), [
      row(["host", "transports", "limits"]),
      ...Host.all.map(({ limits, title, wireSource, wires }) =>
        row([
          title,
          `[${wires.join(", ")}](${wireSource})`,
          limits.map(({ seen, source, text }) => `${text} ([source](${source}), ${seen})`).join("; ")
        ])
      )
    ])
  })

  it("Has every rule of schemas in the table", () => {
    assert.deepStrictEqual(rowsIn("Rules for tools"), [
      row(["rule", "projected", "hosts"]),
      ...Object.values(rules).map(({ evidence, projectable, subject }) =>
        row([subject, mark(projectable), byName(evidence)])
      )
    ])
  })
})
