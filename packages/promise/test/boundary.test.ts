/** Callbacks that throw, reject, never settle or return nonsense: the server survives, and the caller gets an answer. */
import { McpError, type McpServer, type ServerOptions } from "@effect-mcp/promise"
import { assert, describe, it } from "@effect/vitest"
import { z } from "zod"
import { boom, fatal, quiet } from "./support/fatal.ts"
import { all, clientOf, gate, rejection, serverOf, textOf } from "./support/revisions.ts"

const revision = "2025-11-25"

/** Thrown values that cannot be read. */
const unreadable: { readonly [kind: string]: () => unknown } = {
  "an error whose message throws": () => Object.defineProperty(new Error(), "message", { get: boom }),
  "an McpError whose data throws": () => Object.defineProperty(new McpError(-32000, "no"), "data", { get: boom }),
  "a proxy that throws": () => new Proxy({}, { getPrototypeOf: boom, get: boom, has: boom, ownKeys: boom }),
  "an object whose toString throws": () => ({ toString: boom, [Symbol.toPrimitive]: boom }),
  undefined: () => undefined,
  "a symbol": () => Symbol("boom")
}

const form = z.object({ name: z.string() })
const elicitation = { form: () => ({ action: "decline" as const }) }

describe.each(Object.keys(unreadable))("A handler that throws %s", (kind) => {
  const thrown = (): never => {
    throw unreadable[kind]?.()
  }
  const later = async () => thrown()
  it("An unreadable thrown value is answered, and the server survives", async () => {
    const unhandled = fatal()
    const server = serverOf({ onError: () => {} })
    for (const [name, handler] of Object.entries({ now: thrown, later })) {
      server.tool(name, { description: "Throws" }, handler)
      server.resource(`x://${name}`, { name }, handler)
      server.prompt(name, { arguments: form, complete: { name: handler } }, handler)
    }
    const client = await clientOf(server, revision)
    for (const name of ["now", "later"]) {
      const result = await client.callTool(name).catch((error: unknown) => error)
      assert.isTrue(
        result instanceof McpError || (typeof result === "object" && result !== null && "isError" in result)
      )
      assert.instanceOf(await rejection(client.readResource(`x://${name}`)), McpError)
      assert.instanceOf(await rejection(client.getPrompt(name, { name: "a" })), McpError)
      assert.instanceOf(await rejection(client.complete({ prompt: name }, "name", "a")), McpError)
    }
    assert.lengthOf(await all(client.listTools()), 2)
    assert.deepStrictEqual(await unhandled(), [])
  })
})

describe.each<[string, NonNullable<ServerOptions["onError"]>]>([
  ["throws", boom],
  ["rejects", async () => boom()]
])("An onError that %s", (_, onError) => {
  it("A failing onError prints a line on stderr and affects no answer", async () => {
    const lines = quiet()
    const unhandled = fatal()
    const server = serverOf({ onError })
    server.tool("now", { description: "Throws" }, () => {
      throw new Error("now")
    })
    server.tool("later", { description: "Rejects" }, async () => {
      throw new Error("later")
    })
    server.prompt("p", { arguments: form, complete: { name: boom } }, () => "text")
    server.use({ after: boom })
    const client = await clientOf(server, revision)
    assert.strictEqual(textOf(await client.callTool("now")), "now")
    assert.strictEqual(textOf(await client.callTool("later")), "later")
    assert.instanceOf(await rejection(client.complete({ prompt: "p" }, "name", "a")), McpError)
    assert.deepStrictEqual(await unhandled(), [])
    assert.include(lines.join(), "The server's onError callback threw an error: boom")
  })
})

describe("Misbehaving visible functions", () => {
  const cases: ReadonlyArray<[string, () => unknown]> = [
    ["throws", boom],
    ["rejects", async () => boom()],
    ["resolves to false", async () => false],
    ["returns nothing", () => undefined]
  ]
  it.each(cases)("A feature whose visible %s is hidden, and onError is called", async (_, visible) => {
    const unhandled = fatal()
    const errors: Array<unknown> = []
    const server = serverOf({ onError: (error) => errors.push(error) })
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what plain JavaScript may return
    const hidden = { visible: visible as () => boolean }
    server.tool("shown", { description: "Shown" }, () => "")
    server.tool("tool", { description: "Hidden", ...hidden }, () => "")
    server.resource("x://hidden", { name: "hidden", ...hidden }, () => "")
    server.template("x://hidden/{id}", { name: "hidden", ...hidden }, () => "")
    server.prompt("prompt", { ...hidden }, () => "")
    const client = await clientOf(server, revision)
    assert.deepStrictEqual(
      (await all(client.listTools())).map(({ name }) => name),
      ["shown"]
    )
    assert.deepStrictEqual(await all(client.listResources()), [])
    assert.deepStrictEqual(await all(client.listResourceTemplates()), [])
    assert.deepStrictEqual(await all(client.listPrompts()), [])
    assert.instanceOf(await rejection(client.callTool("tool")), McpError)
    assert.instanceOf(errors[0], Error)
    assert.deepStrictEqual(await unhandled(), [])
  })
})

describe("Promises that a handler does not await", () => {
  it("An unawaited question or step can fail after its request", async () => {
    const unhandled = fatal()
    const server = serverOf()
    server.tool("floating", { description: "Floats" }, (_, { ask, once, progress, roots, sample }) => {
      void ask("Go on?")
      void ask.url("Look", "https://example.com")
      void ask("Which?", form)
      void once("step", boom)
      void sample("Hello")
      void roots()
      void progress(Number.NaN)
      return "done"
    })
    const client = await clientOf(server, revision, { elicitation })
    assert.strictEqual(textOf(await client.callTool("floating")), "done")
    assert.deepStrictEqual(await unhandled(), [])
  })
})

describe("Values that JSON cannot represent", () => {
  const circular: { self?: unknown } = {}
  circular.self = circular
  it.each<[string, unknown]>([
    ["a BigInt", 1n],
    ["a cycle", circular],
    ["a throwing getter", Object.defineProperty({}, "x", { get: boom, enumerable: true })],
    [
      "a throwing block",
      {
        type: "text",
        get text() {
          return boom()
        }
      }
    ],
    ["a function", () => 1]
  ])("A handler that returns %s is answered, and the next call works", async (_, value) => {
    const unhandled = fatal()
    const server = serverOf()
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what plain JavaScript may return
    const handler = () => value as string
    server.tool("tool", { description: "Tool" }, handler)
    server.tool("error", { description: "Error" }, () => {
      throw new McpError(-32000, "no", value)
    })
    server.tool("log", { description: "Log" }, async (_, { log, progress }) => {
      log.error(value)
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what plain JavaScript may pass
      await progress(value as number, { message: value as string })
      return "logged"
    })
    server.resource("x://r", { name: "r" }, handler)
    server.prompt("p", {}, handler)
    server.tool("ok", { description: "Works" }, () => "ok")
    const client = await clientOf(server, revision)
    const settled = (promise: Promise<unknown>) => promise.catch((error: unknown) => error)
    await settled(client.callTool("tool"))
    await settled(client.callTool("error"))
    await settled(client.callTool("log", {}, { onProgress: () => {} }))
    await settled(client.readResource("x://r"))
    await settled(client.getPrompt("p"))
    assert.strictEqual(textOf(await client.callTool("ok")), "ok")
    assert.deepStrictEqual(await unhandled(), [])
  })
})

describe("Hook callbacks", () => {
  it("A rejecting hook after a request is reported to onError without other effect", async () => {
    const unhandled = fatal()
    const told = gate<unknown>()
    const server = serverOf({ onError: (error) => told.resolve(error) })
    // oxlint-disable-next-line typescript/no-misused-promises -- an async function has the type of a hook
    server.use({ after: async () => boom() })
    server.tool("ok", { description: "Works" }, () => "ok")
    const client = await clientOf(server, revision)
    assert.strictEqual(textOf(await client.callTool("ok")), "ok")
    assert.propertyVal(await told.promise, "message", "boom")
    assert.deepStrictEqual(await unhandled(), [])
  })
})

describe("Client callbacks", () => {
  const asking = (): McpServer => {
    const server = serverOf()
    server.tool("ask", { description: "Asks" }, async (_, { ask, progress, roots, sample }) => {
      await progress(1)
      const outcomes = await Promise.allSettled([ask("Name?", form), sample("Hello"), roots()])
      return outcomes.map(({ status }) => status).join()
    })
    return server
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what plain JavaScript may return
  const nonsense = <A>(value: unknown) => (() => value) as () => A
  it.each<[string, () => never]>([
    ["throw", boom],
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an async function where a plain one is expected
    ["reject", (async () => boom()) as unknown as () => never],
    ["return undefined", nonsense<never>(undefined)],
    ["return a number", nonsense<never>(1)]
  ])("Client callbacks that %s fail only their own question", async (_, callback) => {
    quiet()
    const unhandled = fatal()
    const client = await clientOf(asking(), revision, {
      elicitation: { form: callback },
      sampling: callback,
      roots: callback
    })
    const result = await client.callTool("ask", {}, { onProgress: callback })
    assert.strictEqual(textOf(result), "rejected,rejected,rejected")
    assert.strictEqual(textOf(await client.callTool("ask")), "rejected,rejected,rejected")
    assert.deepStrictEqual(await unhandled(), [])
  })
})
