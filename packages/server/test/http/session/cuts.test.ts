/** Connections that break at random, over real HTTP: each call still runs once and gets one answer. */
import * as Progress from "@effect-mcp/core/Progress"
import * as Roots from "@effect-mcp/core/Roots"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import { EventStore } from "@effect-mcp/server/EventStore"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Queue, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import { echo, open, type Reply } from "../support/http.ts"
import { type Opened, openSession, revisions } from "../support/session.ts"

/** Reports every number up to the last, asks on the way, and counts its runs. */
const counting = (runs: Map<string, number>) =>
  Tools.layer(
    Tool.make("count", { description: "Counts.", input: { name: Schema.String, last: Schema.Int } }),
    Effect.fnUntraced(function* ({ last, name }) {
      runs.set(name, (runs.get(name) ?? 0) + 1)
      for (let step = 1; step <= last; step++) {
        yield* Progress.report(step)
        if (step % 4 === 2) yield* Roots.list
        if (step % 3 === 0) yield* Effect.sleep("1 millis")
      }
      return `${name} is done`
    })
  )

interface Heard {
  readonly steps: Array<number>
  readonly answers: Array<string>
}

/** Reads at most `count` events, answers questions, and returns the last event id. */
const listen = Effect.fnUntraced(function* (session: Opened, reply: Reply, most: number, heard: Heard, last: string) {
  for (let read = 0; read < most; read++) {
    const next = yield* Effect.exit(reply.event)
    if (Exit.isFailure(next)) return last
    const { data, id } = next.value
    if (id !== undefined) last = id
    if (data?.params?.progress !== undefined) heard.steps.push(data.params.progress)
    if (data?.method === "roots/list") yield* session.respond(data.id, { roots: [] })
    if (data?.result !== undefined) heard.answers.push(data.result.content[0].text)
  }
  return last
})

/** One call whose connections are cut after the numbers of events in `cuts`; the last connection is not cut. */
const call = Effect.fnUntraced(function* (session: Opened, name: string, last: number, cuts: ReadonlyArray<number>) {
  const heard: Heard = { steps: [], answers: [] }
  let reply = yield* session.follow("count", { name, last }, name)
  let id = ""
  for (const cut of [...cuts, Infinity]) {
    // Without an id it could not resume.
    id = yield* listen(session, reply, id === "" ? Math.max(cut, 1) : cut, heard, id)
    if (heard.answers.length > 0) break
    yield* reply.disconnect
    reply = yield* session.get(id)
    assert.strictEqual(reply.status, 200)
  }
  return heard
})

const Small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 }))
const Last = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 20 }))

describe.each(revisions)("%s calls with randomly cut connections", (version) => {
  it.live.prop(
    "Each call runs once and delivers every event once, in order",
    {
      sessions: Arbitrary.array(
        Arbitrary.array(
          Arbitrary.schema(Schema.Struct({ last: Last, cuts: Schema.Array(Small).check(Schema.isMaxLength(6)) })),
          { maxLength: 4 }
        ),
        { maxLength: 6 }
      )
    },
    ({ sessions }) =>
      Effect.scoped(
        Effect.gen(function* () {
          const runs = new Map<string, number>()
          const client = yield* open(counting(runs))
          const all = sessions.map((calls, at) =>
            Effect.flatMap(openSession(client, version), (session) =>
              Effect.forEach(
                calls,
                ({ cuts, last }, n) =>
                  Effect.map(call(session, `${at}/${n}`, last, cuts), ({ answers, steps }) => {
                    assert.deepStrictEqual(answers, [`${at}/${n} is done`])
                    assert.deepStrictEqual(
                      steps,
                      Array.from({ length: last }, (_, step) => step + 1)
                    )
                    assert.strictEqual(runs.get(`${at}/${n}`), 1)
                  }),
                { concurrency: "unbounded" }
              )
            )
          )
          yield* Effect.all(all, { concurrency: "unbounded" })
        })
      ),
    {
      ...verifies("http.resume.own-stream-only", "http.disconnect.not-cancel"),
      timeout: 20_000,
      arbitrary: { runs: 12, size: 20 }
    }
  )
})

describe("Absent clients", () => {
  const flood = (reported: { steps: number }) =>
    Tools.layer(
      Tool.make("flood", { description: "Says much.", input: { last: Schema.Int } }),
      Effect.fnUntraced(function* ({ last }) {
        for (let step = 1; step <= last; step++) {
          yield* Progress.report(step, { message: "x".repeat(16 * 1024) })
          reported.steps = step
        }
        return "done"
      })
    )

  it.live("A disconnected client suspends only its own handler and loses no event", () =>
    Effect.gen(function* () {
      const last = 1200
      const reported = { steps: 0 }
      // At the cut, more events are on the wire than the default store keeps of a stream.
      const store = EventStore.layerMemory({ maxBytesPerStream: 32 * 1024 * 1024 })
      const session = yield* openSession(yield* open(Layer.merge(flood(reported), echo), { store }))
      const reply = yield* session.follow("flood", { last })
      const first = yield* reply.event
      const second = yield* reply.event
      yield* reply.disconnect
      for (let round = 0; round < 50; round++) {
        assert.strictEqual((yield* session.call("echo", { text: "" }, "e")).status, 200)
      }
      assert.isBelow(reported.steps, last / 2)
      const heard: Array<number> = second.data.params === undefined ? [] : [second.data.params.progress]
      assert.strictEqual(first.data, "")
      const back = yield* session.get(second.id)
      const answers = yield* Queue.unbounded<string>()
      yield* Effect.repeat(
        Effect.map(back.event, ({ data }) => {
          if (data?.params !== undefined) heard.push(data.params.progress)
          if (data?.result !== undefined) Queue.offerUnsafe(answers, data.result.content[0].text)
        }),
        { until: () => Queue.sizeUnsafe(answers) > 0 }
      )
      assert.strictEqual(reported.steps, last)
      assert.deepStrictEqual(
        heard,
        Array.from({ length: last }, (_, step) => step + 1)
      )
    })
  )
})
