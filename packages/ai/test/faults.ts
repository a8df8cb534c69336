/** Faults put in by hand, and the test that notices each. */
import type { Fault } from "@effect-mcp/spec/Fault"

const served = {
  file: "packages/ai/src/toolkit/ServedToolkit.ts",
  test: "packages/ai/test/toolkit/ServedToolkit.test.ts"
}
const remote = {
  file: "packages/ai/src/toolkit/RemoteToolkit.ts",
  test: "packages/ai/test/toolkit/RemoteToolkit.test.ts"
}
const sampling = {
  file: "packages/ai/src/sampling/ModelSampling.ts",
  test: "packages/ai/test/sampling/ModelSampling.test.ts"
}

const prompts = "packages/ai/test/prompt/Prompts.test.ts"

export const faults: ReadonlyArray<Fault> = [
  {
    name: "two messages of one role in a row reach the model as two",
    file: "packages/ai/src/prompt/RemotePrompt.ts",
    from: "if (last?.role === role) last.parts.push(partOf(content))",
    to: "if (false) last?.parts.push(partOf(content))",
    test: prompts
  },
  {
    name: "a system message of a prompt is lost where MCP has none",
    file: "packages/ai/src/prompt/ServedPrompt.ts",
    from: "return [Prompts.user(message.content)]",
    to: "return []",
    test: prompts
  },
  {
    name: "a toolkit's tool runs without the approval that it needs",
    ...served,
    from: "yield* run ? Effect.void : ",
    to: "yield* run || !run ? Effect.void : "
  },
  {
    name: "a failure that a toolkit's tool does not declare is shown to the client",
    ...served,
    from: "  return Effect.die(error)",
    to: "  return Effect.fail(new Tools.ToolFailure({ message: JSON.stringify(error) }))"
  },
  {
    name: "the last preliminary result of a toolkit's tool is its result",
    ...served,
    from: "if (!result.preliminary) {",
    to: "if (last === undefined || !result.preliminary) {"
  },
  {
    name: "a model gets names of tools that providers refuse",
    ...remote,
    from: '.replaceAll(/[^A-Za-z0-9_-]/g, "_")',
    to: ""
  },
  {
    name: "one of two tools with one name for the model is lost",
    ...remote,
    from: "if (bound.has(name)) {",
    to: "if (false) {"
  },
  {
    name: "a tool that failed is a success for the model",
    ...remote,
    from: "result.isError === true ? fail(textOf(result)) : ",
    to: ""
  },
  {
    name: "the details of a model's error reach the server that asked",
    ...sampling,
    from: "${reason._tag}`",
    to: "${JSON.stringify(reason)}`"
  },
  {
    name: "the hints of a server choose no model",
    ...sampling,
    from: "models.find(({ name }) => name === hinted) ?? models[0]",
    to: "models[0]"
  }
]
