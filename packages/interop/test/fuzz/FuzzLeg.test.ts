import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { join, sep } from "node:path"
import { fileURLToPath } from "node:url"
import { legs, skipped } from "@effect-mcp/interop/fuzz/FuzzLeg"

const examples = fileURLToPath(new URL("../../../examples/src", import.meta.url))
const serves =
  /runStdio\(|serveStdio\(|serveHttp\(|\.stdio\(\)|toNodeListener\(|toListener\(\)|\.listen\(|StdioServerTransport/

/** The examples that serve when they are run. */
const servers = readdirSync(examples, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts") && serves.test(readFileSync(join(examples, file), "utf8")))
  .map((file) => file.split(sep).join("/"))

describe("Fuzz legs", () => {
  it("Legs have distinct names", () => {
    const names = legs.map(({ name }) => name)
    assert.deepStrictEqual(names, [...new Set(names)])
  })

  it("Every example that serves is fuzzed or has a reason not to be", () => {
    const searched = legs.flatMap(({ program: [file = ""] }) =>
      file.startsWith(examples) ? [file.slice(examples.length + 1)] : []
    )
    assert.deepStrictEqual([...new Set([...searched, ...Object.keys(skipped)])].toSorted(), servers.toSorted())
  })
})
