import { NodeServices, NodeSocketServer } from "@effect/platform-node"
import * as McpClient from "@effect-mcp/client/McpClient"
import { Revision } from "@effect-mcp/protocol"
import { scaled } from "@effect-mcp/spec/Scale"
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import * as FuzzClient from "@effect-mcp/fuzz/FuzzClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { lineClient, lineMutants } from "../lineClient.ts"
import { quiet, tour } from "../ourClient.ts"

const services = Layer.merge(NodeServices.layer, NodeSocketServer.layer({ port: 0, host: "127.0.0.1" }))
const runs = scaled(8, 400)

const ours = FuzzClient.stdioClient("our client", ({ args, command, revision }) =>
  Effect.provide(tour, Layer.provideMerge(McpClient.layerStdio({ command, args, revisions: [revision] }), quiet))
)

describe("Stdio client fuzzer", () => {
  it.live.each(Revision.all)(
    "The stdio client fuzzer finds nothing wrong with a correct client ($version)",
    (revision) =>
      Effect.gen(function* () {
        const report = yield* FuzzClient.run(yield* ours, { revisions: [revision], runs, time: "1 day", jobs: 4 })
        assert.isFalse(Fuzz.Report.fails(report), Fuzz.Report.text(report))
        assert.strictEqual(report.conversations, runs)
      }).pipe(Effect.provide(services))
  )

  it.live.each(Revision.all.slice(-2))(
    "The stdio client fuzzer finds nothing wrong with a correct hundred-line client ($version)",
    (revision) =>
      Effect.gen(function* () {
        yield* FuzzClient.check(yield* lineClient(), { revisions: [revision], runs, time: "1 day", jobs: 4 })
      }).pipe(Effect.provide(services))
  )

  it.live("Our client rereads a list from the start in another session, without an earlier cursor", () =>
    Effect.gen(function* () {
      const script: FuzzClient.ServerScript = {
        revision: "2025-06-18",
        streams: false,
        sessions: false,
        pages: ["2"],
        tools: [],
        faults: [{ on: "prompts/list", nth: 1, act: { _tag: "Cut", resumable: false } }]
      }
      const { ending, found, lines } = yield* FuzzClient.play(yield* ours, script, { rules: FuzzClient.rules })
      assert.deepStrictEqual(found, [])
      assert.strictEqual(ending.kind, "done")
      const lists = lines.filter(({ from, text }) => from === "client" && text.includes("prompts/list"))
      assert.deepStrictEqual(
        lists.map(({ text }) => JSON.parse(text).params.cursor),
        [undefined, "2", undefined, "2"]
      )
    }).pipe(Effect.provide(services))
  )

  it.live("The stdio client fuzzer explains why a client cannot be tested", () =>
    Effect.gen(function* () {
      const lost = yield* FuzzClient.stdioClient("a lost client", () => Effect.fail("no way"))
      const { message } = yield* Effect.flip(FuzzClient.run(lost, { revisions: [Revision.latestStateful] }))
      assert.include(message, "a lost client fails even with a correct server: in 2025-11-25 it says")
      assert.include(message, "Pass a client that takes the command of the server as its last arguments")
    }).pipe(Effect.provide(services))
  )
})

/** Faults that need few conversations. `npm test` tries these, and `npm run test:nightly` all. */
const soon = new Set([
  "writes a greeting",
  "sends SIGTERM at once",
  "writes responses",
  "never starts its server again"
])
const tried = lineMutants
  .toSorted((a, b) => Number(soon.has(b.name)) - Number(soon.has(a.name)))
  .slice(0, scaled(soon.size, lineMutants.length))

describe("Stdio clients with one fault", () => {
  it.live.each(tried)(
    "The stdio client fuzzer finds a client with one fault: it $name",
    ({ faults, finds, revision = "2025-11-25" }) =>
      Effect.gen(function* () {
        const report = yield* FuzzClient.run(yield* lineClient(faults), {
          revisions: Revision.all.filter(({ version }) => version === revision),
          only: [finds],
          runs: scaled(200, 1000),
          time: "1 day",
          jobs: 4,
          findings: 1,
          patience: 3000
        })
        const found = report.findings.find(({ rule }) => rule.name === finds)
        assert.isDefined(found, Fuzz.Report.text(report))
        assert.isAtMost(found?.script.faults.length ?? 0, 1, JSON.stringify(found?.script))
      }).pipe(Effect.provide(services))
  )
})
