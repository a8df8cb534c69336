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
      'The tool "t" has no option "visable": did you mean "visible"?',
      (server) => server.tool("t", js({ description: "T", visable: () => false }), () => "")
    ],
    [
      'The tool "t" has no option "inputSchema": did you mean "input"?',
      (server) => server.tool("t", js({ description: "T", inputSchema: z.object({}) }), () => "")
    ],
    [
      'The tool "t" has no option "foo": expected title, description, input, output',
      (server) => server.tool("t", js({ description: "T", foo: 1 }), () => "")
    ],
    ['The tool "t" needs a description of type string, not undefined', (server) => server.tool("t", js({}), () => "")],
    [
      'The tool "t" needs a handler of type function, not undefined',
      (server) => server.tool("t", { description: "T" }, js(undefined))
    ],
    [
      'The tool "t" needs an object of options, not function',
      (server) =>
        server.tool(
          "t",
          js(() => ""),
          js(undefined)
        )
    ],
    [
      'The option "title" of The tool "t" is of type number: expected string',
      (server) => server.tool("t", js({ description: "T", title: 5 }), () => "")
    ],
    [
      'The option "readOnlyHint" of The tool "t", annotations is of type string: expected boolean',
      (server) => server.tool("t", js({ description: "T", annotations: { readOnlyHint: "yes" } }), () => "")
    ],
    [
      'The tool "t", limits has no option "timeout": did you mean "time"?',
      (server) => server.tool("t", js({ description: "T", limits: { timeout: 1 } }), () => "")
    ],
    [
      'The prompt "p" has no option "argument": did you mean "arguments"?',
      (server) => server.prompt("p", js({ argument: z.object({}) }), () => "")
    ],
    ['The prompt "p" needs a handler', (server) => server.prompt("p", {}, js(undefined))],
    [
      'The resource x://r has no option "mimetype": did you mean "mimeType"?',
      (server) => server.resource("x://r", js({ name: "r", mimetype: "text/plain" }), () => "")
    ],
    ["The resource x://r needs a name", (server) => server.resource("x://r", js({}), () => "")],
    [
      "The resource x://r needs a function that reads it",
      (server) => server.resource("x://r", { name: "r" }, js("text"))
    ],
    [
      'The template x://{id} has no option "completer": did you mean "complete"?',
      (server) => server.template("x://{id}", js({ name: "r", completer: {} }), () => "")
    ],
    ['A hook has no option "befor": did you mean "before"?', (server) => server.use(js({ befor: () => {} }))],
    [
      'HTTP auth has no option "verfy": did you mean "verify"?',
      (server) => server.toListener({ auth: js({ verfy: () => undefined }) })
    ],
    ["HTTP auth needs a verify of type function", (server) => server.toFetch({ auth: js({}) })],
    ['HTTP sessions has no option "perUser"', (server) => server.toFetch({ sessions: js({ perUser: 3 }) })],
    [
      "resourceMetadata of HTTP auth is",
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
    ['McpServer has no option "onerror": did you mean "onError"?', { name: "s", version: "1", onerror: () => {} }],
    ["McpServer needs a name", { version: "1" }],
    ["McpServer needs a version", { name: "s" }]
  ])("Creating a server throws: %s", (message, options) => {
    assert.throws(() => new McpServer(js(options)), TypeError, message)
  })

  it.each<[string, unknown, object]>([
    ['McpClient.connect has no option "timout": did you mean "timeout"?', undefined, { timout: 1 }],
    ['A client cannot connect to "server.js": expected', "server.js", {}],
    ["A client cannot connect to a value of type undefined", null, {}],
    ["A client cannot connect to a value of type object", {}, {}],
    [
      "The option `principal` works only with an McpServer",
      "http://127.0.0.1:1/mcp",
      { principal: { subject: "ada" } }
    ],
    ["McpClient.connect was given a user without a subject", undefined, { principal: { scopes: ["admin"] } }],
    ["McpClient.connect was given scopes that", undefined, { principal: { subject: "ada", scopes: "admin" } }]
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
    assert.include(error.message, "The server is closed: make a new McpServer")
  }
  assert.instanceOf(await rejection(client.callTool("hello")), RequestError)
})
