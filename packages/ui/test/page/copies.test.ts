import { assert, describe, it } from "@effect/vitest"
import type { UserRun, WireEntry } from "../../src/messages/Events.ts"
import { asCommand, asCurl, asTest } from "../../src/page/copies.ts"

const run: UserRun = {
  id: 1,
  kind: "tool",
  name: "order",
  input: { title: "Emma's; rm -rf $HOME", copies: 2 },
  asTask: false,
  revision: "2025-11-25",
  startedAt: 0,
  status: "done",
  progress: [],
  tasks: [],
  result: { content: [{ type: "text", text: "Ordered" }] }
}
const server = { name: "node server.js", words: ["node", "my server.js"], url: undefined, hasViews: false }

describe("Copies of a run", () => {
  it("A command quotes every argument for the shell", () => {
    assert.strictEqual(
      asCommand(run, server),
      `effect-mcp call order 'title:="Emma'\\''s; rm -rf $HOME"' copies:=2 --revision 2025-11-25 -- node 'my server.js'`
    )
  })

  it("A command makes control characters and changes of direction visible", () => {
    assert.strictEqual(
      asCommand({ ...run, kind: "resource", name: "a:\u001b[201~it's\u202e\n" }, server),
      `effect-mcp read $'a:\\u001b[201~it\\'s\\u202e\\u000a' --revision 2025-11-25 -- node 'my server.js'`
    )
  })

  it("A command never has a server's names as flags", () => {
    assert.isUndefined(asCommand({ ...run, name: "--header=x" }, server))
    assert.isUndefined(asCommand({ ...run, kind: "prompt", input: { "--config": "x" } }, server))
    assert.strictEqual(
      asCommand({ ...run, input: { "--config": "it's" } }, server),
      `effect-mcp call order --args='{"--config":"it'\\''s"}' --revision 2025-11-25 -- node 'my server.js'`
    )
  })

  it("A test repeats the call and expects its content", () => {
    const test = asTest(run)
    assert.include(test, 'McpTest.connect(features, "2025-11-25")')
    assert.include(test, 'client.callToolByName("order", {\n      "title": "Emma\'s; rm -rf $HOME"')
    assert.include(test, "assert.deepStrictEqual(result.content, [")
  })

  it("A curl command has the headers and the body of a message over HTTP", () => {
    const entry: WireEntry = {
      id: 1,
      at: 0,
      from: "client",
      kind: "request",
      bytes: 2,
      text: `{"a":"it's"}`,
      http: {
        method: "POST",
        url: "https://example.com/mcp?a=1",
        headers: { accept: "text/event-stream", "content-length": "9" }
      }
    }
    assert.strictEqual(
      asCurl(entry),
      `curl -N -X POST 'https://example.com/mcp?a=1' \\\n  -H 'accept: text/event-stream' \\\n  --data-raw '{"a":"it'\\''s"}'`
    )
    assert.isUndefined(asCurl({ ...entry, from: "server" }))
  })
})
