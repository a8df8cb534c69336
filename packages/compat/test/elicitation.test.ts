/** A client's answers to a server's questions: which answers reach a handler, and the errors that questions reject with. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { clientV1, clientV2, kinds, serverV1, serverV2 } from "./support/modules.ts"

const info = { name: "asks", version: "1.0.0" }
const form = {
  mode: "form" as const,
  message: "How many?",
  requestedSchema: {
    type: "object" as const,
    properties: { count: { type: "integer", maximum: 5 }, mail: { type: "string", format: "email" } },
    required: ["count"]
  }
}
type Content = { [field: string]: string | number }

const unfit: ReadonlyArray<Content> = [
  { count: 50 },
  { count: "5" },
  { mail: "ada@acme.example" },
  { count: 1, mail: "no" }
]

const text = (value: unknown) => ({ content: [{ type: "text" as const, text: JSON.stringify(value) }] })

/** Returns the result of a question, or the code of its error. */
const outcome = async (asked: Promise<object>) => {
  try {
    return await asked
  } catch (error) {
    return Object(error).code
  }
}

describe("Form answers", () => {
  it.each(kinds.flatMap((kind) => (["server", "context", "connection"] as const).map((place) => ({ kind, place }))))(
    "A v2 $kind server rejects invalid form answers by the $place",
    async ({ kind, place }) => {
      const { McpServer } = await serverV2(kind)
      const { Client, InMemoryTransport } = await clientV2("official")
      let content: Content = {}
      const server = new McpServer(info)
      server.registerTool("ask", {}, async ({ mcpReq }) =>
        text(await outcome(place === "context" ? mcpReq.elicitInput(form) : server.server.elicitInput(form)))
      )
      const client = new Client(info, { capabilities: { elicitation: { form: {} } } })
      client.setRequestHandler("elicitation/create", () => ({ action: "accept", content }))
      const [near, far] = InMemoryTransport.createLinkedPair()
      await server.connect(far)
      await client.connect(near)
      onTestFinished(() => client.close())
      const ask = async (answer: Content) => {
        content = answer
        if (place === "connection") return text(await outcome(server.server.elicitInput(form)))
        return client.callTool({ name: "ask" })
      }
      for (const answer of unfit) assert.deepInclude(await ask(answer), text(-32_602))
      const fit = { count: 5, mail: "ada@acme.example" }
      assert.deepInclude(await ask(fit), text({ action: "accept", content: fit }))
    }
  )

  it("A handler in 2026-07-28 never receives an invalid form answer", async () => {
    const { McpServer } = await serverV2("shim")
    const { Client, InMemoryTransport } = await clientV2("official")
    const server = new McpServer(info)
    server.registerTool("ask", {}, async ({ mcpReq }) => text(await outcome(mcpReq.elicitInput(form))))
    const client = new Client(info, {
      capabilities: { elicitation: { form: {} } },
      versionNegotiation: { mode: { pin: "2026-07-28" } }
    })
    client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { count: 50 } }))
    const [near, far] = InMemoryTransport.createLinkedPair()
    await server.connect(far)
    await client.connect(near)
    onTestFinished(() => client.close())
    assert.deepInclude(await client.callTool({ name: "ask" }), text(-32_602))
  })
})

describe("v1 errors", () => {
  /** A v1 server and an official client that answers with `content`. */
  const connected = async (
    kind: (typeof kinds)[number],
    content: Content,
    client: (typeof kinds)[number] = "official"
  ) => {
    const sdk = await serverV1(kind)
    const { Client, ElicitRequestSchema } = await clientV1(client)
    const server = new sdk.McpServer(info)
    const asking = new Client(info, { capabilities: { elicitation: { form: {}, url: {} } } })
    asking.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content }))
    const open = async () => {
      const [near, far] = sdk.InMemoryTransport.createLinkedPair()
      await server.connect(far)
      await asking.connect(near)
      onTestFinished(() => asking.close())
    }
    return { client: asking, open, sdk, server }
  }

  it.each(kinds)("A v1 %s server rejects an invalid answer with an McpError", async (kind) => {
    const { client, open, sdk, server } = await connected(kind, { count: 50 })
    server.tool("ask", async () => {
      const error = await server.server.elicitInput(form).catch((error: unknown) => error)
      return text([error instanceof sdk.McpError, Object(error).code])
    })
    await open()
    assert.deepInclude(await client.callTool({ name: "ask" }), text([true, -32_602]))
  })

  it.each(kinds)("A v1 %s handler's request rejects with an McpError", async (kind) => {
    const { client, open, sdk, server } = await connected(kind, {})
    server.tool("ask", async ({ sendRequest }) => {
      const request = { method: "acme/unknown", params: {} }
      const error = await sendRequest(request, sdk.EmptyResultSchema).catch((error: unknown) => error)
      return text([error instanceof sdk.McpError, Object(error).code])
    })
    await open()
    assert.deepInclude(await client.callTool({ name: "ask" }), text([true, -32_601]))
  })

  it.each(kinds.flatMap((client) => kinds.map((server) => ({ client, server }))))(
    "A v1 $client client receives the UrlElicitationRequiredError from a $server server",
    async (setting) => {
      const { client, open, sdk, server } = await connected(setting.server, {}, setting.client)
      const { McpError, UrlElicitationRequiredError } = await clientV1(setting.client)
      const elicitations = [
        { mode: "url" as const, message: "Log in", elicitationId: "1", url: "https://acme.example/" }
      ]
      server.tool("visit", async () => {
        throw new sdk.UrlElicitationRequiredError(elicitations)
      })
      await open()
      const error: unknown = await client.callTool({ name: "visit" }).catch((error: unknown) => error)
      assert.instanceOf(error, UrlElicitationRequiredError)
      assert.instanceOf(error, McpError)
      assert.deepStrictEqual(Object(error).elicitations, elicitations)
    }
  )
})
