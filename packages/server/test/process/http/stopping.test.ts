/** SIGTERM stops a single server over HTTP. */
import * as McpError from "@effect-mcp/protocol/McpError"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

const program = fileURLToPath(new URL("../../support/http-program.ts", import.meta.url))

/** A running program, with a session and its standalone stream. */
const started = (drain: number) =>
  Effect.gen(function* () {
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => spawn(process.execPath, [program, `${drain}`], { stdio: ["ignore", "pipe", "inherit"] })),
      (child) => Effect.sync(() => void child.kill("SIGKILL"))
    )
    const exited = once(child, "exit")
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const line = async () => (await lines.next()).value as string
    const url = yield* Effect.promise(line)
    const headers: Record<string, string> = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream"
    }
    const post = (method: string, params: object, id: number) =>
      fetch(`${url}/mcp`, { method: "POST", headers, body: JSON.stringify({ jsonrpc: "2.0", id, method, params }) })
    const initialize = (id: number) =>
      post(
        "initialize",
        { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
        id
      )
    const opened = yield* Effect.promise(() => initialize(0))
    headers["mcp-session-id"] = opened.headers.get("mcp-session-id") ?? ""
    headers["mcp-protocol-version"] = "2025-06-18"
    const stream = yield* Effect.promise(() => fetch(`${url}/mcp`, { headers }))
    const call = (id: number) => post("tools/call", { name: "wait", arguments: {} }, id)
    const begun = call(1)
    assert.strictEqual(yield* Effect.promise(line), "begun")
    child.kill("SIGTERM")
    return { begun, call, exited, initialize, stream, go: () => fetch(`${url}/go`) }
  })

/** The message of a response: its JSON, or its last event. */
const messageOf = async (response: Response): Promise<any> => {
  const text = await response.text()
  return JSON.parse(text.startsWith("{") ? text : (text.split("data: ").at(-1) ?? ""))
}

describe("A standalone server that receives SIGTERM", () => {
  it.live("SIGTERM answers a running call, rejects new ones as not started, and exits with 0", () =>
    Effect.gen(function* () {
      const { begun, call, exited, go, initialize, stream } = yield* started(30_000)
      yield* Effect.promise(async () => {
        // The shutdown has started when the stream ends without an error.
        assert.strictEqual(stream.status, 200)
        assert.notInclude(await stream.text(), "data: {")
        for (const refused of [await call(2), await initialize(3)]) {
          assert.strictEqual(refused.status, 503)
          const { error } = await messageOf(refused)
          assert.strictEqual(error.code, McpError.Interrupted)
          assert.match(error.message, /did not start the request\. Send it again/)
        }
        assert.strictEqual((await go()).status, 200)
        assert.strictEqual((await messageOf(await begun)).result.content[0].text, "done")
        assert.deepStrictEqual(await exited, [0, null])
      })
    })
  )

  it.live("SIGTERM answers a call that outlasts the drain with an error, and exits with 0", () =>
    Effect.gen(function* () {
      const { begun, exited } = yield* started(100)
      yield* Effect.promise(async () => {
        const { error, id } = await messageOf(await begun)
        assert.deepStrictEqual([id, error.code], [1, McpError.Interrupted])
        assert.notMatch(error.message, /did not start/)
        assert.deepStrictEqual(await exited, [0, null])
      })
    })
  )
})
