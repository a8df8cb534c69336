import { McpServer } from "@effect-mcp/promise"
import { z } from "zod"

export const server = new McpServer({
  name: "orders",
  version: "1.0.0",
  instructions: "Ask for the menu first."
})

const Order = z.object({
  size: z.enum(["small", "large"]),
  note: z.string().optional()
})

server.tool(
  "order",
  {
    description: "Orders a pizza",
    input: z.object({ pizza: z.string() }),
    output: z.object({ number: z.number(), text: z.string() }),
    limits: { time: 60_000 }
  },
  async ({ pizza }, { ask, log, once, progress, signal }) => {
    if (pizza === "Hawaii") throw new Error("There is no pineapple today")
    const number = await once("number", () => nextNumber(signal))
    const { size } = await ask(`Which size of ${pizza}?`, Order)
    log.info({ number, size })
    await progress(1, { total: 1, message: "In the oven" })
    return { number, text: `A ${size} ${pizza}` }
  }
)

let menu = ["Margherita", "Funghi"]
server.resource("menu://today", { name: "menu", title: "The menu" }, () =>
  menu.join("\n")
)
server.tool(
  "sold_out",
  {
    description: "Takes a pizza off the menu",
    input: z.object({ pizza: z.string() })
  },
  ({ pizza }) => {
    menu = menu.filter((one) => one !== pizza)
    server.updated("menu://today")
  }
)

server.template(
  "menu://today/{pizza}",
  {
    name: "pizza",
    complete: { pizza: (start) => menu.filter((one) => one.startsWith(start)) }
  },
  ({ pizza }) => (menu.includes(pizza) ? `${pizza}: 9 euros` : undefined)
)

server.prompt(
  "recommend",
  {
    description: "Asks for a recommendation",
    arguments: z.object({ mood: z.string() }),
    complete: { mood: () => ["hungry", "sad"] }
  },
  ({ mood }) => [
    { role: "user", content: `I am ${mood}. Which pizza should I order?` }
  ]
)

let last = 0
const nextNumber = async (signal: AbortSignal): Promise<number> => {
  signal.throwIfAborted()
  return ++last
}
