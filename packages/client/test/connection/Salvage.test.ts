/** Lists of servers whose items are partly malformed. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Connected from "../support/connected.ts"
import * as Modern from "../support/modern.ts"

const good = { name: "good", inputSchema: { type: "object" } }
const untyped = { name: "untyped", inputSchema: { anyOf: [{ type: "object", properties: { a: { type: "string" } } }] } }
const wrong = { name: "wrong", inputSchema: { type: "string" } }

const listed = (version: (typeof Connected.all)[number], tools: ReadonlyArray<unknown>) => {
  const result = { tools, ...(version === Modern.version && { ttlMs: 0, cacheScope: "private" }) }
  return { version, answers: { "tools/list": () => (version === Modern.version ? Modern.complete(result) : result) } }
}

describe.each(Connected.all)("A list with malformed items in %s", (version) => {
  it.effect("Omits the malformed tool, reports the reason and keeps the others", () =>
    Effect.gen(function* () {
      const reasons: Array<string> = []
      const dropped = (reason: string) => void reasons.push(reason)
      const { client } = yield* Connected.connected(listed(version, [good, wrong, untyped, 7]), { dropped })
      const tools = yield* Connected.collect(client.listTools)
      assert.deepStrictEqual(
        tools.map(({ name }) => name),
        ["good", "untyped"]
      )
      assert.strictEqual(reasons.length, 2)
      assert.match(reasons[0] ?? "", /^Skipped the invalid tool "wrong": .*type/)
      assert.match(reasons[1] ?? "", /^Skipped the invalid tool: /)
    })
  )

  it.effect("Adds the missing type to an input schema", () =>
    Effect.gen(function* () {
      const { client } = yield* Connected.connected(listed(version, [untyped, good]))
      const [tool] = yield* Connected.collect(client.listTools)
      assert.deepStrictEqual(tool?.inputSchema, { type: "object", ...untyped.inputSchema })
    })
  )

  it.effect("Is an invalid result if every item is malformed", () =>
    Effect.gen(function* () {
      const { client } = yield* Connected.connected(listed(version, [wrong]))
      const error = yield* Effect.flip(Connected.collect(client.listTools))
      assert.strictEqual(error._tag, "InvalidResult")
    })
  )
})
