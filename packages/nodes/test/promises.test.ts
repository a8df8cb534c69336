import { assert, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "../../..")

it("Every promise on the page about multiple nodes names existing tests", () => {
  const text = readFileSync(join(root, "packages/docs/pages/many-nodes.md"), "utf8").replaceAll(/\s+/g, " ")
  const promises = text.split(/ (?=\d\. \*\*)/).slice(1)
  assert.strictEqual(promises.length, 6)
  for (const promise of promises) {
    const named = [...promise.matchAll(/`(packages\/[\w/.]+\.test\.ts)`: "([^"]+)"/g)]
    assert.isNotEmpty(named, promise)
    for (const [, file = "", title = ""] of named) {
      assert.include(readFileSync(join(root, file), "utf8"), JSON.stringify(title), title)
    }
  }
})
