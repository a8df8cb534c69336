import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { RemoteToolkit } from "@effect-mcp/ai"
import { McpClient } from "@effect-mcp/client"
import { Console, Effect, Layer } from "effect"
import { LanguageModel, Prompt } from "effect/ai"
import { fileURLToPath } from "node:url"
import { ModelDouble } from "./model.ts"
import { Provider } from "./provider.ts"

const server = McpClient.layerStdio({
  command: process.execPath,
  args: [fileURLToPath(new URL("server.ts", import.meta.url))]
})

const program = Effect.gen(function* () {
  const toolkit = yield* RemoteToolkit.fromClient(yield* McpClient.McpClient)
  const question = Prompt.make("How warm is it in Rome tomorrow?")
  const called = yield* LanguageModel.generateText({
    prompt: question,
    toolkit
  })
  const prompt = Prompt.concat(
    question,
    Prompt.fromResponseParts(called.content)
  )
  const { text } = yield* LanguageModel.generateText({ prompt, toolkit })
  yield* Console.log(text)
})

// A scripted model, unless the environment names a provider's model.
const model = process.env["AGENT_MODEL"] === undefined ? ModelDouble : Provider

program.pipe(
  Effect.provide([Layer.provide(server, NodeServices.layer), model]),
  NodeRuntime.runMain
)
