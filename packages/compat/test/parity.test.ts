/** Details in which programs see the official SDK and the shim alike. */
/* oxlint-disable unicorn/prefer-add-event-listener -- servers and transports of the SDK are no event targets */
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

describe("transports of a program", () => {
  /** A transport that notes what is done with it, in front of another. */
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

  it.each(kinds)("A %s client rejects connect with the error of a transport that does not start", async (kind) => {
    const { Client } = await clientV2(kind)
    const { transport } = await noting("official", [])
    transport.start = () => Promise.reject(new Error("no start"))
    const error: unknown = await new Client(info).connect(transport).catch((error: unknown) => error)
    assert.strictEqual(Object(error).message, "no start")
  })
})
