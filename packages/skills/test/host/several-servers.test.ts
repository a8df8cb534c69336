/** Skills of several servers in one client: they keep apart what servers name alike. */
import * as McpClients from "@effect-mcp/client/McpClients"
import { Memory } from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import { SkillFiles, Skills, SkillStore } from "@effect-mcp/skills"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"

/** An entry for a server with one skill, whose name and URI are the same at every server. */
const withSkill = (instructions: string) =>
  McpClients.server({
    connector: Effect.gen(function* () {
      const features = Skills.layer([{ name: "refunds", description: "About refunds", instructions }])
      const built = yield* Layer.build(Layer.fresh(McpServer.layer({ name: "same", version: "1.0.0", features })))
      const [near, far] = yield* Memory.pair()
      yield* Context.get(built, McpServer.McpServer).connect(far)
      return near
    })
  })

it.effect("Skills with the same name and URI are labeled, approved and read by server", () => {
  const asked: Array<string> = []
  const consent = ({ server }: SkillStore.SkillQuestion) => Effect.sync(() => asked.push(server) > 0)
  const store = SkillStore.layer({ consent }).pipe(Layer.provide(SkillFiles.layerMemory))
  return Effect.gen(function* () {
    const { names, of } = yield* McpClients.make({ shop: withSkill("# Shop\n"), bank: withSkill("# Bank\n") })
    const { connected } = yield* SkillStore.SkillStore
    const read = (server: (typeof names)[number]) =>
      Effect.gen(function* () {
        const skills = connected(server, yield* of(server).client)
        const [{ label, skill } = assert.fail(`${server} lists no skill`)] = (yield* skills.list).skills
        return [label, (yield* skills.load(skill.uri)).body.trim()]
      })
    assert.deepStrictEqual(yield* Effect.forEach(names, read), [
      ["shop/refunds", "# Shop"],
      ["bank/refunds", "# Bank"]
    ])
    assert.deepStrictEqual(asked, ["shop", "bank"])
    yield* Effect.forEach(names, read)
    assert.deepStrictEqual(asked, ["shop", "bank"])
  }).pipe(Effect.provide(store))
})
