import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { McpClient } from "@effect-mcp/client"
import { SkillFiles, SkillStore } from "@effect-mcp/skills"
import { Console, Effect, Layer } from "effect"

/**
 * Ask your user here. The approval is stored, and holds until the skill
 * changes.
 */
const consent = ({ kind, server, skill }: SkillStore.SkillQuestion) =>
  Effect.as(
    Console.log(`${kind}: ${skill.frontmatter.name} of ${server}`),
    true
  )

const store = SkillStore.layer({ consent }).pipe(
  Layer.provide(SkillFiles.layerMemory)
)

const program = Effect.gen(function* () {
  const client = yield* McpClient.McpClient
  const { connected } = yield* SkillStore.SkillStore
  const shop = connected("shop", client)

  // Give the labels and descriptions to your model, so that it can choose.
  const { skills } = yield* shop.list
  for (const { label, skill } of skills)
    yield* Console.log(`${label}: ${skill.frontmatter.description}`)

  // The model chose one: give it the prompt, and let it read the skill's files.
  const skill = yield* shop.load("skill://refunds/SKILL.md")
  yield* Console.log(skill.prompt.includes("# Refunds"))
  const policy = yield* skill.read("references/policy.md")
  yield* Console.log(policy.text?.trim())
})

const server = McpClient.layerStdio({
  command: "node",
  args: [`${import.meta.dirname}/server.ts`]
})

program.pipe(
  Effect.provide([Layer.provide(server, NodeServices.layer), store]),
  NodeRuntime.runMain
)
