import { Tool, Tools } from "@effect-mcp/core"
import { Revision } from "@effect-mcp/protocol"
import { McpServer } from "@effect-mcp/server"
import * as Diff from "@effect-mcp/fuzz/Diff"
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { server } from "./server.ts"

const Price = Tool.make("price", {
  description: "The price of so many.",
  input: { count: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 })) },
  output: { price: Schema.Int, run: Schema.Int, at: Schema.String }
})
let runs = 0
/** A server whose answers contain the number and the time of the run. */
const shop = (
  priceOf: (count: number) => number,
  more: Layer.Layer<never, never, McpServer.Registries> = Layer.empty
) =>
  McpServer.layer({
    name: "shop",
    version: `${++runs}`,
    features: Layer.merge(
      Tools.layer(Price, ({ count }) =>
        Effect.sync(() => ({ price: priceOf(count), run: ++runs, at: new Date(1.7e12 + runs).toISOString() }))
      ),
      more
    )
  })
const options = { revisions: [Revision.latestStateful], runs: 60, time: "1 day", patience: 200 } as const

const compare = Effect.fnUntraced(function* (
  first: Layer.Layer<McpServer.McpServer>,
  second: Layer.Layer<McpServer.McpServer>,
  more: Diff.Options = {}
) {
  const targets = yield* Effect.all([Fuzz.memory(first, "old"), Fuzz.memory(second, "new")])
  return yield* Diff.run(...targets, { ...options, ...more })
})

describe("Comparing two servers", () => {
  it.effect.each(Revision.all)("Two equal servers do not differ ($version)", (revision) =>
    Effect.gen(function* () {
      const report = yield* compare(server, server, { revisions: [revision] })
      assert.deepStrictEqual(report.findings, [], Fuzz.Report.text(report))
      assert.strictEqual(report.conversations, 60)
    })
  )

  it.effect("A value computed differently is a difference, shown with the shortest conversation", () =>
    Effect.gen(function* () {
      const report = yield* compare(
        shop((count) => count * 10),
        shop((count) => (count > 2 ? count * 9 : count * 10))
      )
      const paths = report.findings.map(({ key }) => key)
      assert.include(paths, "same tools/call price result.structuredContent.price")
      const found = report.findings.find(({ key }) => key === "same tools/call price result.structuredContent.price")
      assert.strictEqual(found?.again, 3)
      const { commands } = found?.script ?? { commands: [] }
      assert.isAtMost(commands.length, 2)
      assert.match(found?.detail ?? "", /^The first says \d+, the second \d+$/)
      // The time is removed, and the number is recognized as unstable.
      assert.deepStrictEqual(
        report.unstable.filter((path) => !path.includes("content[].text")),
        ["tools/call price result.structuredContent.run"]
      )
      assert.notMatch(paths.join(), /\.at|\.run|serverInfo/)
      const text = Fuzz.Report.text(report)
      assert.include(text, "difference  same tools/call price result.structuredContent.price  (2025-11-25)")
      assert.include(text, "Not compared because it differs between two runs of the same server: ")
      assert.include(Fuzz.Report.junit(report), "effect-mcp diff old --- new")
      assert.isTrue(Fuzz.Report.fails(report))
    })
  )

  it.effect("Two servers do not differ at an ignored path", () =>
    Effect.gen(function* () {
      const ignore = ["result.structuredContent.price", "tools/call price result.content"]
      const report = yield* compare(
        shop(() => 1),
        shop(() => 2),
        { ignore }
      )
      assert.deepStrictEqual(report.findings, [])
    })
  )

  it.effect("Two servers differ if one lists another tool", () =>
    Effect.gen(function* () {
      const Extra = Tool.make("extra", { description: "One more." })
      const more = Tools.layer(Extra, () => Effect.succeed("more"))
      const report = yield* compare(
        shop(() => 1),
        shop(() => 1, more)
      )
      assert.include(
        report.findings.map(({ key }) => key),
        "same tools/list result.tools"
      )
    })
  )

  it.effect("Two servers without a common revision cannot be compared", () =>
    Effect.gen(function* () {
      const old = McpServer.layer({ name: "a", version: "1", features: Layer.empty, revisions: ["2025-06-18"] })
      const young = McpServer.layer({ name: "a", version: "2", features: Layer.empty, revisions: ["2025-11-25"] })
      const error = yield* Effect.flip(Effect.asVoid(compare(old, young, { revisions: Revision.all })))
      assert.strictEqual(error?.message, "old and new have no revision in common: 2025-06-18 and 2025-11-25")
    })
  )
})
