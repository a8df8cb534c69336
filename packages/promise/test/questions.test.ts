/** Handlers' questions to the user, the model and the host in every revision, and how rounds run handlers again. */
import { type ConnectOptions, McpError, RequestError } from "@effect-mcp/promise"
import { assert, describe, it } from "@effect/vitest"
import { z } from "zod"
import { clientOf, gate, rejection, revisions, serverOf, textOf } from "./support/revisions.ts"

const Pizza = z.object({
  size: z.enum(["small", "large"]).describe("How large"),
  note: z.string().optional(),
  slices: z.int().min(1).max(12).default(8),
  spicy: z.boolean()
})

const accepting = (content: { readonly [name: string]: string | number | boolean }): ConnectOptions => ({
  elicitation: { form: () => ({ action: "accept", content }) }
})

describe.each(revisions.filter((revision) => revision >= "2025-06-18"))("Questions in %s", (revision) => {
  it("A form shows its schema's fields, and the schema decodes the answer", async () => {
    const server = serverOf()
    server.tool("order", { description: "Orders" }, async (_, { ask }) => {
      const pizza = await ask("Which pizza?", Pizza)
      return pizza
    })
    const shown: Array<unknown> = []
    const client = await clientOf(server, revision, {
      elicitation: {
        form: ({ message, requestedSchema }, { server }) => {
          shown.push([message, requestedSchema.required, requestedSchema.properties["size"], server?.name])
          return { action: "accept", content: { size: "large", spicy: true, slices: 4 } }
        }
      }
    })
    assert.deepStrictEqual(JSON.parse(textOf(await client.callTool("order"))), {
      size: "large",
      slices: 4,
      spicy: true
    })
    assert.deepStrictEqual(shown, [
      [
        "Which pizza?",
        ["size", "spicy"],
        { type: "string", description: "How large", enum: ["small", "large"] },
        "test"
      ]
    ])
  })

  it.each(["decline", "cancel"] as const)("A user who answers with %s rejects the question", async (action) => {
    const server = serverOf()
    server.tool("caught", { description: "Catches" }, async (_, { ask }) => {
      const error = await ask("Sure?").catch((error: unknown) => error)
      return error instanceof RequestError ? error.reason : "accepted"
    })
    server.tool("uncaught", { description: "Does not catch" }, async (_, { ask }) => ask("Sure?"))
    const client = await clientOf(server, revision, { elicitation: { form: () => ({ action }) } })
    assert.strictEqual(textOf(await client.callTool("caught")), "Declined")
    const { content, isError } = await client.callTool("uncaught")
    assert.isTrue(isError)
    assert.include(JSON.stringify(content), "The user")
  })

  it("Concurrent questions are sent together, and keys tell identical ones apart", async () => {
    const server = serverOf()
    server.tool("both", { description: "Asks twice at once" }, async (_, { ask }) => {
      const form = z.object({ n: z.number() })
      const [a, b] = await Promise.all([ask("A number", form, { key: "a" }), ask("A number", form, { key: "b" })])
      return String(a.n + b.n)
    })
    const client = await clientOf(server, revision, accepting({ n: 21 }))
    assert.strictEqual(textOf(await client.callTool("both")), "42")
  })

  it("A step runs once, and its value is converted to JSON", async () => {
    const server = serverOf()
    let booked = 0
    server.tool("book", { description: "Books" }, async (_, { ask, once }) => {
      const seat = await once("seat", async () => ({ number: ++booked, at: new Date(0), none: undefined }))
      await ask(`Book seat ${seat.number}?`)
      const { at }: { at: string } = seat
      return `${seat.number} ${at} ${Object.keys(seat).length}`
    })
    const client = await clientOf(server, revision, accepting({}))
    assert.strictEqual(textOf(await client.callTool("book")), "1 1970-01-01T00:00:00.000Z 2")
    assert.strictEqual(booked, 1)
  })

  it("A failed step rejects with the thrown error", async () => {
    const server = serverOf()
    server.tool("fail", { description: "Fails" }, (_, { once }) =>
      once("step", () => Promise.reject(new Error("No seat")))
    )
    const client = await clientOf(server, revision)
    assert.strictEqual(textOf(await client.callTool("fail")), "No seat")
  })

  it("Code before a question runs once per round, and code after it only with the answer", async () => {
    const server = serverOf()
    const seen: Array<string> = []
    const signals: Array<AbortSignal> = []
    server.tool("ask", { description: "Asks" }, async (_, { ask, signal }) => {
      signals.push(signal)
      seen.push("before")
      try {
        await ask("Sure?")
        seen.push("answered")
      } catch {
        seen.push("caught")
      } finally {
        seen.push("finally")
      }
      return "done"
    })
    const client = await clientOf(server, revision, accepting({}))
    await client.callTool("ask")
    const rounds = revision === "2026-07-28" ? 2 : 1
    assert.deepStrictEqual(seen, [...Array.from({ length: rounds }, () => "before"), "answered", "finally"])
    // The signal of a round without its answer aborts.
    assert.deepStrictEqual(
      signals.map(({ aborted }) => aborted),
      rounds === 2 ? [true, false] : [false]
    )
  })

  it("A form that no client can show fails with an error that names the field", async () => {
    const server = serverOf()
    server.tool("nested", { description: "Asks" }, (_, { ask }) => ask("What?", z.object({ in: z.object({}) })))
    const client = await clientOf(server, revision, accepting({}))
    assert.include(textOf(await client.callTool("nested")), 'Field "in" is an object')
  })

  it("Prompts and resources can ask the user as tools do", async () => {
    const server = serverOf()
    server.prompt("ask", {}, async (_, { ask }) => (await ask("Name?", z.object({ name: z.string() }))).name)
    server.resource(
      "test://ask",
      { name: "ask" },
      async (_, { ask }) => (await ask("Name?", z.object({ name: z.string() }))).name
    )
    const client = await clientOf(server, revision, accepting({ name: "Ada" }))
    assert.strictEqual(await client.readText("test://ask"), "Ada")
    assert.include(JSON.stringify(await client.getPrompt("ask")), "Ada")
  })
})

describe.each(revisions.filter((revision) => revision >= "2025-11-25"))("URLs in %s", (revision) => {
  it("A URL is offered to the user, whose consent resolves the question", async () => {
    const server = serverOf()
    server.tool("login", { description: "Logs in" }, async (_, { ask }) => {
      const id = await ask.url("Connect your account", new URL("https://example.com/connect"))
      return id === "" ? "no id" : "connected"
    })
    const seen: Array<string> = []
    const client = await clientOf(server, revision, {
      elicitation: {
        url: ({ message, url }) => {
          seen.push(message, url)
          return { action: "accept" }
        }
      }
    })
    assert.strictEqual(textOf(await client.callTool("login")), "connected")
    // In rounds the handler makes a new id each time, but the user is asked once.
    assert.deepStrictEqual(seen.slice(0, 2), ["Connect your account", "https://example.com/connect"])
  })
})

describe.each(revisions)("Model and roots in %s", (revision) => {
  it("A handler can ask for the client's model and roots", async () => {
    const server = serverOf()
    server.tool("ask", { description: "Asks" }, async (_, { roots, sample }) => {
      const { content, text } = await sample("Summarize")
      const { model } = await sample({
        messages: [{ role: "user", content: { type: "text", text: "Hi" } }],
        maxTokens: 5
      })
      const folders = await roots()
      return `${JSON.stringify(content)} ${text} ${model} ${folders.map(({ uri }) => uri).join()}`
    })
    const tokens: Array<number> = []
    const client = await clientOf(server, revision, {
      roots: async () => [{ uri: "file:///work" }],
      sampling: async ({ maxTokens }) => {
        tokens.push(maxTokens)
        return { role: "assistant", content: { type: "text", text: "Short" }, model: "double" }
      }
    })
    assert.strictEqual(textOf(await client.callTool("ask")), '{"type":"text","text":"Short"} Short double file:///work')
    assert.deepStrictEqual(tokens, [1024, 5])
  })

  it("A question to a client without the capability rejects, or is answered as the revision requires", async () => {
    const server = serverOf()
    server.tool("caught", { description: "Asks" }, async (_, { roots }) => {
      const error = await roots().catch((error: unknown) => error)
      return error instanceof RequestError ? error.reason : "answered"
    })
    server.tool("uncaught", { description: "Asks" }, async (_, { roots }) => (await roots()).length)
    const client = await clientOf(server, revision)
    assert.strictEqual(textOf(await client.callTool("caught")), "CapabilityMissing")
    const outcome = await client.callTool("uncaught").catch((error: unknown) => error)
    if (revision === "2026-07-28") {
      assert.instanceOf(outcome, McpError)
      assert.strictEqual(outcome.code, -32021)
    } else assert.propertyVal(outcome, "isError", true)
  })

  it("A failed answer fails its question", async () => {
    const server = serverOf()
    server.tool("ask", { description: "Asks" }, async (_, { sample }) => {
      const error = await sample("Hi").catch((error: unknown) => error)
      return error instanceof Error ? error.message : "answered"
    })
    const client = await clientOf(server, revision, {
      sampling: () => Promise.reject(new McpError(-32603, "The model is busy"))
    })
    const outcome = await client.callTool("ask").then(textOf, (error: unknown) => String(error))
    assert.include(outcome, "The model is busy")
  })

  it("A question beyond the client's limits fails without calling the answer function", async () => {
    const server = serverOf()
    server.tool("ask", { description: "Asks" }, async (_, { sample }) => {
      const first = await sample("Hi", { key: "first" })
      const error = await sample("Hi", { key: "second" }).catch((error: unknown) => error)
      return `${first.text} ${error instanceof Error ? error.message : ""}`
    })
    let asked = 0
    const client = await clientOf(server, revision, {
      questionLimits: { sampling: { requests: 1, per: 3_600_000 } },
      sampling: () => ({ role: "assistant", model: "m", content: { type: "text", text: `Answer ${++asked}` } })
    })
    // In 2026-07-28 the limit ends the call, because nobody else could answer the round.
    const text = await client.callTool("ask").then(textOf, String)
    assert.include(text, "Too many requests: the server may send 1 sampling/createMessage requests")
    assert.strictEqual(asked, 1)
  })

  it("A question rejects once its handler's request is over", async () => {
    const server = serverOf()
    const later = gate<() => Promise<unknown>>()
    server.tool("end", { description: "Ends" }, (_, { roots }) => {
      later.resolve(roots)
      return "ended"
    })
    const client = await clientOf(server, revision, { roots: [] })
    await client.callTool("end")
    const error = await rejection((await later.promise)())
    assert.propertyVal(error, "name", "AbortError")
  })
})
