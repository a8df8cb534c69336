import { NodeRuntime } from "@effect/platform-node"
import { ServedToolkit } from "@effect-mcp/ai"
import { McpServer } from "@effect-mcp/server"
import { Layer } from "effect"
import { Weather, WeatherLive } from "./weather.ts"

const features = Layer.provide(ServedToolkit.layer(Weather), WeatherLive)

McpServer.runStdio(
  McpServer.layer({ name: "weather", version: "1.0.0", features })
).pipe(NodeRuntime.runMain)
