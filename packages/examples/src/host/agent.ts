/**
 * A small agent in the terminal: two servers, a model, and a user who is asked.
 */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { RemoteToolkit } from "@effect-mcp/ai"
import * as McpClients from "@effect-mcp/client/McpClients"
import {
  AnswerStore,
  Approver,
  Budgets,
  Caller,
  HostPolicy,
  Pins,
  Taint
} from "@effect-mcp/host"
import { Excerpt } from "@effect-mcp/protocol"
import { Console, Effect, Layer } from "effect"
import { LanguageModel, Prompt } from "effect/ai"
import { Prompt as Question } from "effect/cli"
import { fileURLToPath } from "node:url"
import { Provider } from "../ai/provider.ts"
import { ObedientModel } from "./model.ts"

const node = (file: string) =>
  McpClients.stdio({
    command: process.execPath,
    args: [fileURLToPath(new URL(file, import.meta.url))]
  })

const servers = McpClients.layer(
  { notes: node("notes.ts"), web: node("web.ts") },
  { patience: "1 minute" }
)

/**
 * Asks in the terminal. Without one, nothing that needs an answer is allowed.
 */
const approver = Layer.effect(
  Approver.Approver,
  Effect.map(Effect.context<Question.Environment>(), (terminal) => ({
    ask: ({ input, name, server }, reason) =>
      Effect.gen(function* () {
        yield* Console.log(
          Excerpt.escapedLines(
            `${server} ${name} ${JSON.stringify(input)}\n  ${reason}`
          )
        )
        if (!process.stdin.isTTY) return { _tag: "Deny" as const }
        const allowed = yield* Question.Confirm({ message: "Allow it?" })
        return { _tag: allowed ? ("Allow" as const) : ("Deny" as const) }
      }).pipe(
        Effect.catchTag("QuitError", () =>
          Effect.succeed({ _tag: "Deny" as const })
        ),
        Effect.provideContext(terminal)
      )
  }))
)

const guards = Budgets.layer({
  conversation: { calls: 20, questions: 5 }
}).pipe(
  Layer.provideMerge(
    HostPolicy.layer({
      trusted: "notes",
      rules: [{ decide: "allow", server: "web", name: ["fetch", "post"] }]
    })
  ),
  Layer.provideMerge(Pins.layerMemory()),
  Layer.provideMerge(Layer.merge(approver, AnswerStore.layerMemory))
)

const program = Effect.gen(function* () {
  const toolkit = yield* RemoteToolkit.fromServers(yield* McpClients.McpClients)
  let prompt = Prompt.make(process.argv[2] ?? "Is my garage door safe?")
  for (let turn = 0; turn < 10; turn++) {
    const { content, text, toolCalls } = yield* LanguageModel.generateText({
      prompt,
      toolkit
    })
    for (const { name } of toolCalls)
      yield* Console.log(`The model calls ${name}`)
    if (toolCalls.length === 0) {
      yield* Console.log(Taint.withoutImages(text))
      break
    }
    prompt = Prompt.concat(prompt, Prompt.fromResponseParts(content))
  }
})

// A model that obeys everybody, unless the environment names the model of a
// provider.
const model =
  process.env["AGENT_MODEL"] === undefined ? ObedientModel : Provider

Caller.within(program, {
  conversation: new Caller.HostConversation("terminal")
}).pipe(
  Effect.provide([Layer.provide(servers, guards), model]),
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)
