/** Custom rules about one tool: the results that they judge. */
import { Tool, Tools } from "@effect-mcp/core"
import { Revision } from "@effect-mcp/protocol"
import { McpServer } from "@effect-mcp/server"
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"

const Left = Tool.make("stock", { description: "How many are left.", output: { left: Schema.Int } })
const Each = Tool.make("stock", { description: "How many are left of each.", output: Schema.Array(Schema.Int) })

/** Returns the arguments that a rule about the tool receives for one call. */
const judged = Effect.fnUntraced(function* <O>(tool: Tool.Tool<{}, O, never>, output: O, revision: Revision.Revision) {
  const features = Tools.layer(tool, () => Effect.succeed(output))
  const target = yield* Fuzz.memory(McpServer.layer({ name: "shop", version: "1.0.0", features }))
  const seen: Array<O> = []
  const rule: Fuzz.Rule = {
    name: "seen",
    level: "MUST",
    text: "All results are seen.",
    on: Fuzz.toolResult(tool, (read) => {
      seen.push(read)
      return "pass"
    })
  }
  const call: Fuzz.Command = { _tag: "Request", method: "tools/call", params: { name: "stock", arguments: {} } }
  const open: ReadonlyArray<Fuzz.Command> = revision.era === "stateless" ? [] : [{ _tag: "Open" }]
  const script: Fuzz.Script = { revision: revision.version, commands: [...open, call, { _tag: "Wait" }] }
  for (const survey of yield* Fuzz.survey(target, { revisions: [revision] })) {
    yield* Fuzz.play(target, survey, script, { rules: [rule] })
  }
  return seen
})

describe("Tool rules", () => {
  it.effect.each(Revision.all)("A tool rule accepts outputs of any type ($version)", (revision) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* judged(Left, { left: 1 }, revision), [{ left: 1 }])
      assert.deepStrictEqual(yield* judged(Each, [1, 2], revision), [[1, 2]])
    })
  )
})
