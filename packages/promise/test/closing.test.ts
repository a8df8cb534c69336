/** How a server closes: running requests finish, later ones are told to retry elsewhere, and streams end. */
import { McpClient, McpError } from "@effect-mcp/promise"
import { assert, describe, it } from "@effect/vitest"
import { onTestFinished } from "vitest"
import { all, clientOf, gate, rejection, revisions, serverOf, textOf } from "./support/revisions.ts"

const refusal = [-31503, "The server is shutting down and did not start the request. Send it again"]

/** A server with one tool that waits for the test, and one that does not. */
const waiting = () => {
  const server = serverOf()
  const started = gate()
  const go = gate()
  server.tool("wait", { description: "Waits" }, async (_, { signal }) => {
    started.resolve()
    await go.promise
    return signal.aborted ? "aborted" : "finished"
  })
  server.tool("quick", { description: "Does not wait" }, () => "done")
  return { server, started: started.promise, finish: go.resolve }
}

/** Connects a client to a `fetch` handler of the server. */
const overFetch = async (server: ReturnType<typeof waiting>["server"], revision: string) => {
  const handler = server.toFetch()
  const call = (method: string, params: object, headers: { readonly [name: string]: string } = {}) =>
    handler(
      new Request("http://localhost/mcp", {
        method: "POST",
        headers: { accept: "application/json, text/event-stream", "content-type": "application/json", ...headers },
        body: JSON.stringify({ jsonrpc: "2.0", id: method, method, params })
      })
    )
  const opened = await call("initialize", {
    protocolVersion: revision,
    capabilities: {},
    clientInfo: { name: "raw", version: "1.0.0" }
  })
  const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "", "mcp-protocol-version": revision }
  const listen = () =>
    handler(new Request("http://localhost/mcp", { headers: { accept: "text/event-stream", ...session } }))
  return { listen, tool: (name: string) => call("tools/call", { name, arguments: {} }, session) }
}

describe.each(revisions)("Closing in %s", (revision) => {
  it("A running call finishes when the server closes, and a later one is rejected", async () => {
    const { finish, server, started } = waiting()
    const client = await clientOf(server, revision, { reconnect: false })
    const call = client.callTool("wait")
    await started
    const closed = server.close()
    const refused = await rejection(client.callTool("quick"))
    assert.instanceOf(refused, McpError)
    assert.deepStrictEqual([refused.code, refused.message], refusal)
    finish()
    assert.strictEqual(textOf(await call), "finished")
    await closed
  })

  it("Subscriptions end when the server closes", async () => {
    const server = serverOf()
    server.resource("notes://today", { name: "today" }, () => "All is well")
    const client = await clientOf(server, revision, { reconnect: false })
    const seen = all(client.subscribe("notes://today")).catch(() => [])
    await client.readText("notes://today")
    await server.close()
    assert.deepStrictEqual(await seen, [])
  })
})

it("A call that outlasts `drain` has its signal aborted", async () => {
  const server = serverOf({ drain: 1 })
  const started = gate()
  const reason = gate<unknown>()
  server.tool("wait", { description: "Waits" }, async (_, { signal }) => {
    started.resolve()
    await new Promise((resolve) => signal.addEventListener("abort", resolve))
    reason.resolve(signal.reason)
  })
  const client = await McpClient.connect(server, { reconnect: false })
  onTestFinished(() => client.close())
  const call = rejection(client.callTool("wait"))
  await started.promise
  await server.close()
  const aborted = await reason.promise
  assert.instanceOf(aborted, DOMException)
  assert.propertyVal(aborted, "name", "AbortError")
  assert.match(String(aborted), /shut|clos/i)
  assert.instanceOf(await call, Error)
})

it("Closing a server twice waits for the first close", async () => {
  const { finish, server, started } = waiting()
  const client = await McpClient.connect(server, { reconnect: false })
  onTestFinished(() => client.close())
  const call = client.callTool("wait")
  await started
  const ended: Array<string> = []
  const closed = [server.close(), server.close()].map((close) => close.then(() => ended.push("closed")))
  finish()
  assert.strictEqual(textOf(await call), "finished")
  await Promise.all(closed)
  assert.deepStrictEqual(ended, ["closed", "closed"])
})

it("A fetch handler lets a running call finish, rejects a later one and ends its streams", async () => {
  const { finish, server, started } = waiting()
  const { listen, tool } = await overFetch(server, "2025-11-25")
  const stream = await listen()
  const call = tool("wait")
  await started
  const closed = server.close()
  assert.notInclude(await stream.text(), "jsonrpc")
  const refused = await tool("quick")
  const { error } = await refused.json()
  assert.deepStrictEqual([refused.status, error.code, error.message], [503, ...refusal])
  finish()
  assert.include(await (await call).text(), '"text":"finished"')
  await closed
  assert.strictEqual((await tool("quick")).status, 503)
})
