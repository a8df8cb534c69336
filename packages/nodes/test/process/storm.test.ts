/**
 * Three nodes in processes of their own behind a round robin, one of which is killed again and again, and replaced: what clients of many
 * sessions see. Nightly: 200 sessions, a node killed every 5 seconds for a minute.
 */
import { McpClient } from "@effect-mcp/client"
import { scaled } from "@effect-mcp/spec/Scale"
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Fiber, Layer, Ref } from "effect"
import { FetchHttpClient } from "effect/http"
import { Slow } from "../support/features.ts"
import { databases } from "../support/networks.ts"
import { robin, start } from "../support/robin.ts"

const sessions = scaled(24, 200)
const kills = scaled(2, 12)
/** Between two kills, in milliseconds. */
const pause = scaled(1000, 5000)
/** How long a handler takes, and how long a client pauses between two calls, in milliseconds. */
const [takes, rests] = [scaled(100, 500), scaled(0, 1000)]
/** How long an answer may take after the node was killed that it waits for, in milliseconds. */
const promised = 2000

const connect = (url: string) =>
  Effect.map(
    Layer.build(
      McpClient.layerHttp({ url, revisions: ["2025-11-25"] }).pipe(Layer.provide(Layer.fresh(FetchHttpClient.layer)))
    ),
    (context) => Context.get(context, McpClient.McpClient)
  )

interface Call {
  readonly began: number
  readonly ended: number
  /** Undefined for an answer. */
  readonly error: string | undefined
}

/** How long a call went on after the last kill that it saw; after its begin where it saw none. */
const lateness = (killed: ReadonlyArray<number>, { began, ended }: Call): number =>
  ended - Math.max(began, ...killed.filter((at) => at < ended))

const summary = (calls: ReadonlyArray<Call>, killed: ReadonlyArray<number>): string => {
  const late = calls.map((call) => lateness(killed, call)).toSorted((a, b) => a - b)
  const at = (share: number) => Math.round(late[Math.min(late.length - 1, Math.floor(late.length * share))] ?? 0)
  const errors = calls.filter(({ error }) => error !== undefined).length
  return `${sessions} sessions, ${killed.length} kills: ${calls.length} calls, ${errors} errors, ms p50 ${at(0.5)}, p99 ${at(0.99)}, last ${at(1)}`
}

for (const { missing, name, place } of databases) {
  describe(`nodes over ${name} that are killed again and again`, needs(missing === undefined, missing ?? ""), () => {
    it.live(
      "Calls to nodes that are killed end once each, by an answer or an error, soon after the kill",
      () =>
        Effect.gen(function* () {
          const at = yield* place
          const nodes = yield* Effect.all(
            ["1", "2", "3"].map((which) => start(name, at, which)),
            { concurrency: "unbounded" }
          )
          const { url } = yield* robin(nodes)
          const clients = yield* Effect.replicateEffect(connect(url), sessions)
          const stopped = yield* Ref.make(false)
          const calls: Array<Call> = []
          let begun = 0
          const calling = (client: (typeof clients)[number]) =>
            Effect.gen(function* () {
              for (let n = 0; !(yield* Ref.get(stopped)); n++) {
                begun++
                const began = Date.now()
                const exit = yield* Effect.exit(client.callTool(Slow, { n, ms: takes }))
                if (Exit.isSuccess(exit)) assert.strictEqual(exit.value.n, n)
                else assert.isTrue(exit.cause.reasons.every(Cause.isFailReason), String(exit.cause))
                const error = Exit.isSuccess(exit) ? undefined : String(Cause.squash(exit.cause))
                calls.push({ began, ended: Date.now(), error })
                yield* Effect.sleep(rests)
              }
            })
          const running = yield* Effect.forkChild(Effect.forEach(clients, calling, { concurrency: "unbounded" }))
          const killed: Array<number> = []
          for (let kill = 0; kill < kills; kill++) {
            // The process that takes its place starts meanwhile.
            const [next] = yield* Effect.all([start(name, at, "4"), Effect.sleep(pause)], { concurrency: 2 })
            killed.push(Date.now())
            nodes[kill % 3]!.kill("SIGKILL")
            nodes[kill % 3] = next
          }
          yield* Effect.sleep(pause)
          yield* Ref.set(stopped, true)
          yield* Fiber.join(running)
          yield* Effect.logInfo(summary(calls, killed))
          assert.strictEqual(calls.length, begun)
          // Twice what is promised, and what the slowest call took before the first kill: the machine may be busy.
          const before = calls.filter(({ ended }) => ended < (killed[0] ?? 0)).map(({ began, ended }) => ended - began)
          const slowest = Math.max(...calls.map((call) => lateness(killed, call)))
          assert.isBelow(slowest, 2 * promised + Math.max(takes, ...before))
          for (const client of clients) assert.strictEqual((yield* client.callTool(Slow, { n: 1, ms: 0 })).n, 1)
        }),
      scaled(120_000, 600_000)
    )
  })
}
