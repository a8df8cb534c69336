import * as McpClients from "@effect-mcp/client/McpClients"
import { AnswerStore, Budgets, HostPolicy, Pins } from "@effect-mcp/host"
import { NodeServices } from "@effect/platform-node"
import { Layer } from "effect"

const guards = Budgets.layer({
  conversation: { calls: 100, seconds: 600 }
}).pipe(
  Layer.provideMerge(
    HostPolicy.layer({
      trusted: "notes",
      rules: [{ decide: "allow", server: "weather" }]
    })
  ),
  Layer.provideMerge(Pins.layerFile("mcp.lock.json")),
  Layer.provideMerge(AnswerStore.layerFile("answers.json"))
)

export const servers = McpClients.layerFile(".mcp.json").pipe(
  Layer.provideMerge(guards),
  Layer.provide(NodeServices.layer)
)
