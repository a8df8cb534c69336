/**
 * Limits on the duration and the output size of a tool. A call over a limit returns a result that the model can read.
 */
import * as Content from "@effect-mcp/core/Content"
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Middleware from "@effect-mcp/server/Middleware"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Latch, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { everyVersion, session, quiesce } from "../support/raw.ts"

const Plain = Tool.make("plain", { description: "" })
const around = Middleware.layer((_request, next) => next)

describe("A tool's time limit", () => {
  it.effect("The notice shows a time limit below a millisecond", () =>
    Effect.gen(function* () {
      const client = yield* session(Tools.layer(Plain, () => Effect.never, { limits: { time: "500 micros" } }))
      const call = yield* Effect.forkChild(client.call("plain"), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      const { content } = yield* Fiber.join(call)
      assert.include(content[0].text, "its time limit of 0.5ms")
    })
  )

  for (const version of everyVersion()) {
    for (const wrapped of [false, true]) {
      const how = `${version}${wrapped ? ", with middleware" : ""}`

      it.effect(`A tool's time limit interrupts a call and tells the model the limit (${how})`, () =>
        Effect.gen(function* () {
          const events: Array<string> = []
          const started = yield* Latch.make()
          const slow = Tools.layer(
            Plain,
            () =>
              Effect.andThen(started.open, Effect.never).pipe(
                Effect.onInterrupt(() => Effect.sync(() => events.push("finalizer")))
              ),
            { limits: { time: "90 seconds" } }
          )
          const client = yield* session(wrapped ? Layer.merge(slow, around) : slow, { version })
          for (const _ of ["first", "second"]) {
            const call = yield* Effect.forkChild(client.call("plain"), { startImmediately: true })
            yield* started.await
            yield* started.close
            yield* TestClock.adjust("89 seconds")
            assert.isUndefined(call.pollUnsafe())
            yield* TestClock.adjust("1 second")
            const result = yield* Fiber.join(call)
            assert.isTrue(result.isError)
            assert.strictEqual(
              result.content[0].text,
              'The tool "plain" was stopped because it exceeded its time limit of 1m 30s.'
            )
          }
          assert.deepStrictEqual(events, ["finalizer", "finalizer"])
        })
      )

      it.effect(`A tool's time limit does not change the outcome of a call that ends in time (${how})`, () =>
        Effect.gen(function* () {
          const waiting = yield* Latch.make()
          const Ends = Tool.make("ends", { description: "", input: { how: Schema.String } })
          const ends = Tools.layer(
            Ends,
            ({ how }) =>
              Effect.andThen(
                Effect.sleep("10 seconds"),
                how === "fails"
                  ? Effect.fail(McpError.invalidParams("no"))
                  : how === "dies"
                    ? Effect.die(new Error("bug"))
                    : how === "hangs"
                      ? Effect.onInterrupt(Effect.andThen(waiting.open, Effect.never), () => waiting.close)
                      : Effect.succeed("done")
              ),
            { limits: { time: "11 seconds" } }
          )
          const client = yield* session(wrapped ? Layer.merge(ends, around) : ends, { version })
          const run = (how: string) =>
            Effect.gen(function* () {
              const call = yield* Effect.forkChild(Effect.flip(client.call("ends", { how })), {
                startImmediately: true
              })
              yield* quiesce
              yield* TestClock.adjust("10 seconds")
              return call
            })
          const code = (call: Effect.Success<ReturnType<typeof run>>) =>
            Effect.map(Fiber.join(call), (error) => (error instanceof McpError.McpError ? error.code : error._tag))
          assert.strictEqual(yield* code(yield* run("fails")), McpError.InvalidParams)
          assert.strictEqual(yield* code(yield* run("dies")), McpError.InternalError)
          const call = yield* run("hangs")
          yield* waiting.await
          yield* Fiber.interrupt(call)
          yield* quiesce
          assert.isFalse(waiting.isOpen())
          const done = yield* Effect.forkChild(client.call("ends", { how: "well" }), { startImmediately: true })
          yield* quiesce
          yield* TestClock.adjust("10 seconds")
          assert.strictEqual((yield* Fiber.join(done)).content[0].text, "done")
          yield* TestClock.adjust("1 hour")
        })
      )
    }

    it.effect(
      `A tool's time limit defaults to an hour and can be set per server or tool; Infinity disables it (${version})`,
      () =>
        Effect.gen(function* () {
          const tool = (name: string, limits?: Tools.CallLimits) =>
            Tools.layer(
              Tool.make(name, { description: "" }),
              () => Effect.never,
              limits === undefined ? {} : { limits }
            )
          const stopped = (
            name: string,
            after: "1 hour" | "1 minute" | "1 second",
            limits?: Tools.CallLimits,
            tool?: any
          ) =>
            Effect.gen(function* () {
              const client = yield* session(tool, { version }, limits === undefined ? {} : { limits: { tool: limits } })
              const call = yield* Effect.forkChild(client.call(name), { startImmediately: true })
              yield* quiesce
              yield* TestClock.adjust(after)
              yield* quiesce
              return call.pollUnsafe() !== undefined
            })
          assert.isTrue(yield* stopped("a", "1 hour", undefined, tool("a")))
          assert.isFalse(yield* stopped("a", "1 minute", undefined, tool("a")))
          assert.isTrue(yield* stopped("a", "1 minute", { time: "1 minute" }, tool("a")))
          assert.isFalse(yield* stopped("a", "1 second", { time: "1 minute" }, tool("a")))
          assert.isTrue(yield* stopped("a", "1 second", { time: "1 minute" }, tool("a", { time: "1 second" })))
          assert.isFalse(yield* stopped("a", "1 hour", undefined, tool("a", { time: Infinity })))
        })
    )
  }

  it.effect("A tool's time limit restarts after each answered question (2026-07-28)", () =>
    Effect.gen(function* () {
      const reply = yield* Latch.make()
      const answered = yield* Latch.make()
      const asking = Tools.layer(
        Plain,
        () =>
          Effect.gen(function* () {
            yield* Effect.orDie(Elicitation.confirm("Sure?"))
            yield* answered.open
            yield* Effect.sleep("20 seconds")
            return "done"
          }),
        { limits: { time: "30 seconds" } }
      )
      const answer = () => Effect.as(reply.await, { action: "accept", content: { confirm: true } })
      const client = yield* session(asking, { version: "2026-07-28", capabilities: { elicitation: {} }, answer })
      const call = yield* Effect.forkChild(client.call("plain"), { startImmediately: true })
      yield* client.nextAsk
      yield* TestClock.adjust("1 minute")
      yield* reply.open
      yield* answered.await
      yield* TestClock.adjust("20 seconds")
      assert.notProperty(yield* Fiber.join(call), "isError")
    })
  )
})

describe("A tool's size limit", () => {
  const bytes = 100
  const kinds = {
    text: (size: number) => "x".repeat(size),
    "several texts": (size: number) => [Content.text("x".repeat(size - 10)), Content.text("x".repeat(10))],
    // Base64 has whole groups of four characters.
    image: (size: number) =>
      ({ type: "image", data: "A".repeat(Math.ceil(size / 4) * 4), mimeType: "image/png" }) as const,
    "embedded resource": (size: number) =>
      ({ type: "resource", resource: { uri: "x:", text: "x".repeat(size) } }) as const,
    "characters of three bytes": (size: number) =>
      "\u20ac".repeat(Math.ceil(size / 3) - (size % 3 === 1 ? 1 : 0)) + "x".repeat(size % 3 === 1 ? 1 : 0),
    "structured content": (size: number) => ({
      content: [],
      structuredContent: { a: "x".repeat(size - 8) }
    })
  }
  for (const version of everyVersion()) {
    for (const [kind, output] of Object.entries(kinds)) {
      for (const [how, later] of [
        ["at once", Effect.void],
        ["later", Effect.yieldNow]
      ] as const) {
        it.effect(`A tool's size limit accepts ${kind} that fits and reports larger output, ${how} (${version})`, () =>
          Effect.gen(function* () {
            const Sized = Tool.make("sized", { description: "", input: { size: Schema.Int } })
            const tool = Tools.layer(
              Sized,
              ({ size }) => (how === "at once" ? Effect.succeed(output(size)) : Effect.as(later, output(size))),
              { limits: { bytes } }
            )
            const client = yield* session(tool, { version })
            assert.notProperty(yield* client.call("sized", { size: bytes }), "isError")
            const result = yield* client.call("sized", { size: bytes + 2 })
            assert.isTrue(result.isError)
            assert.match(
              result.content[0].text,
              /^The result of the tool "sized" was omitted because it is too large: 10[234] bytes, limit 100. Ask for less data.$/
            )
            assert.strictEqual(result.content.length, 1)
            assert.notProperty(result, "structuredContent")
          })
        )
      }
    }

    it.effect(`A tool's size limit counts structured output twice: as content and as text (${version})`, () =>
      Effect.gen(function* () {
        const Typed = Tool.make("typed", {
          description: "",
          input: { size: Schema.Int },
          output: { a: Schema.String }
        })
        const tool = Tools.layer(Typed, ({ size }) => Effect.succeed({ a: "x".repeat(size) }), { limits: { bytes } })
        const client = yield* session(tool, { version })
        assert.notProperty(yield* client.call("typed", { size: 42 }), "isError")
        assert.include((yield* client.call("typed", { size: 43 })).content[0].text, "too large: 102 bytes")
      })
    )

    it.effect(
      `A tool's size limit defaults to 3 MiB and can be set per server or tool; Infinity disables it (${version})`,
      () =>
        Effect.gen(function* () {
          const size = 3 * 1024 * 1024 + 1
          const result = (limits: Tools.CallLimits | undefined, server: Tools.CallLimits | undefined, size: number) =>
            Effect.flatMap(
              session(
                Tools.layer(Plain, () => Effect.succeed("x".repeat(size)), limits === undefined ? {} : { limits }),
                { version },
                server === undefined ? {} : { limits: { tool: server } }
              ),
              (client) => Effect.map(client.call("plain"), ({ isError }) => isError === true)
            )
          assert.isFalse(yield* result(undefined, undefined, size - 1))
          assert.isTrue(yield* result(undefined, undefined, size))
          assert.isFalse(yield* result({ bytes: Infinity }, undefined, size))
          assert.isTrue(yield* result(undefined, { bytes: 10 }, 11))
          assert.isFalse(yield* result({ bytes: 11 }, { bytes: 10 }, 11))
        })
    )
  }
})
