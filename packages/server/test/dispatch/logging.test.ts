/** Log messages: which ones are sent, in what form and how many, and what never leaves the server. */
import * as Log from "@effect-mcp/core/Log"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import * as Middleware from "@effect-mcp/server/Middleware"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Data, Effect, Layer, Logger, Redacted, References } from "effect"
import { TestClock } from "effect/testing"
import { connect, everyVersion, serve, session, quiesce, versions } from "../support/raw.ts"

const levels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const

/** A tool that runs `effect`. */
const doing = <R>(effect: Effect.Effect<unknown, never, R>) =>
  Layer.provide(
    Tools.layer(Tool.make("do", { description: "" }), () => Effect.as(effect, "")),
    Logger.layer([])
  )
const everyLevel = Effect.forEach(levels, (level) => Effect.flatMap(Log.Log, (log) => log.log(level, level, "test")))
const datas = (client: { notes: (method: string) => ReadonlyArray<any> }) =>
  client.notes("notifications/message").map((note) => note.params.data)

describe("Levels", () => {
  for (const version of versions()) {
    for (const [index, level] of levels.entries()) {
      it.effect(
        `Setting a level sends log messages at ${level} and above in ${version}, and nothing below`,
        () =>
          Effect.gen(function* () {
            const client = yield* session(doing(everyLevel), { version })
            assert.deepStrictEqual(yield* client.request("logging/setLevel", { level }), {})
            yield* client.call("do")
            yield* quiesce
            assert.deepStrictEqual(
              client.notes("notifications/message").map((note) => note.params),
              levels.slice(index).map((level) => ({ level, logger: "test", data: level }))
            )
          }),
        verifies("logging.level.threshold")
      )
    }
  }

  it.effect("Until the client sets a level, the configured level applies, or info by default", () =>
    Effect.gen(function* () {
      const normal = yield* session(doing(everyLevel))
      yield* normal.call("do")
      assert.deepStrictEqual(datas(normal), levels.slice(1))
      const quiet = yield* session(doing(everyLevel), {}, { logging: { level: "error" } })
      yield* quiet.call("do")
      assert.deepStrictEqual(datas(quiet), levels.slice(4))
    })
  )

  it.effect("Each session has its own log level", () =>
    Effect.gen(function* () {
      const server = yield* serve({ features: doing(everyLevel) })
      const [one, two] = [yield* connect(server), yield* connect(server)]
      yield* one.request("logging/setLevel", { level: "emergency" })
      yield* one.call("do")
      yield* two.call("do")
      assert.deepStrictEqual([datas(one).length, datas(two).length], [1, 7])
    })
  )

  for (const version of versions()) {
    it.effect(
      `An unknown log level fails with -32602 and changes nothing (${version})`,
      () =>
        Effect.gen(function* () {
          const client = yield* session(doing(everyLevel), { version })
          for (const params of [undefined, {}, { level: "INFO" }, { level: "trace" }, { level: 3 }]) {
            assert.strictEqual((yield* client.refused("logging/setLevel", params)).code, -32602)
          }
          assert.isUndefined(client.session.logLevel)
        }),
      verifies("logging.level.invalid", "logging.security.fields-validated")
    )

    it.effect(
      `A failure to set the log level returns -32603 and changes nothing (${version})`,
      () =>
        Effect.gen(function* () {
          const failing = Middleware.layer(({ method }, next) =>
            method === "logging/setLevel" ? Effect.die(new Error("No disk")) : next
          )
          const client = yield* session(Layer.merge(doing(everyLevel), failing), { version })
          assert.strictEqual((yield* client.refused("logging/setLevel", { level: "error" })).code, -32603)
          assert.isUndefined(client.session.logLevel)
        }),
      verifies("logging.error.configuration")
    )
  }
})

describe("Rate limit", () => {
  for (const version of everyVersion()) {
    it.effect(
      `Log messages are rate-limited per session, and dropped ones are counted (${version})`,
      () =>
        Effect.gen(function* () {
          const flood = Effect.forEach(Array.from({ length: 50 }), () => Log.info("x"), { discard: true })
          const server = yield* serve({ features: doing(flood), logging: { perSecond: 10 } })
          const [one, two] = [
            yield* connect(server, { version, logLevel: "info" }),
            yield* connect(server, { version, logLevel: "info" })
          ]
          yield* one.call("do")
          assert.strictEqual(datas(one).length, 20)
          yield* two.call("do")
          assert.strictEqual(datas(two).length, 20)
          yield* TestClock.adjust("1 second")
          yield* one.call("do")
          assert.strictEqual(datas(one).length, 20 + 1 + 10)
          assert.deepStrictEqual(one.notes("notifications/message")[20].params, {
            level: "warning",
            logger: "effect-mcp",
            data: "Dropped 30 log messages"
          })
          yield* TestClock.adjust("1 hour")
          yield* one.call("do")
          assert.strictEqual(datas(one).length, 31 + 1 + 20)
          assert.strictEqual(datas(one)[31], "Dropped 40 log messages")
        }),
      verifies("logging.server.rate-limited", "logging.security.rate-limited")
    )
  }

  it.effect(
    "The dropped-message count is sent at the client's level if that is higher",
    () =>
      Effect.gen(function* () {
        const flood = Effect.forEach(Array.from({ length: 30 }), () => Log.alert("x"), { discard: true })
        const client = yield* session(doing(flood), {}, { logging: { perSecond: 10 } })
        yield* client.request("logging/setLevel", { level: "critical" })
        yield* client.call("do")
        yield* TestClock.adjust("1 second")
        yield* client.call("do")
        const found = client.notes("notifications/message").map((note) => note.params.level)
        assert.deepStrictEqual(Array.from(new Set<string>(found)).toSorted(), ["alert", "critical"])
      }),
    verifies("logging.level.threshold")
  )
})

describe("Log messages on the wire", () => {
  for (const version of everyVersion()) {
    it.effect(
      `The redaction hook can change or drop a log message (${version})`,
      () =>
        Effect.gen(function* () {
          const client = yield* session(
            doing(Effect.andThen(Log.info("password: hunter2"), Effect.andThen(Log.info("drop"), Log.error("keep")))),
            { version, logLevel: "info" },
            {
              logging: {
                redact: (data, level) =>
                  data === "drop" ? undefined : level === "error" ? data : String(data).replace(/: .*/, ": ***")
              }
            }
          )
          yield* client.call("do")
          assert.deepStrictEqual(datas(client), ["password: ***", "keep"])
        }),
      verifies("logging.server.sensitive-removed")
    )
  }

  class Failed extends Data.TaggedError("Failed")<{
    readonly message: string
    readonly cause?: unknown
    readonly query?: string
  }> {}

  for (const version of everyVersion()) {
    it.effect(
      `A logged error includes its name and message, but no stack or cause (${version})`,
      () =>
        Effect.gen(function* () {
          const error = new Failed({ message: "no luck", cause: new Error("secret"), query: "select secret" })
          const client = yield* session(
            doing(
              Effect.all([
                Log.error(error),
                Log.error({ error, more: [new TypeError("t")] }),
                Effect.logError("went wrong", Cause.die(new Error("secret"))),
                Effect.logError(error)
              ])
            ),
            { version, logLevel: "info" }
          )
          yield* client.call("do")
          assert.deepStrictEqual(datas(client), [
            "Failed: no luck",
            { error: "Failed: no luck", more: ["TypeError: t"] },
            "went wrong",
            "Failed: no luck"
          ])
        }),
      verifies("logging.content.no-internals")
    )
  }

  it.effect("A value that JSON cannot represent still produces a valid log message", () =>
    Effect.gen(function* () {
      const cycle: any = { a: 1 }
      cycle.self = cycle
      const client = yield* session(
        doing(
          Effect.forEach([cycle, 10n, { n: 1n }, undefined, () => 1, Redacted.make("secret"), new Date(0)], (data) =>
            Log.info(data)
          )
        )
      )
      yield* client.call("do")
      assert.deepStrictEqual(datas(client), [
        "(not a JSON value)",
        "10",
        { n: "1" },
        null,
        null,
        "<redacted>",
        "1970-01-01T00:00:00.000Z"
      ])
    })
  )

  it.effect(
    "Effect.log in a handler sends a log message with the handler's annotations",
    () =>
      Effect.gen(function* () {
        const client = yield* session(
          doing(
            Effect.all([
              Effect.logInfo("one"),
              Effect.logWarning("two", { a: 1 }),
              Effect.annotateLogs(Effect.logError("three"), { table: 7 }),
              Effect.logFatal("four"),
              Effect.logDebug("below the server's own minimum")
            ])
          )
        )
        yield* client.request("logging/setLevel", { level: "debug" })
        yield* client.call("do")
        assert.deepStrictEqual(
          client.notes("notifications/message").map(({ params }) => [params.level, params.data]),
          [
            ["info", "one"],
            ["warning", ["two", { a: 1 }]],
            ["error", { message: "three", table: 7 }],
            ["critical", "four"]
          ]
        )
      }),
    verifies("logging.server.context")
  )

  it.effect("Log messages also reach the server's loggers, including their cause", () =>
    Effect.gen(function* () {
      const local: Array<string> = []
      const logger = Logger.make(({ cause, message }) => void local.push(`${String(message)} ${Cause.pretty(cause)}`))
      const client = yield* session(
        Layer.provide(
          Tools.layer(Tool.make("do", { description: "" }), () =>
            Effect.as(Effect.logError("wrong", Cause.die(new Error("secret"))), "")
          ),
          Logger.layer([logger])
        )
      )
      yield* client.call("do")
      assert.match(local[0]!, /^wrong Error: secret/)
    })
  )

  it.effect.each(everyVersion())(
    "A log message precedes the answer to its request and goes only to that client (%s)",
    (version) =>
      Effect.gen(function* () {
        const server = yield* serve({ features: doing(Log.info("x")) })
        const [one, two] = [yield* connect(server, { version }), yield* connect(server, { version })]
        const meta = { [Meta.logLevel]: "info" }
        yield* two.call("do", {}, meta)
        yield* one.call("do", {}, meta)
        const kinds = one.received.map((message) => message.method ?? "answer")
        assert.deepStrictEqual(kinds.slice(-2), ["notifications/message", "answer"])
        assert.deepStrictEqual([datas(one), datas(two)], [["x"], ["x"]])
      }),
    verifies("logging.security.access-control")
  )

  it.effect("Defects are logged by the server and never sent to the client", () =>
    Effect.gen(function* () {
      const client = yield* session(doing(Effect.die(new Error("secret"))))
      yield* client.request("logging/setLevel", { level: "debug" })
      yield* client.refused("tools/call", { name: "do" })
      yield* quiesce
      assert.deepStrictEqual(client.notes("notifications/message"), [])
    })
  )
})

it.effect("Log annotations from outside the handler are not sent to the client", () =>
  Effect.gen(function* () {
    const local: Array<unknown> = []
    const logger = Logger.make(({ fiber }) => void local.push(fiber.getRef(References.CurrentLogAnnotations)))
    const tool = Tools.layer(Tool.make("do", { description: "" }), () =>
      Effect.as(Effect.annotateLogs(Effect.logInfo("x"), { mine: 1 }), "")
    )
    const annotating = Middleware.layer((_, next) => Effect.annotateLogs(next, { caller: "secret" }))
    const server = yield* serve({
      features: Layer.merge(Layer.provide(tool, Logger.layer([logger])), annotating)
    })
    const client = yield* connect(server).pipe(Effect.annotateLogs({ host: "secret" }))
    yield* client.call("do")
    assert.deepStrictEqual(datas(client), [{ message: "x", mine: 1 }])
    assert.deepStrictEqual(local, [{ host: "secret", caller: "secret", mine: 1 }])
  })
)
