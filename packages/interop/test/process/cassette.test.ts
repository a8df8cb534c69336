/** Replays of conversations written by `effect-mcp record`: each request gets the answer of the real server. */
import { Http, McpClient, Stdio } from "@effect-mcp/client"
import { Elicitation } from "@effect-mcp/core"
import { Revision } from "@effect-mcp/protocol"
import { Cassette } from "@effect-mcp/fuzz"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { bin } from "../support/bin.ts"
import { serve, start } from "../support/http-server.ts"
import { serverFile } from "../support/official.ts"
import { serverEverything } from "../support/proxy.ts"

const main = fileURLToPath(new URL("../../../cli/src/main.ts", import.meta.url))
const services = Layer.mergeAll(NodeServices.layer, FetchHttpClient.layer)

const cassette = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "effect-mcp-cassette-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true }))
  ),
  (folder) => join(folder, "cassette.jsonl")
)

type Work = (client: McpClient.Client) => Effect.Effect<unknown, McpClient.ClientError>

/** Records the work with the server that `node ...args` starts, and returns its result. */
const overStdio = (file: string, args: ReadonlyArray<string>, work: Work, revision: Revision.Version) =>
  Effect.scoped(
    Effect.flatMap(
      McpClient.open(
        Stdio.open({
          command: process.execPath,
          args: [main, "record", "--redact", "secretWord", file, "--", process.execPath, ...args],
          exitTimeout: "5 seconds"
        }),
        { revisions: [revision] }
      ),
      work
    )
  )

/** The same with a server at a URL. */
const overHttp = Effect.fnUntraced(function* (file: string, url: string, work: Work, revision: Revision.Version) {
  const tap = yield* start([main, "record", file, "--", url])
  const client = McpClient.open(Http.open({ url: tap.url }), { revisions: [revision] })
  const given = yield* Effect.scoped(Effect.flatMap(client, work))
  assert.strictEqual(yield* tap.terminate, 0)
  return given
})

/** The work has the same result with the cassette, using everything that was recorded and nothing else. */
const assertReplayed = Effect.fnUntraced(function* (file: string, work: Work, recorded: unknown) {
  const tape = yield* Cassette.read(file)
  const client = yield* McpClient.open(tape.open, { revisions: [tape.revision] })
  assert.deepStrictEqual(yield* work(client), recorded)
  assert.deepStrictEqual(yield* tape.differences, [])
  assert.deepStrictEqual(yield* tape.left, [])
})

/** Content, progress and questions of server-everything. */
const official: Work = (client) =>
  Effect.gen(function* () {
    const tools = yield* Stream.runCollect(client.listTools)
    const echo = yield* client.callToolByName("echo", { message: "hello" })
    const asked = yield* client.callToolByName("trigger-elicitation-request", {})
    const events = yield* Stream.runCollect(
      client.callToolByNameStream("trigger-long-running-operation", { duration: 0.2, steps: 2 })
    )
    const both = yield* Effect.all(
      [client.callToolByName("get-sum", { a: 1, b: 2 }), client.callToolByName("get-sum", { a: 3, b: 4 })],
      { concurrency: 2 }
    )
    const failure = yield* Effect.match(client.readResource("demo://resource/none"), {
      onSuccess: () => "no failure",
      onFailure: ({ message }) => message
    })
    return { tools, echo, asked, events, both, failure }
  })

const user = Elicitation.layerAccept({ name: "Ada", check: true })

describe("server-everything", () => {
  it.live("A stdio recording of server-everything replays, including questions and progress", () =>
    Effect.gen(function* () {
      const file = yield* cassette
      const recorded = yield* overStdio(file, [bin, "stdio"], official, "2025-11-25")
      yield* assertReplayed(file, official, recorded)
      const text = readFileSync(file, "utf8")
      assert.include(text, '"method":"elicitation/create"')
      assert.include(text, '"method":"notifications/progress"')
    }).pipe(Effect.provide([services, user]))
  )

  it.live("A Streamable HTTP recording of server-everything replays", () =>
    Effect.gen(function* () {
      const file = yield* cassette
      const { url } = yield* serverEverything
      const recorded = yield* overHttp(file, url, official, "2025-11-25")
      yield* assertReplayed(file, official, recorded)
    }).pipe(Effect.provide([services, user]))
  )
})

/** Features of the reference server that every revision has. */
const ours =
  (revision: Revision.Version): Work =>
  (client) =>
    Effect.gen(function* () {
      const tools = yield* Stream.runCollect(client.listTools)
      const sum = yield* client.callToolByName("add", { a: 1, b: 2 })
      const progress = yield* Stream.runCollect(client.callToolByNameStream("test_tool_with_progress", {}))
      const asked =
        revision < "2025-06-18" ? [] : [yield* client.callToolByName("test_elicitation", { message: "Who?" })]
      return { tools, sum, progress, asked }
    })

const answers = Elicitation.layerAccept({ username: "ada", email: "a@b.c" })

describe.each(Revision.all)("The reference server in $version", ({ version }) => {
  it.live("A stdio recording of the reference server replays", () =>
    Effect.gen(function* () {
      const file = yield* cassette
      const recorded = yield* overStdio(file, [serverFile, "--stdio"], ours(version), version)
      yield* assertReplayed(file, ours(version), recorded)
    }).pipe(Effect.provide([services, answers]))
  )

  it.live.skipIf(version === "2024-11-05")("A Streamable HTTP recording of the reference server replays", () =>
    Effect.gen(function* () {
      const file = yield* cassette
      const { url } = yield* serve
      const recorded = yield* overHttp(file, url, ours(version), version)
      yield* assertReplayed(file, ours(version), recorded)
    }).pipe(Effect.provide([services, answers]))
  )
})

describe.each(["2025-11-25", "2026-07-28"] as const)("Cassettes in %s", (version) => {
  it.live("A cassette layer fails a client's mismatched request and answers the others", () =>
    Effect.gen(function* () {
      const file = yield* cassette
      yield* overStdio(file, [serverFile, "--stdio"], (client) => client.callToolByName("add", { a: 1, b: 2 }), version)
      const line =
        readFileSync(file, "utf8")
          .split("\n")
          .findIndex((text) => text.includes('"tools/call"')) + 1
      const test = Effect.gen(function* () {
        const client = yield* McpClient.McpClient
        const wrong = yield* Effect.flip(Effect.asVoid(client.callToolByName("add", { a: 1, b: 3 })))
        assert.include(wrong.message, `line ${line} has tools/call {"name":"add","arguments":{"a":1,"b":2}`)
        assert.include(wrong.message, "params.arguments.b is 3, but was 2. Record it again if the change is intended")
        const right = yield* client.callToolByName("add", { a: 1, b: 2 })
        assert.match(JSON.stringify(right), /3/)
        const again = yield* Effect.flip(Effect.asVoid(client.callToolByName("add", { a: 1, b: 2 })))
        assert.include(again.message, `line ${line} was the last one, and is replayed`)
      })
      yield* Effect.provide(test, Cassette.replayed(file))
    }).pipe(Effect.provide(services))
  )
})
