/** Options from plain JavaScript, and servers that are used after closing. */
import { McpClient, McpServer, RequestError } from "@effect-mcp/promise"
import { assert, describe, it } from "@effect/vitest"
import { z } from "zod"
import { all, clientOf, rejection, serverOf, textOf } from "./support/revisions.ts"

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what plain JavaScript may give
const js = (value: unknown): never => value as never

describe("Options", () => {
  it.each<[string, (server: McpServer) => unknown]>([
    [
      'The tool "t": unknown option "visable". Did you mean "visible"?',
      (server) => server.tool("t", js({ description: "T", visable: () => false }), () => "")
    ],
    [
      'The tool "t": unknown option "inputSchema". Did you mean "input"?',
      (server) => server.tool("t", js({ description: "T", inputSchema: z.object({}) }), () => "")
    ],
    [
      'The tool "t": unknown option "foo". Available options: title, description, input, output',
      (server) => server.tool("t", js({ description: "T", foo: 1 }), () => "")
    ],
    [
      'The tool "t" needs a description: expected a string, but received undefined',
      (server) => server.tool("t", js({}), () => "")
    ],
    [
      'The tool "t" needs a handler: expected a function, but received undefined',
      (server) => server.tool("t", { description: "T" }, js(undefined))
    ],
    [
      'The tool "t": the options must be an object, but received function',
      (server) =>
        server.tool(
          "t",
          js(() => ""),
          js(undefined)
        )
    ],
    [
      'The tool "t": the option "title" must be of type string, but received number',
      (server) => server.tool("t", js({ description: "T", title: 5 }), () => "")
    ],
    [
      'The tool "t", annotations: the option "readOnlyHint" must be of type boolean, but received string',
      (server) => server.tool("t", js({ description: "T", annotations: { readOnlyHint: "yes" } }), () => "")
    ],
    [
      'The tool "t", limits: unknown option "timeout". Did you mean "time"?',
      (server) => server.tool("t", js({ description: "T", limits: { timeout: 1 } }), () => "")
    ],
    [
      'McpServer, limits: unknown option "spil". Did you mean "spill"?',
      () => new McpServer({ name: "t", version: "1.0.0", limits: js({ spil: true }) })
    ],
    [
      'McpServer, limits.spill: the option "timeToLive" must be of type number, but received string',
      () => new McpServer({ name: "t", version: "1.0.0", limits: { spill: js({ timeToLive: "1 hour" }) } })
    ],
    [
      'The prompt "p": unknown option "argument". Did you mean "arguments"?',
      (server) => server.prompt("p", js({ argument: z.object({}) }), () => "")
    ],
    ['The prompt "p" needs a handler', (server) => server.prompt("p", {}, js(undefined))],
    [
      'The resource x://r: unknown option "mimetype". Did you mean "mimeType"?',
      (server) => server.resource("x://r", js({ name: "r", mimetype: "text/plain" }), () => "")
    ],
    ["The resource x://r needs a name", (server) => server.resource("x://r", js({}), () => "")],
    ["The resource x://r needs a read function", (server) => server.resource("x://r", { name: "r" }, js("text"))],
    [
      'The template x://{id}: unknown option "completer". Did you mean "complete"?',
      (server) => server.template("x://{id}", js({ name: "r", completer: {} }), () => "")
    ],
    ['A hook: unknown option "befor". Did you mean "before"?', (server) => server.use(js({ befor: () => {} }))],
    [
      'HTTP auth: unknown option "verfy". Did you mean "verify"?',
      (server) => server.toListener({ auth: js({ verfy: () => undefined }) })
    ],
    ["HTTP auth needs verify: expected a function", (server) => server.toFetch({ auth: js({}) })],
    ['HTTP sessions: unknown option "perUser"', (server) => server.toFetch({ sessions: js({ perUser: 3 }) })],
    [
      "HTTP auth: resourceMetadata must be a URL",
      (server) => server.toListener({ auth: { verify: () => undefined, resourceMetadata: "https://a\r\nb" } })
    ]
  ])("Registration throws: %s", async (message, register) => {
    const server = serverOf()
    assert.throws(() => register(server), TypeError, message)
    server.tool("good", { description: "Good" }, () => "good")
    const client = await clientOf(server, "2025-11-25")
    assert.deepStrictEqual(
      (await all(client.listTools())).map(({ name }) => name),
      ["good"]
    )
  })

  it.each<[string, object]>([
    ['McpServer: unknown option "onerror". Did you mean "onError"?', { name: "s", version: "1", onerror: () => {} }],
    ["McpServer needs a name", { version: "1" }],
    ["McpServer needs a version", { name: "s" }]
  ])("Creating a server throws: %s", (message, options) => {
    assert.throws(() => new McpServer(js(options)), TypeError, message)
  })

  it.each<[string, unknown, object]>([
    ['McpClient.connect: unknown option "timout". Did you mean "timeout"?', undefined, { timout: 1 }],
    ['Cannot connect to "server.js": expected', "server.js", {}],
    ["Cannot connect to a value of type undefined", null, {}],
    ["Cannot connect to a value of type object", {}, {}],
    [
      "The `principal` option only works with an McpServer",
      "http://127.0.0.1:1/mcp",
      { principal: { subject: "ada" } }
    ],
    ["McpClient.connect received a user without a subject", undefined, { principal: { scopes: ["admin"] } }],
    ["McpClient.connect received scopes that", undefined, { principal: { subject: "ada", scopes: "admin" } }]
  ])("Connecting a client rejects: %s", async (message, target, options) => {
    const server = serverOf()
    const error = await rejection(
      McpClient.connect(js(target === undefined ? server : (target ?? undefined)), js(options))
    )
    assert.instanceOf(error, TypeError)
    assert.include(error.message, message)
  })
})

it("A client can connect to a URL string", async () => {
  const server = serverOf()
  server.tool("hello", { description: "Hello" }, () => "hello")
  const { url } = await server.listen({ signals: false })
  await using client = await McpClient.connect(url)
  assert.strictEqual(textOf(await client.callTool("hello")), "hello")
})

it("A rejected client gets advice in terms of this package", async () => {
  const { url } = await serverOf().listen({ signals: false, auth: { verify: () => undefined } })
  const error = await rejection(McpClient.connect(url, { reconnect: false }))
  assert.instanceOf(error, RequestError)
  assert.strictEqual(error.reason, "Unauthorized")
  assert.include(error.message, "McpClient.connect({ url, headers:")
  assert.notMatch(error.message, /layer|Effect|OAuth\./)
})

it("A closed server rejects further use with a RequestError", async () => {
  const server = serverOf()
  server.tool("hello", { description: "Hello" }, () => "hello")
  await using client = await McpClient.connect(server)
  await server.close()
  const uses: ReadonlyArray<() => unknown> = [
    () => McpClient.connect(server),
    () => server.listen({ signals: false }),
    () => server.stdio(),
    () => server.toListener(),
    () => server.toFetch(),
    () => server.tool("late", { description: "Late" }, () => "")
  ]
  for (const use of uses) {
    const error = await rejection((async () => use())())
    assert.instanceOf(error, RequestError)
    assert.strictEqual(error.reason, "Closed")
    assert.include(error.message, "The server is closed. Create a new McpServer")
  }
  assert.instanceOf(await rejection(client.callTool("hello")), RequestError)
})
