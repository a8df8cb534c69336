/** Handlers that are cancelled, run out of time, or outlive their server. */
import { RequestError } from "@effect-mcp/promise"
import { assert, describe, it } from "@effect/vitest"
import { all, clientOf, gate, rejection, revisions, serverOf, textOf } from "./support/revisions.ts"

/** A promise that rejects when the signal aborts. */
const untilAborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))

describe.each(revisions)("Cancellation in %s", (revision) => {
  it("Cancelling aborts the handler's signal with the reason and rejects the call with it", async () => {
    const server = serverOf()
    const started = gate()
    const reasons: Array<unknown> = []
    server.tool("wait", { description: "Waits" }, async (_, { signal }) => {
      started.resolve()
      return untilAborted(signal).catch((reason: unknown) => {
        reasons.push(reason)
        throw reason
      })
    })
    const { remove } = server.tool("other", { description: "Other" }, () => "still here")
    const client = await clientOf(server, revision)
    const controller = new AbortController()
    const call = client.callTool("wait", {}, { signal: controller.signal })
    await started.promise
    const why = new Error("The user has gone")
    controller.abort(why)
    assert.strictEqual(await rejection(call), why)
    assert.strictEqual(textOf(await client.callTool("other")), "still here")
    await remove()
    assert.deepStrictEqual(
      reasons.map((reason) => reason instanceof DOMException && [reason.name, reason.message]),
      [["AbortError", "The user has gone"]]
    )
  })

  it("A call that reaches its time limit aborts the signal with a TimeoutError", async () => {
    const server = serverOf()
    const reasons: Array<unknown> = []
    server.tool("wait", { description: "Waits", limits: { time: 1 } }, (_, { signal }) =>
      untilAborted(signal).catch((reason: unknown) => {
        reasons.push(reason)
        throw reason
      })
    )
    const client = await clientOf(server, revision)
    assert.isTrue((await client.callTool("wait")).isError)
    assert.deepStrictEqual(
      reasons.map((reason) => reason instanceof DOMException && [reason.name, reason.message]),
      [["TimeoutError", "The call has reached its time limit"]]
    )
  })

  it("An already aborted signal sends no request", async () => {
    const server = serverOf()
    let called = false
    server.tool("call", { description: "Notes its call" }, () => {
      called = true
    })
    const client = await clientOf(server, revision)
    await rejection(client.callTool("call", {}, { signal: AbortSignal.abort() }))
    await all(client.listTools())
    assert.isFalse(called)
  })

  it("A cancelled request lasts until its handler has cleaned up", async () => {
    const server = serverOf({ cancelGrace: 1e6 })
    const started = gate()
    const cleanUp = gate()
    const seen: Array<string> = []
    const { remove } = server.tool("wait", { description: "Waits" }, async (_, { signal }) => {
      started.resolve()
      await untilAborted(signal).catch(() => cleanUp.promise)
      seen.push("cleaned up")
    })
    const client = await clientOf(server, revision)
    const controller = new AbortController()
    const call = rejection(client.callTool("wait", {}, { signal: controller.signal }))
    await started.promise
    controller.abort()
    await call
    // A removal waits for the requests in flight.
    const removed = remove().then(() => seen.push("removed"))
    await rejection(client.readResource("no:resource"))
    cleanUp.resolve()
    await removed
    assert.deepStrictEqual(seen, ["cleaned up", "removed"])
  })

  it("A handler that ignores its signal is abandoned: its result and questions have no effect", async () => {
    const errors: Array<unknown> = []
    const server = serverOf({ cancelGrace: 0, onError: (error) => errors.push(error) })
    const started = gate()
    const go = gate()
    const end = gate<unknown>()
    const { remove } = server.tool("ignore", { description: "Ignores" }, async (_, { log, progress, roots }) => {
      started.resolve()
      await go.promise
      await progress(1)
      log.info("too late")
      end.resolve(await roots().catch((error: unknown) => error))
      throw new Error("too late")
    })
    const client = await clientOf(server, revision, { roots: [] })
    const controller = new AbortController()
    const call = rejection(client.callTool("ignore", {}, { signal: controller.signal }))
    await started.promise
    controller.abort()
    await call
    await remove()
    go.resolve()
    assert.propertyVal(await end.promise, "name", "AbortError")
    assert.deepStrictEqual(errors, [])
  })

  it("A tool's time limit aborts its signal, and the model is told why there is no result", async () => {
    const server = serverOf()
    const limits = { time: 1 }
    server.tool("slow", { description: "Slow", limits }, (_, { signal }) => untilAborted(signal))
    const client = await clientOf(server, revision)
    const result = await client.callTool("slow")
    assert.isTrue(result.isError)
    assert.include(textOf(result), "exceeded its time limit")
  })

  it("Closing a server without `drain` aborts its handlers and waits for them", async () => {
    const server = serverOf({ drain: 0 })
    const started = gate()
    const seen: Array<string> = []
    server.tool("wait", { description: "Waits" }, async (_, { signal }) => {
      started.resolve()
      await untilAborted(signal).catch(() => undefined)
      seen.push("handler")
    })
    const client = await clientOf(server, revision, { reconnect: false })
    const call = rejection(client.callTool("wait"))
    await started.promise
    await server.close()
    seen.push("server")
    assert.deepStrictEqual(seen, ["handler", "server"])
    assert.isTrue((await call) instanceof Error)
  })

  it("Closing a client fails its calls and ends its iterations", async () => {
    const server = serverOf()
    const started = gate()
    server.tool("wait", { description: "Waits" }, (_, { signal }) => {
      started.resolve()
      return untilAborted(signal)
    })
    const client = await clientOf(server, revision)
    const call = rejection(client.callTool("wait"))
    await started.promise
    const logs = all(client.logs())
    await client.close()
    const error = await call
    assert.instanceOf(error, RequestError)
    assert.strictEqual(error.reason, "Closed")
    assert.deepStrictEqual(await logs, [])
  })
})
