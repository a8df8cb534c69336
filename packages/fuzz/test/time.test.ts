/** A search ends when its time is over, regardless of the server. */
import { Revision } from "@effect-mcp/protocol"
import * as Diff from "@effect-mcp/fuzz/Diff"
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"

type Json = any

const revisions = [Revision.latestStateful]
const results: { readonly [method: string]: Json } = {
  initialize: {
    protocolVersion: "2025-11-25",
    capabilities: { tools: {} },
    serverInfo: { name: "slow", version: "1.0.0" }
  },
  "tools/list": { tools: [] }
}

const parse = (line: string): Json => {
  try {
    return Object(JSON.parse(line))
  } catch {
    return {}
  }
}

/** A server in which a request is answered after some milliseconds, or never if `after` returns `undefined`. */
const server = (after: (method: string) => number | undefined): Fuzz.LineTarget => ({
  name: "slow",
  transport: "stdio",
  open: (receive) =>
    Effect.map(Effect.context<never>(), (context) => {
      const runFork = Effect.runForkWith(context)
      return {
        send: (line) => {
          const { id, method } = parse(line)
          const delay = typeof method === "string" && id !== undefined ? after(method) : undefined
          if (delay === undefined) return
          const body = method in results ? { result: results[method] } : { error: { code: -32601, message: "none" } }
          const answer = { _tag: "Line", text: JSON.stringify({ jsonrpc: "2.0", id, ...body }) } as const
          runFork(
            Effect.andThen(
              Effect.sleep(delay),
              Effect.sync(() => receive(answer))
            )
          )
        },
        end: Effect.sync(() => receive({ _tag: "Ended", how: "its input ended" }))
      }
    })
})

/** Runs an effect, and returns its exit and the seconds it took. */
const timed = Effect.fnUntraced(function* <A, E>(run: Effect.Effect<A, E>) {
  const fiber = yield* Effect.forkChild(run)
  let seconds = 0
  while (fiber.pollUnsafe() === undefined && seconds < 600) {
    yield* TestClock.adjust("1 second")
    seconds++
  }
  return [seconds, yield* Fiber.await(fiber)] as const
})

describe("Search time", () => {
  it.effect("Searching an unresponsive server fails when its time is up", () =>
    Effect.gen(function* () {
      const silent = server(() => undefined)
      const runs = [
        Effect.asVoid(Fuzz.run(silent, { time: "15 seconds" })),
        Effect.asVoid(Diff.run(silent, silent, { time: "15 seconds" }))
      ]
      for (const run of runs) {
        const [seconds, exit] = yield* timed(Effect.flip(run))
        assert.isAtMost(seconds, 15)
        assert.strictEqual(exit._tag, "Success")
        if (exit._tag === "Success") assert.match(exit.value.message, /^slow (?:did not respond in time|supports none)/)
      }
    })
  )

  it.effect("A search ends within 5 seconds after its time, including survey, shrinking and confirmation", () =>
    Effect.gen(function* () {
      // Each answer takes half a second, except for pings.
      const slow = server((method) => (method === "ping" ? undefined : 500))
      const conversationsOf = ({ conversations }: Fuzz.Outcome<unknown>) => conversations
      const runs = [
        Effect.map(Fuzz.run(slow, { time: "30 seconds", jobs: 2, revisions }), conversationsOf),
        Effect.map(
          Diff.run(
            slow,
            server((method) => (method === "tools/list" ? undefined : 400)),
            { time: "30 seconds", revisions }
          ),
          conversationsOf
        )
      ]
      for (const run of runs) {
        const [seconds, exit] = yield* timed(run)
        assert.isAtMost(seconds, 35)
        assert.strictEqual(exit._tag, "Success", JSON.stringify(exit))
        if (exit._tag === "Success") assert.isAbove(exit.value, 0)
      }
    })
  )

  it.effect("Shrinking takes at most a third of the time", () =>
    Effect.gen(function* () {
      const slow = server((method) => (method === "initialize" ? 1000 : 0))
      const broken = (name: string): Fuzz.Rule => ({
        name,
        level: "robustness",
        text: "No server keeps this rule.",
        on: { Answered: () => ({ detail: "It answered" }) }
      })
      const rules = Array.from({ length: 12 }, (_, index) => broken(`never-${index}`))
      let shrinking = 0
      const [, exit] = yield* timed(
        Fuzz.run(slow, {
          time: "2 minutes",
          revisions,
          rules,
          only: ["never-"],
          onProgress: (progress) => void (shrinking += progress.shrinking === undefined ? 0 : 1)
        })
      )
      assert.isAbove(shrinking, 0)
      assert.strictEqual(exit._tag, "Success", JSON.stringify(exit))
      // Three confirmations of twelve findings take about 36 seconds. The rest is for new conversations.
      if (exit._tag === "Success") {
        assert.lengthOf(exit.value.findings, 12)
        assert.isAtLeast(exit.value.conversations, 20)
      }
    })
  )

  it.effect("A finding not confirmed in time is reported as seen once", () =>
    Effect.gen(function* () {
      const slow = server((method) => (method === "initialize" ? 3000 : 0))
      const rule: Fuzz.Rule = {
        name: "never-answered",
        level: "robustness",
        text: "No server keeps this rule.",
        on: { Answered: () => ({ detail: "It answered" }) }
      }
      const [, exit] = yield* timed(Fuzz.run(slow, { time: "8 seconds", revisions, rules: [rule], only: [rule.name] }))
      assert.strictEqual(exit._tag, "Success", JSON.stringify(exit))
      if (exit._tag !== "Success") return
      assert.deepStrictEqual(
        [exit.value.findings, exit.value.unconfirmed].map((all) => all.map(({ key }) => key)),
        [[], [rule.name]]
      )
      assert.include(Fuzz.Report.text(exit.value), "Seen once and not confirmed: never-answered")
    })
  )

  it.effect("An interrupted search reports its findings so far", () =>
    Effect.gen(function* () {
      const told: Array<string> = []
      let report = (): Fuzz.FuzzReport | undefined => undefined
      const rule: Fuzz.Rule = {
        name: "never-answered",
        level: "robustness",
        text: "No server keeps this rule.",
        on: { Answered: () => ({ detail: "It answered" }) }
      }
      const fiber = yield* Effect.forkChild(
        Fuzz.run(
          server(() => 100),
          {
            time: "1 hour",
            revisions,
            rules: [rule],
            only: [rule.name],
            onFinding: ({ key }) => void told.push(key),
            onStart: (now) => void (report = now)
          }
        )
      )
      yield* Effect.repeat(TestClock.adjust("1 second"), { until: () => told.length > 0, times: 300 })
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(told, [rule.name])
      assert.deepStrictEqual(
        report()?.findings.map(({ key }) => key),
        [rule.name]
      )
    })
  )
})
