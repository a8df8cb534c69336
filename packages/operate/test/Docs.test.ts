import { Telemetry } from "@effect-mcp/operate"
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"

const page = readFileSync(new URL("../../docs/pages/operations.md", import.meta.url), "utf8")

describe("Operations page", () => {
  it("The operations page lists every metric with its type, unit and description", () => {
    const rows = [...page.matchAll(/^\| `(mcp\.[\w.]+)`\s*\| (\w+)\s*\| `([^`]+)`\s*\| (.+?)\s*\|$/gm)].map(
      ([, name, type, unit, description]) => ({ name, type, unit, description })
    )
    const byName = (a: { readonly name?: string | undefined }, b: { readonly name?: string | undefined }) =>
      String(a.name) < String(b.name) ? -1 : 1
    assert.deepStrictEqual(rows.toSorted(byName), [...Telemetry.metrics].toSorted(byName))
  })
})
