/** Program callbacks that throw: `onerror` receives the error, and the connection ends as usual. */
/* oxlint-disable unicorn/prefer-add-event-listener -- servers and transports of the SDK are not event targets */
import { Client, InMemoryTransport } from "@effect-mcp/compat/client"
import { McpServer } from "@effect-mcp/compat/server"
import { assert, describe, it } from "@effect/vitest"
import { reported, unhandled } from "./support/unhandled.ts"

/** Returns the message that a promise rejects with. */
const refusal = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "resolved",
    (error) => error.message
  )

const made = () => {
  const server = new McpServer({ name: "server", version: "1.0.0" })
  const client = new Client({ name: "client", version: "1.0.0" })
  const errors: Array<string> = []
  const closed = new Promise<void>((resolve) => (server.server.onclose = resolve))
  const failed = new Promise<void>((resolve) => {
    server.server.onerror = ({ message }) => {
      errors.push(message)
      resolve()
    }
  })
  const [near, far] = InMemoryTransport.createLinkedPair()
  return { client, closed, errors, failed, far, near, server }
}

describe("Connecting a server", () => {
  it("A second connect is rejected while the first is opening", async () => {
    const { far, server } = made()
    const first = server.connect(far)
    const [, other] = InMemoryTransport.createLinkedPair()
    assert.match(await refusal(server.connect(other)), /already connected/)
    await first
    await server.close()
  })

  it("A transport in use by another server is rejected", async () => {
    const { far, server } = made()
    await server.connect(far)
    assert.match(await refusal(made().server.connect(far)), /connected to another server/)
    await server.close()
  })

  it("connect rejects with the transport's error if it fails to start", async () => {
    const { far, server } = made()
    far.start = () => Promise.reject(new Error("no start"))
    assert.strictEqual(await refusal(server.connect(far)), "no start")
    assert.isFalse(server.isConnected())
  })
})

describe("Clients that watch lists", () => {
  it("A list-watching client connects to a server without subscriptions and reports to onerror", async () => {
    const { far, near, server } = made()
    server.registerTool("hello", {}, () => ({ content: [] }))
    const errors: Array<string> = []
    const client = new Client(
      { name: "client", version: "1.0.0" },
      { versionNegotiation: { mode: "auto" }, listChanged: { tools: { onChanged: () => {} } } }
    )
    client.onerror = ({ message }) => void errors.push(message)
    const send = near.send.bind(near)
    near.send = async (message: { method?: string; id?: unknown }) => {
      if (message.method !== "subscriptions/listen") return send(message)
      near.onmessage?.({ jsonrpc: "2.0", id: message.id, error: { code: -32_601, message: "No subscriptions" } })
    }
    await server.connect(far)
    await client.connect(near)
    assert.deepStrictEqual(errors, ["No subscriptions"])
    assert.strictEqual((await client.listTools()).tools.length, 1)
    await client.close()
  })
})

describe("Throwing callbacks", () => {
  it.each([
    ["rejects", () => Promise.reject(new Error("no start"))],
    [
      "throws",
      () => {
        throw new Error("no start")
      }
    ]
  ])("An oninitialized callback that %s reports its error to onerror", async (_, oninitialized) => {
    const reasons = unhandled()
    const { client, errors, failed, far, near, server } = made()
    server.server.oninitialized = oninitialized
    await server.connect(far)
    await client.connect(near)
    await failed
    await reported()
    assert.deepStrictEqual([errors, reasons], [["no start"], []])
    await client.close()
  })

  it("A connection ends even if the transport's onclose throws", async () => {
    const reasons = unhandled()
    const { client, closed, far, near, server } = made()
    far.onclose = () => {
      throw new Error("no end")
    }
    await server.connect(far)
    await client.connect(near)
    await client.close()
    await closed
    await reported()
    assert.deepStrictEqual([server.isConnected(), reasons], [false, []])
  })

  it("A connection ends even if the server's onclose throws, and onerror receives the error", async () => {
    const reasons = unhandled()
    const { client, errors, failed, far, near, server } = made()
    server.server.onclose = () => {
      throw new Error("no end")
    }
    await server.connect(far)
    await client.connect(near)
    await client.close()
    await failed
    await reported()
    assert.deepStrictEqual([server.isConnected(), errors, reasons], [false, ["no end"], []])
  })
})
