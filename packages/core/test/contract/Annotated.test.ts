/** Selecting and ordering values by their annotations. */
import * as Annotated from "@effect-mcp/core/Annotated"
import { assert, describe, it } from "@effect/vitest"

const named = (name: string, annotations?: Annotated.Annotated["annotations"]) => ({ name, annotations })
const names = (values: ReadonlyArray<{ readonly name: string }>) => values.map(({ name }) => name).join(" ")

describe("annotations", () => {
  it("A value without an audience is addressed to everyone", () => {
    const values = [
      named("plain"),
      named("empty", { audience: [] }),
      named("user", { audience: ["user"] }),
      named("assistant", { audience: ["assistant"] }),
      named("both", { audience: ["user", "assistant"] })
    ]
    assert.strictEqual(names(values.filter(Annotated.isFor("assistant"))), "plain empty assistant both")
    assert.strictEqual(names(values.filter(Annotated.isFor("user"))), "plain empty user both")
  })

  it("Values are sorted by descending priority, keeping the given order for equal priorities", () => {
    const values = [
      named("none"),
      named("low", { priority: 0 }),
      named("half", { priority: 0.5 }),
      named("high", { priority: 1 })
    ]
    assert.strictEqual(names(values.toSorted(Annotated.byPriority)), "high none half low")
  })

  it("Values are sorted by last modification, with invalid dates last", () => {
    const values = [
      named("none"),
      named("old", { lastModified: "2025-01-01" }),
      named("nonsense", { lastModified: "a week ago" }),
      named("new", { lastModified: "2026-01-01T00:00:00+01:00" }),
      named("newer", { lastModified: "2026-01-01T00:00:00Z" })
    ]
    assert.strictEqual(names(values.toSorted(Annotated.byLastModified)), "newer new old none nonsense")
  })
})
