import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { ClientExtension, McpClient } from "@effect-mcp/client"
import { Console, Effect, Fiber, Layer, Stream } from "effect"
import { Add } from "../calculator.ts"
import { Meter } from "./meter.ts"

const server = McpClient.layerStdio({
  command: "node",
  args: [`${import.meta.dirname}/server.ts`]
})
const budget = ClientExtension.layer(Meter, { settings: { budget: 2 } })

const program = Effect.gen(function* () {
  const { callTool, notifications, request } = yield* McpClient.McpClient
  const charges = yield* Stream.take(
    notifications(Meter.notifications.charged),
    2
  ).pipe(
    Stream.runForEach(({ tool, total }) =>
      Console.log(`${tool} is charged, ${total} in total`)
    ),
    Effect.forkChild({ startImmediately: true })
  )
  yield* callTool(Add, { a: 1, b: 2 })
  yield* callTool(Add, { a: 3, b: 4 })
  yield* Fiber.join(charges)
  const { message } = yield* Effect.flip(callTool(Add, { a: 5, b: 6 }))
  const { total } = yield* request(Meter.requests.spent, {})
  yield* Console.log(`${message}: ${total} of 2`)
})

program.pipe(
  Effect.provide(Layer.provide(server, [budget, NodeServices.layer])),
  NodeRuntime.runMain
)
