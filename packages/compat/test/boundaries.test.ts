/** Program code that fails in every possible way: the process survives, the connection stays open, and `onerror` receives the error. */
/* oxlint-disable unicorn/prefer-add-event-listener -- servers and transports of the SDK are not event targets */
import { Client, InMemoryTransport } from "@effect-mcp/compat/client"
import { McpServer, requireBearerAuth } from "@effect-mcp/compat/server"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { reported, unhandled } from "./support/unhandled.ts"

const info = { name: "boundaries", version: "1.0.0" }

/** An error whose message cannot be read. */
const unreadable = () =>
  Object.defineProperties(new Error("hidden"), {
    message: {
      get: () => {
        throw new Error("no message")
      }
    }
  })

/** Ways in which a callback can fail. */
const ways: { readonly [way: string]: () => never | Promise<never> } = {
  throws: () => {
    throw new Error("failed")
  },
  rejects: () => Promise.reject(new Error("failed")),
  "throws an error without a message": () => {
    throw unreadable()
  },
  "rejects with an error without a message": () => Promise.reject(unreadable())
}

const pair = async (prepare: (server: McpServer, client: Client) => void) => {
  const server = new McpServer(info, { capabilities: { logging: {}, tools: {} } })
  const client = new Client(info, { capabilities: { elicitation: { form: {} } } })
  const errors: Array<Error> = []
  server.server.onerror = client.onerror = (error) => void errors.push(error)
  prepare(server, client)
  const [near, far] = InMemoryTransport.createLinkedPair()
  await server.connect(far)
  await client.connect(near)
  onTestFinished(() => client.close())
  return { client, errors, server }
}

const done = () => ({ content: [] })

describe.each(Object.keys(ways))("A callback that %s", (way) => {
  const fail = (): never => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- programs in JavaScript return promises where none are expected
    return ways[way]?.() as never
  }

  it("A tool callback fails its call", async () => {
    const reasons = unhandled()
    const { client } = await pair((server) => void server.registerTool("fails", {}, fail))
    assert.isTrue((await client.callTool({ name: "fails" })).isError)
    await client.ping()
    await reported()
    assert.deepStrictEqual(reasons, [])
  })

  it("A request handler answers with an error", async () => {
    const reasons = unhandled()
    const { client } = await pair(({ server }) => server.setRequestHandler("tools/list", fail))
    const error: unknown = await client.listTools().catch((error: unknown) => error)
    assert.strictEqual(Object(error).code, -32_603)
    await client.ping()
    await reported()
    assert.deepStrictEqual(reasons, [])
  })

  it("A question that the client fails to answer rejects", async () => {
    const reasons = unhandled()
    const { server } = await pair((_, client) => client.setRequestHandler("elicitation/create", fail))
    const params = { message: "?", requestedSchema: { type: "object" as const, properties: {} } }
    const error: unknown = await server.server.elicitInput(params).catch((error: unknown) => error)
    assert.strictEqual(Object(error).code, -32_603)
    await server.server.ping()
    await reported()
    assert.deepStrictEqual(reasons, [])
  })

  it("Notification handlers report to onerror", async () => {
    const reasons = unhandled()
    const { client, errors, server } = await pair((server, client) => {
      server.server.oninitialized = fail
      server.server.setNotificationHandler("notifications/roots/list_changed", fail)
      client.setNotificationHandler("notifications/message", fail)
    })
    await client.sendRootsListChanged()
    await server.sendLoggingMessage({ level: "info", data: "told" })
    await client.ping()
    await reported()
    assert.deepStrictEqual([errors.length, reasons], [3, []])
    for (const { message } of errors) assert.isString(message)
  })

  it("A progress callback does not affect its request", async () => {
    const reasons = unhandled()
    const { client, errors } = await pair((server) => {
      server.registerTool("progress", {}, async ({ mcpReq }) => {
        const progressToken = mcpReq._meta?.progressToken ?? 0
        await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress: 1 } })
        return done()
      })
    })
    assert.deepStrictEqual((await client.callTool({ name: "progress" }, { onprogress: fail })).content, [])
    await reported()
    assert.deepStrictEqual([errors.length, reasons], [1, []])
  })

  it("Throwing close callbacks and onerror affect nothing else", async () => {
    const reasons = unhandled()
    const { client, server } = await pair((server, client) => {
      server.server.onerror = client.onerror = fail
      server.server.onclose = client.onclose = fail
      server.server.oninitialized = fail
    })
    await client.ping()
    await client.close()
    await server.close()
    await reported()
    assert.deepStrictEqual([server.isConnected(), reasons], [false, []])
  })

  it("A token verifier causes a 500", async () => {
    const reasons = unhandled()
    const check = requireBearerAuth({ verifier: { verifyAccessToken: fail } })
    const answer = await check(new Request("http://localhost/", { headers: { authorization: "Bearer t" } }))
    assert.strictEqual(answer instanceof Response ? answer.status : 200, 500)
    await reported()
    assert.deepStrictEqual(reasons, [])
  })

  it("A transport that fails to send rejects the request", async () => {
    const reasons = unhandled()
    const server = new McpServer(info)
    const client = new Client(info)
    const [near, far] = InMemoryTransport.createLinkedPair()
    await server.connect(far)
    await client.connect(near)
    near.send = fail
    const error: unknown = await client.ping().catch((error: unknown) => error)
    assert.instanceOf(error, Error)
    await client.close()
    await reported()
    assert.deepStrictEqual(reasons, [])
  })
})

describe("Program values that JSON cannot represent", () => {
  const circular: { [name: string]: unknown } = {}
  circular["self"] = circular

  it.each([
    ["a result with a cycle", () => ({ ...done(), structuredContent: circular })],
    ["a result with a bigint", () => ({ ...done(), _meta: { big: 1n } })],
    ["undefined", () => undefined],
    [
      "an error with cyclic data",
      () => {
        throw Object.assign(new Error("failed"), { code: -32_000, data: circular })
      }
    ]
  ])("A handler with %s is answered with an error", async (_, handler) => {
    const reasons = unhandled()
    const { client } = await pair(({ server }) => server.setRequestHandler("tools/call", handler as never))
    const error: unknown = await client.callTool({ name: "any" }, { timeout: 2000 }).catch((error: unknown) => error)
    assert.isNumber(Object(error).code, String(error))
    await client.ping()
    await reported()
    assert.deepStrictEqual(reasons, [])
  })

  it("A token with string scopes is rejected", async () => {
    const verifyAccessToken = async () => ({ token: "t", clientId: "c", scopes: "readonly", expiresAt: 1e10 }) as never
    const check = requireBearerAuth({ verifier: { verifyAccessToken }, requiredScopes: ["read"] })
    const answer = await check(new Request("http://localhost/", { headers: { authorization: "Bearer t" } }))
    assert.strictEqual(answer instanceof Response ? answer.status : 200, 500)
  })
})
