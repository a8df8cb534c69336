/** Information that a program's transport passes with a message: handlers see it, and no shape of it ends the session. */
import { InMemoryTransport } from "@effect-mcp/compat/client"
import { McpServer } from "@effect-mcp/compat/v1/server/mcp.js"
import { assert, describe, it, onTestFinished } from "@effect/vitest"

interface Answer {
  readonly id?: unknown
  readonly result?: { readonly content?: unknown }
}

/** A server that returns the information it has about a call, over a program's transport. */
const serving = async (sessionId?: string) => {
  const server = new McpServer({ name: "known", version: "1.0.0" })
  server.tool("known", async ({ authInfo, requestInfo, sessionId }) => ({
    content: [{ type: "text", text: JSON.stringify([authInfo, requestInfo?.headers["x-test"], sessionId]) }]
  }))
  const waiting = new Map<unknown, (answer: Answer) => void>()
  const errors: Array<string> = []
  const transport = {
    sessionId,
    onmessage: (_message: unknown, _extra?: unknown): void => undefined,
    onerror: ({ message }: Error): void => void errors.push(message),
    start: async (): Promise<void> => undefined,
    close: async (): Promise<void> => undefined,
    send: async (message: Answer): Promise<void> => waiting.get(message.id)?.(message)
  }
  await server.connect(transport)
  onTestFinished(() => server.close())
  const ask = (id: number, method: string, params: object, extra: unknown) =>
    new Promise<Answer>((resolve) => {
      waiting.set(id, resolve)
      transport.onmessage({ jsonrpc: "2.0", id, method, params }, extra)
    })
  const clientInfo = { name: "tester", version: "1.0.0" }
  const call = async (extra: unknown): Promise<unknown> => {
    await ask(1, "initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo }, extra)
    transport.onmessage({ jsonrpc: "2.0", method: "notifications/initialized" }, extra)
    return (await ask(2, "tools/call", { name: "known" }, extra)).result?.content
  }
  return { call, errors, transport }
}

const known = (...parts: ReadonlyArray<unknown>) => [{ type: "text", text: JSON.stringify(parts) }]

const auth = { token: "t", clientId: "a", scopes: [] }
const hostile = new Proxy(
  {},
  {
    get: () => {
      throw new Error("It cannot be read")
    }
  }
)

const nothing = known(null, null, null)

const extras: ReadonlyArray<readonly [string, unknown, unknown]> = [
  ["null", null, nothing],
  ["null members", { authInfo: null, request: null, requestInfo: null }, nothing],
  ["request info without headers", { requestInfo: {} }, nothing],
  ["a request without headers", { request: {} }, nothing],
  ["throwing members", { authInfo: hostile, requestInfo: hostile }, nothing],
  ["a header without text", { requestInfo: { headers: { "x-test": Object.create(null) } } }, nothing],
  ["only a token", { authInfo: auth }, known(auth, null, null)],
  ["headers without a URL", { requestInfo: { headers: { "X-Test": ["a", "b"] } } }, known(null, "a, b", null)],
  ["platform headers", { requestInfo: { headers: new Headers({ "x-test": "a" }) } }, known(null, "a", null)],
  [
    "a header named __proto__",
    { requestInfo: { headers: JSON.parse(`{"__proto__":"x","x-test":"a"}`) } },
    known(null, "a", null)
  ]
]

describe("Extra info passed by a custom transport", () => {
  it.each(extras)("%s reaches the handler as far as it is readable", async (_, extra, content) => {
    const { call } = await serving()
    assert.deepStrictEqual(await call(extra), content)
  })

  it("An in-memory message's authInfo reaches the other end", async () => {
    const [near, far] = InMemoryTransport.createLinkedPair()
    const known: Array<unknown> = []
    await near.send({ id: 1 }, { authInfo: auth })
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport of the SDK is not an event target
    far.onmessage = (_, extra) => void known.push(extra?.authInfo)
    await far.start()
    await near.send({ id: 2 }, { authInfo: auth })
    await near.send({ id: 3 })
    assert.deepStrictEqual(known, [auth, auth, undefined])
  })

  it("A handler sees its transport's session", async () => {
    const { call } = await serving("mine")
    assert.deepStrictEqual(await call({ requestInfo: { headers: {} } }), known(null, null, "mine"))
  })

  it("A message without a JSON form is reported to onerror, and the session continues", async () => {
    const { call, errors, transport } = await serving()
    transport.onmessage({ jsonrpc: "2.0", id: 1n, method: "ping" })
    assert.match(String(errors), /BigInt/)
    assert.deepStrictEqual(await call(undefined), nothing)
  })
})
