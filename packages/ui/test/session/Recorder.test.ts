import { assert, describe, it } from "@effect/vitest"
import { Board } from "../../src/session/Board.ts"
import { masked, WireRecorder } from "../../src/session/Recorder.ts"

const recording = () => {
  let now = 0
  const board = new Board({
    name: { name: "x", words: undefined, url: undefined, hasViews: false },
    revisions: [],
    runs: [],
    settings: { roots: [], replies: [] }
  })
  return { board, recorder: new WireRecorder(board, () => (now += 10)) }
}

describe("WireRecorder", () => {
  it("An answer has the method, the run and the time of its request", () => {
    const { board, recorder } = recording()
    recorder.belongs(4, 1)
    const params = { name: "a", _meta: { progressToken: "t" } }
    recorder.message("client", { jsonrpc: "2.0", id: 1, method: "tools/call", params })
    const progress = { progressToken: "t", progress: 1 }
    recorder.message("server", { jsonrpc: "2.0", method: "notifications/progress", params: progress })
    // The server's own request with the same ID is another one.
    recorder.message("server", { jsonrpc: "2.0", id: 1, method: "roots/list" })
    recorder.message("client", { jsonrpc: "2.0", id: 1, result: { roots: [] } })
    recorder.message("server", [{ jsonrpc: "2.0", id: 1, error: { code: 1, message: "no" } }])
    assert.deepStrictEqual(
      board.state.wire.map(({ from, kind, method, run }) => [from, kind, method, run]),
      [
        ["client", "request", "tools/call", 4],
        ["server", "notification", "notifications/progress", 4],
        ["server", "request", "roots/list", undefined],
        ["client", "result", "roots/list", undefined],
        ["server", "error", "tools/call", 4]
      ]
    )
    assert.isAbove(board.state.wire[4]?.took ?? 0, board.state.wire[3]?.took ?? 0)
  })

  it("Memory for messages is bounded, whatever a server sends", () => {
    const { board, recorder } = recording()
    for (let at = 0; at < 3000; at++) recorder.text("server", "x")
    assert.strictEqual(board.state.wire.length, 2000)
    for (let at = 0; at < 100; at++) recorder.text("server", "y".repeat(1_000_000))
    const kept = board.state.wire.reduce((sum, { text }) => sum + text.length, 0)
    assert.isAtMost(kept, 24 * 1024 * 1024)
    assert.strictEqual(board.state.wire.at(-1)?.bytes, 1_000_000)
  })

  it("Names and logs of a server are cut", () => {
    const { board, recorder } = recording()
    const long = "z".repeat(1_000_000)
    recorder.message("server", { jsonrpc: "2.0", id: long, method: long })
    board.log({ at: 0, source: "log", level: "info", logger: long, text: long })
    const [entry] = board.state.wire
    assert.strictEqual(entry?.method?.length, 201)
    assert.strictEqual(String(entry?.rpcId).length, 201)
    const [log] = board.state.logs
    assert.isAtMost((log?.text.length ?? 0) + (log?.logger?.length ?? 0), 10_000)
  })

  it("A message that is nested too deeply is recorded", () => {
    const { board, recorder } = recording()
    const depth = 20_000
    recorder.message("server", JSON.parse(`{"jsonrpc":"2.0","id":1,"result":${"[".repeat(depth)}${"]".repeat(depth)}}`))
    assert.strictEqual(board.state.wire[0]?.kind, "result")
  })

  it("A finding from an earlier connection is not added again", () => {
    const { board } = recording()
    const finding = { key: "k", rule: "r", level: "MUST", text: "", detail: "", at: 0 }
    board.finding({ ...finding, revision: "2025-11-25" })
    board.finding({ ...finding, revision: "2025-11-25", at: 1 })
    board.finding({ ...finding, revision: "2025-06-18" })
    assert.strictEqual(board.state.findings.length, 2)
  })

  it("Secrets in headers are masked", () => {
    const given = {
      Authorization: "Bearer abc",
      cookie: "a=b",
      "X-Api-Key": "k",
      "x-auth": "p",
      "x-password": "p",
      "www-authenticate": 'Bearer resource_metadata="https://a"',
      "mcp-session-id": "s"
    }
    assert.deepStrictEqual(masked(Object.entries(given)), {
      Authorization: "Bearer •••",
      cookie: "•••",
      "X-Api-Key": "•••",
      "x-auth": "•••",
      "x-password": "•••",
      "www-authenticate": 'Bearer resource_metadata="https://a"',
      "mcp-session-id": "s"
    })
  })
})
