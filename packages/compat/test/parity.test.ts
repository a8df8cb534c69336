/** Details in which the shim behaves like the official SDK. */
/* oxlint-disable unicorn/prefer-add-event-listener -- servers and transports of the SDK are not event targets */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { clientV1, clientV2, type Kind, kinds, serverV1, serverV2 } from "./support/modules.ts"

const info = { name: "parity", version: "1.0.0" }

describe("sendResourceUpdated", () => {
  it.each(kinds)("A %s server with its own subscribe handler sends every update in order", async (kind) => {
    const sdk = await serverV1(kind)
    const { Client, ResourceUpdatedNotificationSchema } = await clientV1("official")
    const server = new sdk.Server(info, { capabilities: { resources: { subscribe: true } } })
    const subscribed: Array<string> = []
    server.setRequestHandler(sdk.SubscribeRequestSchema, ({ params }) => {
      subscribed.push(params.uri)
      return {}
    })
    const client = new Client(info)
    const uris: Array<string> = []
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void uris.push(params.uri))
    const [near, far] = sdk.InMemoryTransport.createLinkedPair()
    await server.connect(far)
    await client.connect(near)
    onTestFinished(() => client.close())
    await client.subscribeResource({ uri: "a://1" })
    for (const uri of ["a://1", "a://1/part", "b://2"]) await server.sendResourceUpdated({ uri })
    await client.ping()
    await server.ping()
    assert.deepStrictEqual([subscribed, uris], [["a://1"], ["a://1", "a://1/part", "b://2"]])
  })
})

describe("Custom transports", () => {
  /** A transport in front of another that records calls. */
  const noting = async (kind: Kind, noted: Array<string>) => {
    const { InMemoryTransport } = await serverV2(kind)
    const [near, far] = InMemoryTransport.createLinkedPair()
    let isOpen = false
    const transport = {
      onmessage: undefined as ((message: object) => void) | undefined,
      onclose: undefined as (() => void) | undefined,
      onerror: undefined as ((error: Error) => void) | undefined,
      start: async () => {
        noted.push(`start ${transport.onmessage === undefined ? "unheard" : "heard"}`)
        near.onmessage = (message) => transport.onmessage?.(message)
        near.onclose = () => transport.onclose?.()
        await near.start()
        await new Promise((resolve) => setImmediate(resolve))
        isOpen = true
      },
      send: async (message: object) => {
        noted.push(`${isOpen ? "open" : "closed"} ${"method" in message ? String(message.method) : ""}`)
        await near.send(message)
      },
      close: () => near.close()
    }
    return { far, transport }
  }

  it.each(kinds)("A %s client sends initialize once the transport has started", async (kind) => {
    const { McpServer } = await serverV2("official")
    const { Client } = await clientV2(kind)
    const noted: Array<string> = []
    const { far, transport } = await noting("official", noted)
    await new McpServer(info).connect(far)
    const client = new Client(info)
    await client.connect(transport)
    assert.deepStrictEqual(noted, ["start heard", "open initialize", "open notifications/initialized"])
    await client.close()
  })

  it.each(kinds)("A %s client's connect rejects with the transport's error if it fails to start", async (kind) => {
    const { Client } = await clientV2(kind)
    const { transport } = await noting("official", [])
    transport.start = () => Promise.reject(new Error("no start"))
    const error: unknown = await new Client(info).connect(transport).catch((error: unknown) => error)
    assert.strictEqual(Object(error).message, "no start")
  })
})

describe("Output schemas", () => {
  const outputSchema = { type: "object" as const, properties: { sum: { type: "number" } }, required: ["sum"] }

  it.each(kinds.flatMap((kind) => (["v1", "v2"] as const).map((version) => ({ kind, version }))))(
    "A $version $kind client rejects results that violate a listed tool's schema",
    async ({ kind, version }) => {
      const { InMemoryTransport, Server } = await serverV2("official")
      const server = new Server(info, { capabilities: { tools: {} } })
      let result: { content: []; structuredContent?: { [name: string]: unknown }; isError?: boolean } = { content: [] }
      const tools = [{ name: "add", inputSchema: { type: "object" as const }, outputSchema }]
      server.setRequestHandler("tools/list", () => ({ tools }))
      server.setRequestHandler("tools/call", () => result)
      const { Client } = version === "v1" ? await clientV1(kind) : await clientV2(kind)
      const client = new Client(info)
      const [near, far] = InMemoryTransport.createLinkedPair()
      await server.connect(far)
      await client.connect(near)
      onTestFinished(() => client.close())
      await client.listTools()
      const codeOf = async (given: typeof result) => {
        result = given
        const answer: unknown = await client.callTool({ name: "add" }).catch((error: unknown) => error)
        return Object(answer).code
      }
      assert.deepStrictEqual(
        [
          await codeOf({ content: [] }),
          await codeOf({ content: [], structuredContent: { sum: "3" } }),
          await codeOf({ content: [], isError: true }),
          await codeOf({ content: [], structuredContent: { sum: 3 } })
        ],
        [-32_600, -32_602, undefined, undefined]
      )
    }
  )
})

describe("SDK members", () => {
  it.each(kinds)("A %s client accepts setVersionNegotiation only before connecting", async (kind) => {
    const { Client } = await clientV2(kind)
    const { InMemoryTransport, McpServer } = await serverV2(kind)
    const client = new Client(info)
    client.setVersionNegotiation({ mode: "auto" })
    const server = new McpServer(info)
    server.registerTool("none", {}, () => ({ content: [] }))
    const [near, far] = InMemoryTransport.createLinkedPair()
    await server.connect(far)
    await client.connect(near)
    onTestFinished(() => client.close())
    await client.listTools()
    assert.strictEqual(server.server.getNegotiatedProtocolVersion(), client.getNegotiatedProtocolVersion())
    assert.throws(() => client.setVersionNegotiation(undefined))
  })

  it.each(kinds)("ProtocolError.fromError in the %s SDK returns the class for a code", async (kind) => {
    const { ProtocolError, ResourceNotFoundError, UrlElicitationRequiredError } = await serverV2(kind)
    const elicitations = [{ mode: "url", message: "Log in", elicitationId: "1", url: "https://acme.example/" }]
    assert.instanceOf(ProtocolError.fromError(-32_042, "Log in", { elicitations }), UrlElicitationRequiredError)
    assert.instanceOf(ProtocolError.fromError(-32_602, "None", { uri: "a://1" }), ResourceNotFoundError)
    assert.deepInclude(ProtocolError.fromError(-32_000, "Other"), { code: -32_000, message: "Other" })
  })

  it.each(kinds)("getDisplayName in the %s SDK skips empty titles", async (kind) => {
    const { getDisplayName } = await serverV2(kind)
    assert.deepStrictEqual(
      [
        getDisplayName({ name: "a", title: "" }),
        getDisplayName({ name: "a", title: "", annotations: { title: "B" } }),
        getDisplayName({ name: "a", title: "C", annotations: { title: "B" } })
      ],
      ["a", "B", "C"]
    )
  })
})

describe("Defaults for results and answers", () => {
  it.each(kinds)("A %s server's handler can omit the content", async (kind) => {
    const { InMemoryTransport, Server } = await serverV2(kind)
    const server = new Server(info, { capabilities: { tools: {} } })
    server.setRequestHandler("tools/call", () => ({ structuredContent: { sum: 3 } }) as never)
    const { Client } = await clientV2("official")
    const client = new Client(info)
    const [near, far] = InMemoryTransport.createLinkedPair()
    await server.connect(far)
    await client.connect(near)
    onTestFinished(() => client.close())
    const { content, structuredContent } = await client.callTool({ name: "add" })
    assert.deepStrictEqual([content, structuredContent], [[], { sum: 3 }])
  })

  it.each(kinds)("A %s client with applyDefaults fills in a form's defaults", async (kind) => {
    const { InMemoryTransport, McpServer } = await serverV2("official")
    const { Client } = await clientV2(kind)
    const server = new McpServer(info)
    const client = new Client(info, { capabilities: { elicitation: { form: { applyDefaults: true } } } })
    client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { size: "large" } }))
    const [near, far] = InMemoryTransport.createLinkedPair()
    await server.connect(far)
    await client.connect(near)
    onTestFinished(() => client.close())
    const size = { type: "string" as const, default: "small" }
    const requestedSchema = { type: "object" as const, properties: { size, count: { type: "integer", default: 2 } } }
    const answer = await server.server.elicitInput({ mode: "form", message: "Which?", requestedSchema })
    assert.deepInclude(answer, { content: { size: "large", count: 2 } })
  })
})
