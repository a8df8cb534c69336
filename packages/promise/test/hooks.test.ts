/** Hooks: code before and after every request of a server. */
import { McpError, type RequestOutcome } from "@effect-mcp/promise"
import { assert, describe, it } from "@effect/vitest"
import { clientOf, gate, rejection, revisions, serverOf, textOf } from "./support/revisions.ts"

const calls = (method: string): boolean => method === "tools/call"

describe.each(revisions)("Hooks in %s", (revision) => {
  it("A hook that throws before a request answers it, and the handler does not run", async () => {
    const errors: Array<unknown> = []
    const server = serverOf({ onError: (error, place) => errors.push([error, place]) })
    let called = 0
    server.tool("reset", { description: "Resets" }, () => void called++)
    const refusal = new McpError(-32600, "Log in first", { login: true })
    const { remove } = server.use({
      before: async ({ method, params }) => {
        if (calls(method) && params["name"] === "reset") throw refusal
      }
    })
    const client = await clientOf(server, revision)
    assert.deepStrictEqual(await rejection(client.callTool("reset")), refusal)
    assert.deepStrictEqual(errors, [[refusal, { kind: "hook", name: "tools/call" }]])
    assert.strictEqual(called, 0)
    await remove()
    await client.callTool("reset")
    assert.strictEqual(called, 1)
  })

  it("Hooks see how each request ended, and the first hook is the outermost", async () => {
    const server = serverOf()
    const seen: Array<string> = []
    const note = (name: string) => ({
      before: ({ method }: { readonly method: string }) => {
        if (calls(method)) seen.push(`${name} before`)
      },
      after: ({ method }: { readonly method: string }, { kind }: RequestOutcome) => {
        if (calls(method)) seen.push(`${name} ${kind}`)
      }
    })
    server.use(note("outer"))
    server.use(note("inner"))
    server.tool("good", { description: "Good" }, () => "good")
    server.tool("bad", { description: "Bad" }, () => {
      throw new Error("bad")
    })
    server.tool("error", { description: "Error" }, () => {
      throw new McpError(-32600, "no")
    })
    const client = await clientOf(server, revision)
    await client.callTool("good")
    await client.callTool("bad")
    await rejection(client.callTool("error"))
    const around = (kind: string) => ["outer before", "inner before", `inner ${kind}`, `outer ${kind}`]
    assert.deepStrictEqual(seen, ["answered", "toolFailed", "failed"].flatMap(around))
  })

  it("A hook added first to a running server wraps the next request", async () => {
    const server = serverOf()
    let called = 0
    server.tool("reset", { description: "Resets" }, () => void called++)
    const client = await clientOf(server, revision)
    const refusal = new McpError(-32600, "Log in first")
    const { remove } = server.use({
      before: ({ method }) => {
        if (calls(method)) throw refusal
      }
    })
    assert.deepStrictEqual(await rejection(client.callTool("reset")), refusal)
    await remove()
    await client.callTool("reset")
    assert.strictEqual(called, 1)
  })

  it("A hook sees a cancelled request", async () => {
    const server = serverOf()
    const started = gate()
    const ended = gate<string>()
    server.use({
      after: ({ method }, { kind }) => {
        if (calls(method)) ended.resolve(kind)
      }
    })
    server.tool("wait", { description: "Waits" }, (_, { signal }) => {
      started.resolve()
      return new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()))
    })
    const client = await clientOf(server, revision)
    const controller = new AbortController()
    const call = rejection(client.callTool("wait", {}, { signal: controller.signal }))
    await started.promise
    controller.abort()
    await call
    assert.strictEqual(await ended.promise, "cancelled")
  })

  it("An error in a hook after a request goes to onError without changing the answer", async () => {
    const errors: Array<unknown> = []
    const server = serverOf({ onError: (error) => errors.push(error) })
    const mistake = new Error("a mistake of the hook")
    server.use({
      after: ({ method }) => {
        if (calls(method)) throw mistake
      }
    })
    server.tool("good", { description: "Good" }, () => "good")
    const client = await clientOf(server, revision)
    assert.strictEqual(textOf(await client.callTool("good")), "good")
    assert.deepStrictEqual(errors, [mistake])
  })
})

it("A hook in 2026-07-28 sees a round with a question as asked, and the last round as answered", async () => {
  const server = serverOf()
  const seen: Array<string> = []
  server.use({
    after: ({ method }, { kind }) => {
      if (calls(method)) seen.push(kind)
    }
  })
  server.tool("ask", { description: "Asks" }, async (_, { ask }) => {
    await ask("Go on?")
    return "done"
  })
  const client = await clientOf(server, "2026-07-28", {
    elicitation: { form: () => ({ action: "accept", content: {} }) }
  })
  assert.strictEqual(textOf(await client.callTool("ask")), "done")
  assert.deepStrictEqual(seen, ["asked", "answered"])
})
