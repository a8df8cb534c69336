/**
 * Clients with many sessions on three node processes behind a round robin, while one node after another is killed and replaced. Nightly:
 * 200 sessions, and a kill every 5 seconds for a minute.
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
/** Milliseconds between two kills. */
const pause = scaled(1000, 5000)
/** Duration of a handler, and of a client's pause between two calls, in milliseconds. */
const [takes, rests] = [scaled(100, 500), scaled(0, 1000)]
/** Maximum time for an answer after the kill of its node, in milliseconds. */
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
  /** The error, or `undefined` for an answer. */
  readonly error: string | undefined
}

/** Duration of the call after the last kill during it, or else after its start. */
const lateness = (killed: ReadonlyArray<number>, { began, ended }: Call): number =>
  ended - Math.max(began, ...killed.filter((at) => at < ended))

const summary = (calls: ReadonlyArray<Call>, killed: ReadonlyArray<number>): string => {
  const late = calls.map((call) => lateness(killed, call)).toSorted((a, b) => a - b)
  const at = (share: number) => Math.round(late[Math.min(late.length - 1, Math.floor(late.length * share))] ?? 0)
  const errors = calls.filter(({ error }) => error !== undefined).length
  return `${sessions} sessions, ${killed.length} kills: ${calls.length} calls, ${errors} errors, ms p50 ${at(0.5)}, p99 ${at(0.99)}, last ${at(1)}`
}

for (const { missing, name, place } of databases) {
  describe(`Repeatedly killed nodes over ${name}`, needs(missing === undefined, missing ?? ""), () => {
    it.live(
      "Calls to killed nodes end exactly once and soon after the kill",
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
            // The replacement starts in the meantime.
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
          // Twice the promised time, plus the time of the slowest call before the first kill, because the machine may be busy.
          const before = calls.filter(({ ended }) => ended < (killed[0] ?? 0)).map(({ began, ended }) => ended - began)
          const slowest = Math.max(...calls.map((call) => lateness(killed, call)))
          assert.isBelow(slowest, 2 * promised + Math.max(takes, ...before))
          for (const client of clients) assert.strictEqual((yield* client.callTool(Slow, { n: 1, ms: 0 })).n, 1)
        }),
      scaled(120_000, 600_000)
    )
  })
}
