/** A server sends to its own client: within its running request, or else over its connection. */
import { Client, InMemoryTransport } from "@effect-mcp/compat/client"
import { McpServer } from "@effect-mcp/compat/server"
import { assert, describe, it, onTestFinished } from "@effect/vitest"

const params = { mode: "form", message: "Your name?", requestedSchema: { type: "object", properties: {} } } as const

/** A server and its client, whose user answers `user`. */
const pair = async (user: string, isOpen = true) => {
  const server = new McpServer({ name: user, version: "1.0.0" }, { capabilities: { logging: {} } })
  const client = new Client({ name: user, version: "1.0.0" }, { capabilities: { elicitation: { form: {} } } })
  const logs: Array<unknown> = []
  client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { user } }))
  client.setNotificationHandler("notifications/message", ({ params }) => void logs.push(params?.["data"]))
  const open = async () => {
    const [near, far] = InMemoryTransport.createLinkedPair()
    await server.connect(far)
    await client.connect(near)
    onTestFinished(() => client.close())
  }
  if (isOpen) await open()
  return { client, logs, open, server }
}

describe("Server requests", () => {
  it("A server called by another server's handler asks its own client", async () => {
    const [one, other] = [await pair("one", false), await pair("other")]
    one.server.registerTool("ask", {}, async () => {
      await other.server.sendLoggingMessage({ level: "info", data: "for other" })
      await one.server.sendLoggingMessage({ level: "info", data: "for one" })
      const answers = [await other.server.server.elicitInput(params), await one.server.server.elicitInput(params)]
      return { content: [{ type: "text", text: answers.map(({ content }) => content?.["user"]).join() }] }
    })
    await one.open()
    const { content } = await one.client.callTool({ name: "ask" })
    assert.deepStrictEqual(content, [{ type: "text", text: "other,one" }])
    assert.deepStrictEqual([one.logs, other.logs], [["for one"], ["for other"]])
  })

  it("A server rejects a cursor its lists did not return", async () => {
    const { client, open, server } = await pair("one", false)
    server.registerTool("tool", {}, () => ({ content: [] }))
    server.registerResource("resource", "one://resource", {}, () => ({ contents: [] }))
    server.registerPrompt("prompt", {}, () => ({ messages: [] }))
    await open()
    const cursor = "no-such-page"
    const lists = [
      client.listTools({ cursor }),
      client.listResources({ cursor }),
      client.listResourceTemplates({ cursor }),
      client.listPrompts({ cursor })
    ]
    for (const list of lists) {
      const error: unknown = await list.catch((error: unknown) => error)
      assert.strictEqual(Object(error).code, -32_602)
    }
  })

  it("A server asks on the connection once the handler's request has ended", async () => {
    const { client, open, server } = await pair("one", false)
    let ended = () => {}
    const end = new Promise<void>((resolve) => (ended = resolve))
    let asked: Promise<unknown> = Promise.resolve()
    server.registerTool("later", {}, () => {
      asked = end.then(() => server.server.elicitInput(params))
      return { content: [] }
    })
    await open()
    await client.callTool({ name: "later" })
    ended()
    assert.deepStrictEqual(await asked, { action: "accept", content: { user: "one" } })
  })

  it.each(["a handler", "the connection"])(
    "A server's question from %s rejects if its signal aborts",
    async (place) => {
      const { client, open, server } = await pair("one", false)
      const controller = new AbortController()
      client.setRequestHandler("elicitation/create", () => {
        controller.abort("no time")
        return new Promise(() => {})
      })
      const codes: Array<unknown> = []
      const ask = async (signal: AbortSignal) => {
        const asked = { method: "elicitation/create", params }
        const failed = (error: { code: unknown; message: unknown }) => codes.push(error.code, error.message)
        await server.server.request(asked, { signal }).catch(failed)
      }
      server.registerTool("ask", {}, async () => {
        if (place === "a handler") await ask(controller.signal)
        return { content: [] }
      })
      await open()
      await client.callTool({ name: "ask" })
      if (place === "the connection") await ask(controller.signal)
      assert.deepStrictEqual(codes, ["REQUEST_TIMEOUT", "no time"])
      await ask(AbortSignal.abort("too late"))
      assert.deepStrictEqual(codes.slice(2), ["REQUEST_TIMEOUT", "too late"])
    }
  )
})
