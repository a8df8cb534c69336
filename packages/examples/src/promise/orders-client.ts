import { McpClient } from "@effect-mcp/promise"
import { server } from "./orders.ts"

await using client = await McpClient.connect(server, {
  elicitation: {
    form: ({ message }) => (
      console.log(message),
      { action: "accept", content: { size: "large" } }
    )
  }
})

const order = await client.callTool(
  "order",
  { pizza: "Funghi" },
  {
    onProgress: ({ message }) => console.log(message),
    signal: AbortSignal.timeout(10_000)
  }
)
console.log(order.structuredContent)

const failed = await client.callTool("order", { pizza: "Hawaii" })
console.log(failed.isError, failed.content)

const { values } = await client.complete(
  { uriTemplate: "menu://today/{pizza}" },
  "pizza",
  "M"
)
const { messages } = await client.getPrompt("recommend", { mood: "hungry" })
console.log(values, messages.length)

for await (const uri of client.subscribe("menu://today")) {
  const menu = await client.readText(uri)
  console.log(menu)
  if (!menu.includes("Funghi")) break
  await client.callTool("sold_out", { pizza: "Funghi" })
}

await server.close()
