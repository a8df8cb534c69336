/** `judge`, `record`, `diff` and `fuzz` with servers over HTTP with SSE, the transport of 2024-11-05. */
import { serve } from "@effect-mcp/cli/tap/Http"
import * as Cassette from "@effect-mcp/fuzz/Cassette"
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import * as Traffic from "@effect-mcp/fuzz/Traffic"
import { Revision } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { FetchHttpClient } from "effect/http"
import { createServer } from "node:http"
import { run, servedSdkSse, servedSse } from "../../support/run.ts"

type Ear = Parameters<typeof serve>[1]

/** Starts a tap in front of the server at the URL. Returns the tap's URL. */
const tapped = Effect.fnUntraced(function* (url: string, ear: Ear) {
  const announced = yield* Deferred.make<string>()
  const announce = (url: string) => Effect.asVoid(Deferred.succeed(announced, url))
  yield* Effect.forkScoped(serve(url, ear, { port: 0, host: "127.0.0.1", headers: {}, announce }))
  return yield* Deferred.await(announced)
})

const revisions = [Revision.get("2024-11-05") ?? Revision.latestStateful]

/** A client that requests a page with an unknown cursor. */
const asking = Effect.fnUntraced(function* (url: string) {
  const target = yield* Fuzz.sse({ url })
  const [survey] = yield* Fuzz.survey(target, { revisions })
  const script: Fuzz.Script = {
    revision: "2024-11-05",
    commands: [{ _tag: "Open" }, { _tag: "Request", method: "tools/list", params: { cursor: "%%%" } }, { _tag: "Wait" }]
  }
  return survey === undefined ? undefined : yield* Fuzz.play(target, survey, script, { rules: Fuzz.rules })
}, Effect.provide(FetchHttpClient.layer))

describe("HTTP with SSE", () => {
  it.live("judge over HTTP with SSE finds nothing wrong with a correct server and forwards its messages", () =>
    Effect.gen(function* () {
      const traffic = yield* Traffic.make({ name: "everything" })
      const http = traffic.http()
      const url = yield* tapped(yield* servedSse, http)
      const sum = yield* run(["call", "add", "a=1", "b=2", "--json", "--transport", "sse", "--", url])
      assert.deepInclude(sum, { code: 0, stderr: "" })
      assert.match(sum.stdout, /3/)
      http.end()
      const report = traffic.report()
      assert.deepStrictEqual(report.findings, [], Fuzz.Report.text(report))
      assert.strictEqual(report.conversations, 1)
      assert.isAtLeast(report.messages ?? 0, 6)
      assert.isAtLeast(report.rules.filter(({ kept }) => kept > 0).length, 8)
    })
  )

  it.live("judge over HTTP with SSE reports violations by an SDK v1 server", () =>
    Effect.gen(function* () {
      const traffic = yield* Traffic.make({ name: "v1", only: ["MUST", "cursor"] })
      const http = traffic.http()
      const played = yield* asking(yield* tapped(yield* servedSdkSse, http))
      http.end()
      const keys = traffic.report().findings.map(({ key }) => key)
      assert.deepStrictEqual(keys, ["cursor-invalid tools/list"])
      assert.include(played?.found.map(({ rule }) => rule.name) ?? [], "cursor-invalid")
    })
  )

  it.live("record writes HTTP with SSE messages", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const recorder = new Cassette.Recorder({ server: "s", now: () => 0, write: (line) => void lines.push(line) })
      const url = yield* tapped(yield* servedSse, recorder.http())
      yield* run(["call", "add", "a=1", "b=2", "--transport", "sse", "--", url])
      const messages = lines.slice(1).map((line) => JSON.parse(line))
      assert.deepStrictEqual([...new Set(messages.map(({ session }) => session))], [undefined])
      const call = messages.find(({ from, message }) => from === "client" && message.method === "tools/call")
      const answer = messages.find(({ from, message }) => from === "server" && message.id === call?.message.id)
      assert.include(JSON.stringify(answer?.message.result), "3")
    })
  )

  it.live("A message URL naming the server's own port is rewritten to the tap's", () =>
    Effect.gen(function* () {
      const server = yield* Effect.acquireRelease(
        Effect.sync(() =>
          createServer((request, response) => {
            response.writeHead(200, { "content-type": "text/event-stream" })
            response.write("event: endpoint\nda")
            response.end(`ta: http://${request.headers.host}/messages?id=7\n\nevent: message\ndata: {}\n\n`)
          })
        ),
        (server) => Effect.sync(() => void server.close())
      )
      yield* Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void)))
      const address = server.address()
      const port = typeof address === "object" ? address?.port : 0
      const traffic = yield* Traffic.make({ name: "absolute" })
      const url = yield* tapped(`http://127.0.0.1:${port}/sse`, traffic.http())
      const response = yield* Effect.promise(() => fetch(url, { headers: { accept: "text/event-stream" } }))
      assert.strictEqual(
        yield* Effect.promise(() => response.text()),
        "event: endpoint\ndata: /messages?id=7\n\nevent: message\ndata: {}\n\n"
      )
    })
  )

  it.live("diff detects and compares HTTP with SSE servers", () =>
    Effect.gen(function* () {
      const [ours, theirs] = [yield* servedSse, yield* servedSdkSse]
      const flags = ["--runs", "1", "--time", "10m", "--revision", "2024-11-05", "--jobs", "1"]
      const other = yield* run(["diff", ...flags, "--", ours, "---", theirs])
      assert.strictEqual(other.code, 1, other.stdout)
      assert.match(other.stdout, /difference {2}same \S+/)
    })
  )
})
