/** Traffic through a tap is unchanged and checked against the rules. */
import { serve } from "@effect-mcp/cli/tap/Http"
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import * as Traffic from "@effect-mcp/fuzz/Traffic"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { commandLine, everything, here, program, run, served } from "../../support/run.ts"

const faulty = ["--", process.execPath, fileURLToPath(new URL("../../support/faulty.ts", import.meta.url))]
const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "effect-mcp-judge-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)
const line = (method: string, params: object, id?: number) =>
  `${JSON.stringify({ jsonrpc: "2.0", ...(id === undefined ? undefined : { id }), method, params })}\n`
const clientInfo = { name: "judged", version: "1.0.0" }
const initialize = line("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo }, 1)
const listing = line("tools/list", { cursor: "fuzz-invalid" }, 2)
const questions = ["--answer", "username=ada", "--answer", "email=a@b.c", "--accept"]

describe("effect-mcp judge over stdio", () => {
  it.live.each(["2024-11-05", "2025-11-25", "2026-07-28"])(
    "judge finds nothing wrong with a correct server in %s and forwards its messages",
    (revision) =>
      Effect.gen(function* () {
        const dir = yield* folder
        const report = join(dir, "report.json")
        const [command, ...args] = commandLine(["judge", "--report", report, ...everything])
        const flags = ["--revision", revision, ...questions]
        const asks = revision >= "2025-06-18"
        const call = asks ? ["call", "test_elicitation", "message=hi"] : ["call", "add", "a=1", "b=2"]
        const { code, stderr, stdout } = yield* run([...call, ...flags, "--", command, ...args])
        assert.deepStrictEqual([code, stderr], [0, ""])
        assert.match(stdout, asks ? /ada/ : /3/)
        const judged = JSON.parse(readFileSync(report, "utf8"))
        assert.deepStrictEqual(judged.findings, [])
        assert.isAtLeast(judged.messages, 4)
        assert.isAtLeast(judged.rules.filter(({ kept }: any) => kept > 0).length, 5)
      })
  )

  it.live("judge reports a server's violation at once, and on a signal exits with code 1 and reports", () =>
    Effect.gen(function* () {
      const dir = yield* folder
      const reports = ["json", "xml", "md"].flatMap((kind) => ["--report", join(dir, `report.${kind}`)])
      const { code, stderr, stdout } = yield* program(
        ["judge", ...reports, ...faulty],
        [
          { until: `"id":1`, type: line("notifications/initialized", {}) + listing },
          { on: "stderr", until: "[judge] SHOULD  cursor-invalid tools/list  (2025-11-25)", signal: "SIGTERM" }
        ],
        initialize
      )
      assert.strictEqual(code, 1, stderr)
      assert.lengthOf(stdout.trim().split("\n"), 2)
      assert.include(stderr, "Happened 1 time. The messages around the first one:")
      assert.include(stderr, "5 messages in 1 conversation")
      assert.include(readFileSync(join(dir, "report.xml"), "utf8"), `failures="1"`)
      assert.include(readFileSync(join(dir, "report.md"), "utf8"), "### effect-mcp judge: ")
      const { findings } = JSON.parse(readFileSync(join(dir, "report.json"), "utf8"))
      assert.deepStrictEqual([findings[0].key, findings[0].times], ["cursor-invalid tools/list", 1])
    })
  )

  it("judge explains what is wrong with its command line", async () => {
    const cases: ReadonlyArray<readonly [ReadonlyArray<string>, number, string]> = [
      [["judge"], 2, "No server"],
      [["judge", "--port", "0", ...faulty], 2, "--port and --host need a server at a URL"],
      [["judge", "--", "http://127.0.0.1:1/mcp", "more"], 2, "A URL does not take arguments: more"],
      [["judge", "--", "http://"], 2, "http:// is not a URL"],
      [["judge", "--known", "/nowhere", ...faulty], 2, "Cannot read /nowhere"],
      [["judge", ...here], 2, "everything has no command. Put the server's command or its URL after --"],
      [["judge", "--", "/no/such/program"], 3, "Cannot start /no/such/program"]
    ]
    for (const [argv, code, message] of cases) {
      const ran = await Effect.runPromise(run(argv))
      assert.include(ran.stderr, message)
      assert.strictEqual(ran.code, code)
    }
  })
})

/** Starts a tap in front of the server at the URL. Returns the tap's URL. */
const tapped = Effect.fnUntraced(function* (url: string, traffic: Traffic.TrafficRules) {
  const announced = yield* Deferred.make<string>()
  const http = traffic.http()
  yield* Effect.addFinalizer(() => Effect.sync(() => http.end()))
  const options = { port: 0, host: "127.0.0.1", headers: { "x-added": "1" } }
  const announce = (url: string) => Effect.asVoid(Deferred.succeed(announced, url))
  yield* Effect.forkScoped(serve(url, http, { ...options, announce }))
  return { http, url: yield* Deferred.await(announced) }
})

/** Answers every request in the same way, and records the requests. */
const answering = Effect.fnUntraced(function* (status: number, headers: Record<string, string>, body: string) {
  const seen: Array<{ readonly method: string; readonly headers: object; readonly body: string }> = []
  const server = yield* Effect.acquireRelease(
    Effect.sync(() =>
      createServer(async (request, response) => {
        let body = ""
        for await (const chunk of request) body += String(chunk)
        seen.push({ method: request.method ?? "", headers: request.headers, body })
        response.writeHead(status, headers).end(answer)
      })
    ),
    (server) => Effect.sync(() => void server.close())
  )
  const answer = body
  yield* Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void)))
  const address = server.address()
  return { seen, url: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/mcp` }
})

describe("effect-mcp judge over HTTP", () => {
  it.live("judge finds nothing wrong with a correct server in either era and forwards its messages", () =>
    Effect.gen(function* () {
      const traffic = yield* Traffic.make({ name: "everything" })
      const { http, url } = yield* tapped(yield* served, traffic)
      for (const revision of ["2025-11-25", "2026-07-28"]) {
        const flags = ["--revision", revision, ...questions, "--", url]
        const sum = yield* run(["call", "add", "a=1", "b=2", "--json", ...flags])
        assert.deepInclude(sum, { code: 0, stderr: "" })
        const asked = yield* run(["call", "test_elicitation", "message=hi", ...flags])
        assert.match(asked.stdout, /ada/)
      }
      http.end()
      const report = traffic.report()
      assert.deepStrictEqual(report.findings, [], Fuzz.Report.text(report))
      assert.isAtLeast(report.conversations, 3)
      assert.isAtLeast(report.rules.filter(({ kept, rule }) => kept > 0 && rule.transport === "http").length, 6)
    })
  )

  it.live("judge forwards a request and response unchanged except for added headers", () =>
    Effect.gen(function* () {
      const { seen, url } = yield* answering(
        418,
        { "x-own": "a", "content-type": "application/json" },
        '{"a":"\u00e9"}'
      )
      const tap = yield* tapped(url, yield* Traffic.make({ name: "teapot" }))
      const response = yield* Effect.promise(() =>
        fetch(tap.url, {
          method: "POST",
          headers: { "content-type": "application/json", "x-mine": "b" },
          body: '{"\u00e9":1}'
        })
      )
      assert.deepStrictEqual([response.status, response.headers.get("x-own")], [418, "a"])
      assert.strictEqual(yield* Effect.promise(() => response.text()), '{"a":"\u00e9"}')
      assert.deepInclude(seen[0], { method: "POST", body: '{"\u00e9":1}' })
      assert.deepInclude(seen[0]?.headers, { "x-mine": "b", "x-added": "1", "content-type": "application/json" })
    })
  )

  it.live("judge rejects a page that reaches it by another host name", () =>
    Effect.gen(function* () {
      const { seen, url } = yield* answering(200, {}, "")
      const tap = yield* tapped(url, yield* Traffic.make({ name: "closed" }))
      const { port } = new URL(tap.url)
      const status = yield* Effect.callback<number>((resume) => {
        void import("node:http").then(({ request }) =>
          request({ port, host: "127.0.0.1", path: "/mcp", headers: { host: "evil.example" } }, (response) => {
            response.resume()
            resume(Effect.succeed(response.statusCode ?? 0))
          }).end()
        )
      })
      assert.deepStrictEqual([status, seen], [403, []])
    })
  )

  it.live("judge reports a server's violations, and a server that is unreachable", () =>
    Effect.gen(function* () {
      const { url } = yield* answering(200, { "content-type": "text/plain" }, "hello")
      const traffic = yield* Traffic.make({ name: "wrong" })
      const tap = yield* tapped(url, traffic)
      const gone = yield* tapped("http://127.0.0.1:1/mcp", traffic)
      const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" }
      const statuses: Array<number> = []
      for (const { url } of [tap, gone]) {
        const response = yield* Effect.promise(() => fetch(url, { method: "POST", headers, body: initialize }))
        statuses.push(response.status)
        yield* Effect.promise(() => response.text())
      }
      assert.deepStrictEqual(statuses, [200, 502])
      tap.http.end()
      gone.http.end()
      assert.deepStrictEqual(
        traffic.report().findings.map(({ key }) => key),
        ["http-json-or-sse", "survives"]
      )
    })
  )

  it.live("judge exits with its report on a signal", () =>
    Effect.gen(function* () {
      const ended = yield* program(
        ["judge", "--", "http://127.0.0.1:1/mcp"],
        [{ on: "stderr", until: "Serving http://127.0.0.1:1/mcp at http://127.0.0.1:", signal: "SIGTERM" }]
      )
      assert.strictEqual(ended.code, 0, ended.stderr)
      assert.include(ended.stdout, "0 messages in 0 conversations")
    })
  )
})

describe("effect-mcp record", () => {
  it.live("record writes the forwarded messages, redacts named secrets and says so", () =>
    Effect.gen(function* () {
      const file = join(yield* folder, "cassette.jsonl")
      const secret = line("tools/list", { apiKey: "s3cret", word: "hush", cursor: "x" }, 2)
      const { code, stderr, stdout } = yield* program(
        ["record", "--redact", "word", file, ...faulty],
        [
          { until: `"id":1`, type: secret },
          { until: `"id":2`, signal: "SIGTERM" }
        ],
        initialize
      )
      assert.strictEqual(code, 0, stderr)
      assert.lengthOf(stdout.trim().split("\n"), 2)
      assert.include(
        stderr,
        `Wrote 4 messages to ${file}, without headers; redacted: tools/list params.apiKey, tools/list params.word`
      )
      const written = readFileSync(file, "utf8")
      assert.lengthOf(written.trim().split("\n"), 5)
      assert.notMatch(written, /s3cret|hush/)
      assert.strictEqual(statSync(file).mode & 0o777, 0o600)
    })
  )

  it.live("An earlier recording is kept if the server exits without a message", () =>
    Effect.gen(function* () {
      const file = join(yield* folder, "cassette.jsonl")
      writeFileSync(file, "an earlier recording")
      const { stderr } = yield* program(["record", file, "--", process.execPath, "-e", "process.exit(3)"], [])
      assert.include(stderr, `No messages were recorded; ${file} is unchanged`)
      assert.strictEqual(readFileSync(file, "utf8"), "an earlier recording")
    })
  )

  it("record explains what is wrong with its command line", async () => {
    const cases: ReadonlyArray<readonly [ReadonlyArray<string>, number, string]> = [
      [["record", ...faulty], 2, "Missing required argument: file"],
      [["record", "/nowhere/a.jsonl", ...faulty], 2, "Cannot write /nowhere/a.jsonl"]
    ]
    for (const [argv, code, message] of cases) {
      const ran = await Effect.runPromise(run(argv))
      assert.include(ran.stderr, message)
      assert.strictEqual(ran.code, code)
    }
  })
})
