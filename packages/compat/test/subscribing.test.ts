/** A program's handlers for methods that the server would answer differently. */
import { Client, StreamableHTTPClientTransport } from "@effect-mcp/compat/client"
import { createMcpHandler, McpServer } from "@effect-mcp/compat/server"
import { assert, describe, it, onTestFinished } from "@effect/vitest"

const connected = async (server: () => McpServer) => {
  const handler = createMcpHandler(server)
  onTestFinished(() => handler.close())
  const client = new Client({ name: "tester", version: "1.0.0" })
  const send = async (input: string | URL, init?: RequestInit) => handler.fetch(new Request(input, init))
  await client.connect(new StreamableHTTPClientTransport(new URL("http://localhost/mcp"), { fetch: send }))
  onTestFinished(() => client.close())
  return client
}

describe("Sessionless requests", () => {
  it("A sessionless request subscribes through the program's handler", async () => {
    const heard: Array<string> = []
    const client = await connected(() => {
      const server = new McpServer(
        { name: "made", version: "1.0.0" },
        { capabilities: { resources: { subscribe: true } } }
      )
      server.server.setRequestHandler("resources/subscribe", ({ params }) => {
        heard.push(params.uri)
        return {}
      })
      return server
    })
    assert.strictEqual(client.getServerCapabilities()?.resources?.subscribe, true)
    await client.subscribeResource({ uri: "test://one" })
    assert.deepStrictEqual(heard, ["test://one"])
  })

  it("A sessionless subscription is rejected if the program has no handler", async () => {
    const client = await connected(
      () => new McpServer({ name: "made", version: "1.0.0" }, { capabilities: { resources: { subscribe: true } } })
    )
    const error: unknown = await client.subscribeResource({ uri: "test://one" }).catch((error: unknown) => error)
    assert.strictEqual(Object(error).code, -32_601)
  })
})

describe("Subscriptions in 2026-07-28", () => {
  it("A server grants the part of a subscription it declares", async () => {
    const handler = createMcpHandler(() => {
      const server = new McpServer({ name: "made", version: "1.0.0" })
      server.registerTool("hello", {}, () => ({ content: [] }))
      return server
    })
    onTestFinished(() => handler.close())
    const client = new Client({ name: "tester", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } })
    const send = async (input: string | URL, init?: RequestInit) => handler.fetch(new Request(input, init))
    await client.connect(new StreamableHTTPClientTransport(new URL("http://localhost/mcp"), { fetch: send }))
    onTestFinished(() => client.close())
    const lists = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }
    const subscription = await client.listen({ ...lists, resourceSubscriptions: ["test://one"] })
    assert.deepStrictEqual(subscription.honoredFilter, { toolsListChanged: true })
    await subscription.close()
  })
})

describe("Wrapped handlers", () => {
  it("Wrapping an McpServer handler in _requestHandlers intercepts the method's requests", async () => {
    let count = 0
    const client = await connected(() => {
      const made = new McpServer({ name: "made", version: "1.0.0" })
      made.registerTool("hello", {}, () => ({ content: [] }))
      const handlers: Map<string, (...args: Array<unknown>) => unknown> = Object(made.server)["_requestHandlers"]
      const own = handlers.get("tools/list")
      handlers.set("tools/list", (...args) => {
        count++
        return own?.(...args)
      })
      return made
    })
    const { tools } = await client.listTools()
    assert.deepStrictEqual([tools.map(({ name }) => name), count], [["hello"], 1])
  })
})
