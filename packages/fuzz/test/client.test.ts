import { Revision } from "@effect-mcp/protocol"
import { scaled } from "@effect-mcp/spec/Scale"
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import * as FuzzClient from "@effect-mcp/fuzz/FuzzClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { clientMutants } from "./clientMutants.ts"
import { minimal } from "./minimalClient.ts"
import { ours } from "./ourClient.ts"

const streamable = Revision.all.filter(({ version }) => version >= "2025-03-26")
const runs = scaled(60, 2000)

describe("Client fuzzer", () => {
  it.live.each(streamable)("The client fuzzer finds nothing wrong with a correct client ($version)", (revision) =>
    Effect.gen(function* () {
      const options = { revisions: [revision], runs, time: "1 day", jobs: 8 } as const
      const report = yield* FuzzClient.run(yield* ours(), options)
      assert.isFalse(Fuzz.Report.fails(report), Fuzz.Report.text(report))
      assert.strictEqual(report.conversations, runs)
      assert.isAtLeast(report.rules.filter(({ kept }) => kept > 0).length, 12)
    })
  )

  it.live("The client fuzzer finds nothing wrong with a correct hundred-line client", () =>
    Effect.gen(function* () {
      const options = { revisions: [Revision.latestStateful], runs, time: "1 day", jobs: 8 } as const
      yield* FuzzClient.check(yield* minimal(), options)
    })
  )

  it.live("The client fuzzer explains why a client cannot be tested", () =>
    Effect.gen(function* () {
      const lost = yield* FuzzClient.client("a lost client", () => Effect.fail("no way"))
      const { message } = yield* Effect.flip(FuzzClient.run(lost, { revisions: [Revision.latestStateful] }))
      assert.include(message, "a lost client fails even with a correct server: in 2025-11-25 it says")
      assert.include(message, "no way")
    })
  )

  it.live("A client may end a session without the header if it never received the version", () =>
    Effect.gen(function* () {
      const server: FuzzClient.ServerScript = {
        ...FuzzClient.right("2025-06-18"),
        sessions: true,
        faults: [{ on: "initialize", nth: 0, act: { _tag: "Cut", resumable: false } }]
      }
      const { again } = yield* FuzzClient.replay(yield* ours(), { key: "client-version-header", detail: "", server })
      assert.strictEqual(again, 0)
    })
  )

  it.live("A client that probes for the newest revision is asked nothing on the answer", () =>
    Effect.gen(function* () {
      const probe = { jsonrpc: "2.0", id: 1, method: "server/discover" }
      const target = yield* FuzzClient.client("probes", ({ fetch, url }) =>
        Effect.promise(async () => {
          const response = await fetch(url, {
            method: "POST",
            headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
            body: JSON.stringify(probe)
          })
          await response.text()
        })
      )
      for (const on of ["*", "server/discover"]) {
        const faults = [{ on, act: { _tag: "Ask", method: "ping" } }] as const
        const script = { ...FuzzClient.right("2025-11-25"), streams: true, faults }
        const { found, lines } = yield* FuzzClient.play(target, script, { rules: FuzzClient.rules })
        assert.notInclude(Fuzz.Report.conversation(lines), "ping")
        assert.notInclude(
          found.map(({ rule }) => rule.name),
          "client-ping-answered"
        )
      }
    })
  )

  it.live("The client fuzzer replays a finding", () =>
    Effect.gen(function* () {
      const target = yield* minimal({ sameId: true })
      const { findings } = yield* FuzzClient.run(target, {
        revisions: [Revision.latestStateful],
        only: ["client-id-unique"],
        findings: 1,
        time: "1 day"
      })
      for (const { detail, key, script } of findings) {
        const { again } = yield* FuzzClient.replay(target, { key, detail, server: script })
        assert.strictEqual(again, FuzzClient.confirmations)
        const right = yield* FuzzClient.replay(yield* minimal(), { key, detail, server: script })
        assert.strictEqual(right.again, 0)
      }
      assert.lengthOf(findings, 1)
    })
  )
})

/** Faults that need few conversations. `npm test` tries these, and `npm run test:nightly` all. */
const soon = new Set([
  "sends no version",
  "never ends its session",
  "changes cursors",
  "sends no method header",
  "declares nothing",
  "modifies states",
  "posts responses",
  "asks before it says hello",
  "speaks every version",
  "knows no streams",
  "dies of the unknown",
  "says yes"
])
const tried = clientMutants
  .toSorted((a, b) => Number(soon.has(b.name)) - Number(soon.has(a.name)))
  .slice(0, scaled(soon.size, clientMutants.length))

describe("Clients with one fault", () => {
  it.live.each(tried)(
    "The client fuzzer finds a client with one fault: it $name",
    ({ finds, revision = "2025-11-25", target }) =>
      Effect.gen(function* () {
        const report = yield* FuzzClient.run(yield* target, {
          revisions: Revision.all.filter(({ version }) => version === revision),
          only: [finds.split(" ")[0] ?? finds],
          runs: scaled(600, 2000),
          time: "1 day",
          jobs: 4,
          findings: 1,
          patience: 2000
        })
        const found = report.findings.find(({ key, rule }) => key === finds || rule.name === finds)
        assert.isDefined(found, Fuzz.Report.text(report))
        assert.isAtMost(found?.script.faults.length ?? 0, 1, JSON.stringify(found?.script))
      })
  )
})
