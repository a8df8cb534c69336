import { NodeRuntime } from "@effect/platform-node"
import { Tool, Tools } from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import { Effect, Schema } from "effect"

const input = { a: Schema.Finite, b: Schema.Finite }
const Add = Tool.make("add", { description: "Adds two numbers.", input })

const features = Tools.layer(Add, ({ a, b }) => Effect.succeed(`${a + b}`))

const server = McpServer.layer({ name: "hello", version: "1.0.0", features })
NodeRuntime.runMain(McpServer.runStdio(server))
