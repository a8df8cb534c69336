import { deploy } from "@effect-mcp/examples/readme/deploy"
import { Fuzz } from "@effect-mcp/fuzz"
import { McpServer } from "@effect-mcp/server"
import { it } from "@effect/vitest"

const server = McpServer.layer({
  name: "deploy",
  version: "1.0.0",
  features: deploy
})

it.effect(
  "The server survives a hundred conversations without a violation",
  () => Fuzz.check(server, { runs: 100 })
)
