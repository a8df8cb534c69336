/** Tools, resources, templates, prompts and completions from plain functions, in every revision. */
import { type McpClient, McpError, RequestError, type ToolOutput } from "@effect-mcp/promise"
import { assert, describe, it } from "@effect/vitest"
import { z } from "zod"
import { all, clientOf, gate, rejection, revisions, serverOf, textOf } from "./support/revisions.ts"

describe.each(revisions)("Features in %s", (revision) => {
  const structured = revision >= "2025-06-18"

  it("A tool receives decoded arguments and returns its text as the result", async () => {
    const server = serverOf()
    const input = z.object({ city: z.string().transform((city) => city.toUpperCase()), days: z.number().default(3) })
    server.tool("weather", { description: "The weather", input }, async ({ city, days }) => `${city} ${days}`)
    const client = await clientOf(server, revision)
    assert.strictEqual(textOf(await client.callTool("weather", { city: "Oslo" })), "OSLO 3")
    const [tool] = await all(client.listTools())
    assert.deepStrictEqual(tool?.inputSchema.required, ["city"])
  })

  const outputs: ReadonlyArray<readonly [string, ToolOutput, string]> = [
    ["a text", "text", "text"],
    ["nothing", undefined, ""],
    ["a number", 7, "7"],
    ["a block", { type: "text", text: "block" }, "block"],
    [
      "blocks",
      [
        { type: "text", text: "a" },
        { type: "text", text: "b" }
      ],
      "a|b"
    ],
    ["a list of other values", [1, 2], "[1,2]"],
    ["a whole result", { content: [{ type: "text", text: "failed" }], isError: true }, "failed"],
    ["an object", { a: 1 }, '{"a":1}']
  ]
  it.each(outputs)("A handler can return %s", async (_, output, text) => {
    const server = serverOf()
    server.tool("plain", { description: "Plain" }, () => output)
    server.tool("async", { description: "Async" }, async () => output)
    const client = await clientOf(server, revision)
    for (const name of ["plain", "async"]) assert.strictEqual(textOf(await client.callTool(name)), text)
  })

  it("An object returned by a handler is also structured content", async () => {
    const server = serverOf()
    server.tool("plain", { description: "Plain" }, () => ({ a: 1 }))
    const client = await clientOf(server, revision)
    const { structuredContent } = await client.callTool("plain")
    assert.deepStrictEqual(structuredContent, structured ? { a: 1 } : undefined)
  })

  it("A tool can write its own content, and sends JSON if that fails", async () => {
    const errors: Array<unknown> = []
    const server = serverOf({ onError: (error) => errors.push(error) })
    const output = z.object({ sum: z.number() })
    server.tool("nice", { description: "", output, content: ({ sum }) => `**${sum}**` }, () => ({ sum: 3 }))
    server.tool("bad", { description: "", output, content: () => assert.fail("no text") }, () => ({ sum: 3 }))
    assert.throws(
      () => server.tool("none", { description: "", content: () => "" }, () => ""),
      "requires an output schema"
    )
    const client = await clientOf(server, revision)
    const nice = await client.callTool("nice")
    assert.strictEqual(textOf(nice), "**3**")
    assert.deepStrictEqual(nice.structuredContent, structured ? { sum: 3 } : undefined)
    assert.strictEqual(textOf(await client.callTool("bad")), '{"sum":3}')
    assert.include(String(errors), "no text")
  })

  it("A value that does not match the output schema is passed to onError", async () => {
    const errors: Array<unknown> = []
    const server = serverOf({ onError: (error, { kind, name }) => errors.push(error, kind, name) })
    const output = z.object({ sum: z.number() })
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a JavaScript program may return any value
    server.tool("bad", { description: "", output }, async () => ({ sum: "3" }) as unknown as { sum: number })
    const client = await clientOf(server, revision)
    await rejection(client.callTool("bad"))
    assert.match(
      String(errors[0]),
      /^TypeError: The value that the tool "bad" returned does not match its output schema: /
    )
    assert.deepStrictEqual(errors.slice(1), ["tool", "bad"])
  })

  it("A typed call returns the decoded value, or rejects with a failed tool's message", async () => {
    const server = serverOf()
    const output = z.object({ sum: z.number() })
    const input = z.object({ a: z.number(), b: z.number() })
    server.tool("add", { description: "Adds", input, output }, ({ a, b }) => {
      if (a < 0) throw new Error("a must not be negative")
      return { sum: a + b }
    })
    server.tool("text", { description: "No JSON" }, () => "plain text")
    const client = await clientOf(server, revision)
    const doubled = output.transform(({ sum }) => sum * 2)
    assert.strictEqual(await client.callTyped("add", { a: 1, b: 2 }, doubled), 6)
    const failed = await rejection(client.callTyped("add", { a: -1, b: 2 }, output))
    assert.deepStrictEqual(failed, new RequestError("ToolFailure", "a must not be negative"))
    const other = await rejection(client.callTyped("add", { a: 1, b: 2 }, z.object({ sum: z.string() })))
    assert.instanceOf(other, RequestError)
    assert.include(
      other.message,
      'The output of the tool add does not match the schema: Invalid input: expected string, received number at ["sum"]'
    )
    const none = await rejection(client.callTyped("text", {}, output))
    assert.instanceOf(none, RequestError)
    assert.strictEqual(none.reason, "InvalidResult")
  })

  it("A typed call can return output of any JSON type", async () => {
    const server = serverOf()
    const list = z.array(z.number())
    server.tool("list", { description: "Lists", output: list }, () => [1, 2])
    server.tool("count", { description: "Counts", output: z.number() }, () => 2)
    const client = await clientOf(server, revision)
    assert.deepStrictEqual(await client.callTyped("list", {}, list), [1, 2])
    assert.strictEqual(await client.callTyped("count", {}, z.number()), 2)
  })

  it("A tool's output is encoded by its schema", async () => {
    const server = serverOf()
    const output = z.object({ sum: z.number() })
    server.tool("add", { description: "Adds", output }, async () => {
      const extra = { sum: 3, secret: "not in the schema" }
      return extra
    })
    const client = await clientOf(server, revision)
    const result = await client.callTool("add")
    assert.strictEqual(textOf(result), '{"sum":3}')
    assert.deepStrictEqual(result.structuredContent, structured ? { sum: 3 } : undefined)
  })

  it("An output that violates the schema is an internal error without its value", async () => {
    const server = serverOf()
    const wrong: any = { sum: "secret" }
    server.tool("add", { description: "Adds", output: z.object({ sum: z.number() }) }, async () => wrong)
    const client = await clientOf(server, revision)
    const error = await rejection(client.callTool("add"))
    assert.instanceOf(error, McpError)
    assert.strictEqual(error.code, -32603)
    assert.notInclude(error.message, "secret")
  })

  it("Arguments that violate the schema are rejected with their path and never reach the handler", async () => {
    const server = serverOf()
    server.tool("weather", { description: "The weather", input: z.object({ city: z.string() }) }, () => "called")
    const client = await clientOf(server, revision)
    const result = await client.callTool("weather", { city: 1 }).catch((error: unknown) => error)
    // Before 2025-11-25 they are a protocol error.
    if (revision < "2025-11-25") assert.instanceOf(result, McpError)
    assert.include(JSON.stringify(result instanceof McpError ? result.message : result), "city")
  })

  it("An error thrown by a tool reaches the model as its message only", async () => {
    const seen: Array<unknown> = []
    const server = serverOf({ onError: (error, { kind, name }) => seen.push([error, kind, name]) })
    const secret = new TypeError("The key is missing", { cause: new Error("the password") })
    server.tool("sync", { description: "Throws" }, () => {
      throw secret
    })
    server.tool("async", { description: "Rejects" }, () => Promise.reject(secret))
    server.tool("silent", { description: "Rejects" }, () => Promise.reject(new Error("")))
    const client = await clientOf(server, revision)
    for (const name of ["sync", "async"]) {
      const { content, isError } = await client.callTool(name)
      assert.deepStrictEqual(
        { content, isError },
        { content: [{ type: "text", text: "The key is missing" }], isError: true }
      )
    }
    assert.strictEqual(textOf(await client.callTool("silent")), "The handler failed without a message")
    assert.deepStrictEqual(seen.slice(0, 2), [
      [secret, "tool", "sync"],
      [secret, "tool", "async"]
    ])
  })

  it("An McpError becomes the answer for tools, resources and prompts", async () => {
    const server = serverOf()
    const fail = (): never => {
      throw new McpError(1050, "Not now", { retry: true })
    }
    server.tool("tool", { description: "Fails" }, fail)
    server.resource("test://resource", { name: "resource" }, fail)
    server.prompt("prompt", {}, async () => fail())
    const client = await clientOf(server, revision)
    const calls = [client.callTool("tool"), client.readResource("test://resource"), client.getPrompt("prompt")]
    for (const error of await Promise.all(calls.map(rejection))) {
      assert.instanceOf(error, McpError)
      assert.deepStrictEqual([error.code, error.message, error.data], [1050, "Not now", { retry: true }])
    }
  })

  it("An error from a resource, prompt or completer is an internal error with its message", async () => {
    const server = serverOf()
    const fail = async (): Promise<never> => {
      throw new Error("The disk is full")
    }
    server.resource("test://resource", { name: "resource" }, fail)
    server.prompt("prompt", { arguments: z.object({ a: z.string() }), complete: { a: fail } }, fail)
    const client = await clientOf(server, revision)
    const calls = [
      client.readResource("test://resource"),
      client.getPrompt("prompt", { a: "" }),
      client.complete({ prompt: "prompt" }, "a", "")
    ]
    for (const error of await Promise.all(calls.map(rejection))) {
      assert.instanceOf(error, McpError)
      assert.deepStrictEqual([error.code, error.message], [-32603, "The disk is full"])
    }
  })

  it("The stack of an error shows the code that called the client", async () => {
    const server = serverOf()
    server.resource("test://missing", { name: "missing" }, () => undefined)
    const client = await clientOf(server, revision)
    const program = async () => {
      await client.readResource("test://missing")
    }
    const error = await rejection(program())
    assert.match(error instanceof Error ? (error.stack ?? "") : "", /at (?:async )?program /)
  })

  it("Resources are text, bytes or contents, and templates have typed variables, members and completions", async () => {
    const server = serverOf()
    const users = new Map([["ada", "Ada Lovelace"]])
    server.resource("test://text", { name: "text", mimeType: "text/markdown" }, async () => "# Text")
    server.resource("test://bytes", { name: "bytes" }, () => new Uint8Array([1, 2]))
    server.template(
      "users://{id}/{+rest}",
      {
        name: "user",
        complete: { id: async (value) => [...users.keys()].filter((id) => id.startsWith(value)) },
        list: async () => [{ uri: "users://ada/all", name: "Ada" }]
      },
      async ({ id, rest }, { uri }) => {
        const name = users.get(id)
        return name === undefined ? undefined : [{ uri, text: `${name} ${rest}` }]
      }
    )
    const client = await clientOf(server, revision)
    const read = async (uri: string) => (await client.readResource(uri)).contents
    assert.deepStrictEqual(await read("test://text"), [
      { uri: "test://text", mimeType: "text/markdown", text: "# Text" }
    ])
    assert.deepStrictEqual(await read("test://bytes"), [
      { uri: "test://bytes", mimeType: "application/octet-stream", blob: "AQI=" }
    ])
    assert.deepStrictEqual(await read("users://ada/a/b"), [{ uri: "users://ada/a/b", text: "Ada Lovelace a/b" }])
    const missing = await rejection(client.readResource("users://bob/x"))
    assert.instanceOf(missing, McpError)
    assert.strictEqual(missing.code, revision === "2026-07-28" ? -32602 : -32002)
    assert.deepStrictEqual((await client.complete({ uriTemplate: "users://{id}/{+rest}" }, "id", "a")).values, ["ada"])
    const listed = (await all(client.listResources())).map(({ uri }) => uri)
    assert.deepStrictEqual(listed, ["test://text", "test://bytes", "users://ada/all"])
    const templates = (await all(client.listResourceTemplates())).map(({ uriTemplate }) => uriTemplate)
    assert.deepStrictEqual(templates, ["users://{id}/{+rest}"])
  })

  it("A prompt decodes, lists and completes its arguments", async () => {
    const server = serverOf()
    server.prompt(
      "review",
      {
        description: "Reviews",
        arguments: z.object({ file: z.string().describe("The file"), depth: z.string().transform(Number).optional() }),
        complete: { file: () => ["a.ts", "b.ts"] }
      },
      ({ depth = 0, file }) => [
        { role: "user", content: `Review ${file}` },
        { role: "assistant", content: { type: "text", text: String(depth + 1) } }
      ]
    )
    const client = await clientOf(server, revision)
    const [prompt] = await all(client.listPrompts())
    assert.deepStrictEqual(prompt?.arguments, [
      { name: "file", description: "The file", required: true },
      { name: "depth", required: false }
    ])
    const { messages } = await client.getPrompt("review", { file: "x.ts", depth: "2" })
    assert.deepStrictEqual(messages, [
      { role: "user", content: { type: "text", text: "Review x.ts" } },
      { role: "assistant", content: { type: "text", text: "3" } }
    ])
    const { values } = await client.complete({ prompt: "review" }, "file", "")
    assert.deepStrictEqual(values, ["a.ts", "b.ts"])
    const error = await rejection(client.getPrompt("review", {}))
    assert.instanceOf(error, McpError)
    assert.strictEqual(error.code, -32602)
  })

  it("Progress arrives in order, and the handler can see its request", async () => {
    const server = serverOf()
    server.tool(
      "steps",
      { description: "Steps" },
      async (_, { client, meta, principal, progress, revision, sessionId }) => {
        for (let i = 1; i <= 3; i++) await progress(i, { total: 3, message: `step ${i}` })
        return {
          client: client?.name,
          note: meta["test/note"],
          revision,
          session: sessionId !== undefined,
          subject: principal.subject ?? null
        }
      }
    )
    const client = await clientOf(server, revision, { clientInfo: { name: "tester", version: "1" } })
    const seen: Array<number> = []
    const result = await client.callTool(
      "steps",
      {},
      {
        meta: { "test/note": "hello" },
        onProgress: ({ progress }) => seen.push(progress)
      }
    )
    assert.deepStrictEqual(seen, [1, 2, 3])
    assert.deepStrictEqual(JSON.parse(textOf(result)), {
      client: "tester",
      note: "hello",
      revision,
      session: revision !== "2026-07-28",
      subject: null
    })
  })

  it("A handler's log messages reach the client from its requested level", async () => {
    const server = serverOf()
    server.tool("logs", { description: "Logs" }, (_, { log }) => {
      log.debug("too quiet")
      log.warning({ disk: "full" }, "storage")
    })
    const client = await clientOf(server, revision)
    await client.setLogLevel("info")
    const logs = client.logs()[Symbol.asyncIterator]()
    const first = logs.next()
    await client.callTool("logs")
    const { value } = await first
    assert.deepStrictEqual([value?.level, value?.logger, value?.data], ["warning", "storage", { disk: "full" }])
    await logs.return?.()
  })

  it("A subscriber receives only its resource's updates, and the subscription ends with the iteration", async () => {
    const server = serverOf()
    let text = "one"
    server.resource("test://a", { name: "a" }, () => text)
    server.resource("test://b", { name: "b" }, () => "other")
    const client = await clientOf(server, revision)
    const seen: Array<string> = []
    const updated = gate()
    for await (const uri of client.subscribe("test://a")) {
      seen.push(await client.readText(uri))
      if (text === "two") break
      text = "two"
      server.updated("test://b")
      server.updated("test://a")
      updated.resolve()
    }
    await updated.promise
    assert.deepStrictEqual(seen, ["one", "two"])
  })

  it("Adding and removing features while the server runs changes the list", async () => {
    const server = serverOf({ dynamic: true })
    const client = await clientOf(server, revision)
    const names = async () => (await all(client.listTools())).map(({ name }) => name)
    assert.deepStrictEqual(await names(), [])
    const late = server.tool("late", { description: "Late" }, () => "here")
    assert.deepStrictEqual(await names(), ["late"])
    assert.strictEqual(textOf(await client.callTool("late")), "here")
    await late.remove()
    assert.deepStrictEqual(await names(), [])
    const changes = client.changes("tools")[Symbol.asyncIterator]()
    const seen = { changed: false }
    const first = changes.next().then(() => (seen.changed = true))
    // A change before the subscription is acknowledged (2026-07-28) is not announced.
    while (!seen.changed) {
      await server.tool("often", { description: "Often" }, () => "").remove()
      await client.ping().catch(names)
    }
    await first
    await changes.return?.()
  })
})

describe("Server", () => {
  it("A duplicate name is rejected until the first is removed", async () => {
    const server = serverOf()
    const first = server.tool("a", { description: "A" }, () => "1")
    assert.throws(
      () => server.tool("a", { description: "A" }, () => "2"),
      "Cannot add the tool a: it already exists. Remove the existing one first"
    )
    await first.remove()
    server.tool("a", { description: "A" }, () => "2")
    assert.strictEqual(textOf(await (await clientOf(server, "2025-11-25")).callTool("a")), "2")
  })

  it("Invalid names, URIs, templates and completers are rejected", () => {
    const server = serverOf()
    assert.throws(() => server.tool("not a name", { description: "" }, () => ""), "Invalid tool name")
    assert.throws(() => server.resource("no uri", { name: "x" }, () => ""), "no uri")
    assert.throws(() => server.template("x://{", { name: "x" }, () => ""))
    const complete: any = { stray: () => [] }
    assert.throws(() => server.template("x://{a}", { name: "x", complete }, () => ""), "has no variable stray")
    assert.throws(() => server.prompt("x", { complete }, () => ""), "has no argument stray")
  })

  it("A server serves several clients concurrently and disconnects them when it closes", async () => {
    const server = serverOf()
    server.tool("a", { description: "A" }, () => "1")
    const clients = await Promise.all(revisions.map((revision) => clientOf(server, revision, { reconnect: false })))
    await server.close()
    for (const client of clients) {
      const error = await rejection(client.callTool("a"))
      assert.instanceOf(error, RequestError)
      assert.strictEqual(error.reason, "Closed")
    }
  })
})

it.each(revisions)(
  "An in-memory client calls as its principal and sees only its visible tools (%s)",
  async (revision) => {
    const server = serverOf()
    const visible = ({ scopes }: { readonly scopes: ReadonlyArray<string> }) => scopes.includes("admin")
    server.tool("drop", { description: "Drops all", visible }, (_, { principal }) => `Dropped by ${principal.subject}`)
    server.tool("count", { description: "Counts" }, (_, { principal }) => principal.subject ?? "anonymous")
    const ada = await clientOf(server, revision, { principal: { subject: "ada", scopes: ["admin"] } })
    const bob = await clientOf(server, revision, { principal: { subject: "bob" } })
    const stranger = await clientOf(server, revision)
    const names = async (client: McpClient) => (await all(client.listTools())).map(({ name }) => name)
    assert.deepStrictEqual([await names(ada), await names(bob)], [["drop", "count"], ["count"]])
    assert.strictEqual(textOf(await ada.callTool("drop")), "Dropped by ada")
    assert.strictEqual(textOf(await bob.callTool("count")), "bob")
    assert.strictEqual(textOf(await stranger.callTool("count")), "anonymous")
    assert.instanceOf(await rejection(bob.callTool("drop")), McpError)
  }
)
