/** Requests that are answered with questions, end to end: the wire, the handler, and the state between rounds. */
import { Elicitation, Once, Progress, Prompt, Prompts, Resources, Roots, Sampling, Tool, Tools } from "@effect-mcp/core"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { isSuspension } from "@effect-mcp/server/internal/Replay"
import { scaled } from "@effect-mcp/spec/Scale"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Latch, Layer, Schema, Stream } from "effect"
import { Scheduler } from "effect/Scheduler"
import { TestClock } from "effect/testing"
import { connect, serve, quiesce } from "../support/raw.ts"
import { accept, echo, join, modern, type Modern, open } from "../support/modern.ts"
import { StepScheduler } from "../support/steps.ts"

const Name = Schema.Struct({ name: Schema.String })
const ask = (message: string, key?: string) => Effect.map(Elicitation.form(message, Name, { key }), ({ name }) => name)
const json = (value: unknown) => JSON.stringify(value ?? null)
type Handler<R> = Effect.Effect<unknown, never, R>
/** A tool that returns as JSON what its handler returned, or how it failed. */
const tool = <A, E extends { readonly message: string }, R>(handler: Effect.Effect<A, E, R>, name = "ask") =>
  Tools.layer(Tool.make(name, { description: "", input: { n: Schema.optionalKey(Schema.Int) } }), () =>
    Effect.map(
      Effect.catch(handler, (error): Handler<never> => Effect.succeed({ failed: error.message })),
      json
    )
  )
const said = ({ content }: { readonly content: ReadonlyArray<any> }) => JSON.parse(content[0].text)
const messagesOf = (asked: ReadonlyArray<ReadonlyArray<any>>) =>
  asked.map((questions) => questions.map(({ params }) => params?.message))
const step = (log: Array<string>, name: string) =>
  Once.run(
    name,
    Schema.String,
    Effect.sync(() => {
      log.push(name)
      return `done ${name}`
    })
  )

describe("Questions in rounds", () => {
  const questions = Layer.mergeAll(
    tool(ask("Who?")),
    Prompts.layer(Prompt.make("ask"), () => Effect.map(ask("Who?"), (name) => `I am ${name}`)),
    Resources.layer({ uri: "ask://it", name: "it", cache: { timeToLive: 5, scope: "public" } }, ask("Who?"))
  )
  for (const [method, params] of [
    ["tools/call", { name: "ask", arguments: {} }],
    ["prompts/get", { name: "ask" }],
    ["resources/read", { uri: "ask://it" }]
  ] as const) {
    it.effect(
      `A ${method} question is a result that asks, and the next round receives its answer (2026-07-28)`,
      () =>
        Effect.gen(function* () {
          const client = yield* open(questions)
          const first = yield* client.request(method, params)
          assert.hasAllKeys(first, ["resultType", "inputRequests", "requestState", "_meta"])
          assert.strictEqual(first.resultType, "input_required")
          assert.isDefined(first._meta[Meta.serverInfo])
          const [[key, question]] = Object.entries<any>(first.inputRequests) as [[string, any]]
          assert.strictEqual(question.method, "elicitation/create")
          assert.strictEqual(question.params.message, "Who?")
          assert.strictEqual(question.params.requestedSchema.type, "object")
          const second = yield* client.request(method, {
            ...params,
            requestState: first.requestState,
            inputResponses: { [key]: accept({ name: "Ada" }) }
          })
          assert.strictEqual(second.resultType, "complete")
          assert.match(JSON.stringify(second), /Ada/)
          // Only answers: the server never sends a request.
          for (const message of client.received) assert.isUndefined(message.method)
          assert.strictEqual(client.asked.length, 0)
        }),
      verifies(
        "mrtr.server.asks-in-results",
        "mrtr.result.supported-methods",
        "mrtr.result.not-empty",
        "mrtr.questions.kinds",
        "stateless.server.no-requests",
        "stdio.server.no-requests",
        "caching.hints.not-interim",
        "json-rpc.result.type-included",
        "meta.result.server-info"
      )
    )
  }

  it.effect(
    "One round can ask for a form, a URL, sampling and roots (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const handler = Effect.all(
          [
            ask("Who?"),
            Elicitation.url({ message: "Pay", url: "https://example.com/pay" }).pipe(Effect.as("paid")),
            Effect.map(
              Sampling.createMessage({
                messages: [{ role: "user", content: { type: "text", text: "2+2?" } }],
                maxTokens: 9
              }),
              ({ model }) => model
            ),
            Effect.map(Roots.list, (roots) => roots.map(({ uri }) => uri))
          ],
          { concurrency: "unbounded" }
        )
        const client = yield* open(tool(handler))
        const { asked, result } = yield* client.playTool("ask", ({ method, params }) => {
          if (method === "roots/list") return { roots: [{ uri: "file:///a" }] }
          if (method === "sampling/createMessage")
            return { role: "assistant", content: { type: "text", text: "4" }, model: "m" }
          return params.mode === "url" ? accept() : accept({ name: "Ada" })
        })
        assert.deepStrictEqual(said(result), ["Ada", "paid", "m", ["file:///a"]])
        assert.strictEqual(asked.length, 1)
        const [[, page, model]] = asked as any
        assert.deepStrictEqual(page.params, { mode: "url", message: "Pay", url: "https://example.com/pay" })
        assert.deepStrictEqual(model.params.messages, [{ role: "user", content: { type: "text", text: "2+2?" } }])
      }),
    verifies(
      "mrtr.questions.kinds",
      "mrtr.questions.unique-keys",
      "elicitation.url.fields",
      "sampling.message.role-and-content"
    )
  )

  it.effect("A question in a loop is asked once per iteration, in separate rounds", () =>
    Effect.gen(function* () {
      const handler = Effect.gen(function* () {
        const names: Array<string> = []
        while (names.at(-1) !== "stop") names.push(yield* ask(`Next after ${names.length}?`))
        return names
      })
      const client = yield* open(tool(handler))
      let n = 0
      const { asked, result } = yield* client.playTool("ask", () => accept({ name: ++n === 4 ? "stop" : `${n}` }))
      assert.deepStrictEqual(said(result), ["1", "2", "3", "stop"])
      assert.deepStrictEqual(
        messagesOf(asked),
        [0, 1, 2, 3].map((i) => [`Next after ${i}?`])
      )
    })
  )

  it.effect("A question repeated until its answer is valid is asked each time", () =>
    Effect.gen(function* () {
      for (const key of [undefined, "name"]) {
        const handler = Effect.repeat(ask("A name of at least three letters?", key), {
          until: (name) => name.length >= 3
        })
        const client = yield* open(tool(handler))
        let n = 0
        const { asked, result } = yield* client.playTool("ask", () => accept({ name: "x".repeat(++n) }))
        assert.strictEqual(said(result), "xxx")
        assert.strictEqual(asked.length, 3)
      }
    })
  )

  it.effect("A question never receives the answer to another question with the same key", () =>
    Effect.gen(function* () {
      const handler = Effect.all([ask("First?", "k"), ask("Second?", "k")])
      const client = yield* open(tool(handler))
      const { asked, result } = yield* client.playTool("ask", echo)
      assert.deepStrictEqual(said(result), ["First?", "Second?"])
      assert.strictEqual(asked.length, 2)
    })
  )

  it.effect("A question receives its answer even if siblings change order between rounds", () =>
    Effect.gen(function* () {
      let turn = 0
      const handler = Effect.suspend(() => {
        const both = [ask("a"), ask("b")]
        return Effect.map(
          Effect.all(++turn % 2 === 0 ? both.toReversed() : both, { concurrency: "unbounded" }),
          (names) => names.toSorted()
        )
      })
      const client = yield* open(tool(handler))
      const { result } = yield* client.playTool("ask", (question) =>
        turn === 1 && question.params.message === "b" ? undefined : echo(question, "")
      )
      assert.deepStrictEqual(said(result), ["a", "b"])
      assert.isAtLeast(turn, 3)
    })
  )

  it.effect("Questions of slow siblings join the same round", () =>
    Effect.gen(function* () {
      const ended = yield* Latch.make()
      // Its round ends as soon as none of its fibers has been ready for a while.
      const quick = tool(
        Effect.onExit(ask("c"), () => ended.open),
        "quick"
      )
      const later = Effect.gen(function* () {
        while (!ended.isOpen()) yield* Effect.yieldNow
        return yield* ask("b")
      })
      const slow = tool(Effect.all([ask("a"), later], { concurrency: "unbounded" }))
      const client = yield* open(Layer.merge(slow, quick))
      const [{ asked, result }] = yield* Effect.all([client.playTool("ask", echo), client.call("quick")], {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(said(result), ["a", "b"])
      assert.strictEqual(asked.length, 1)
    })
  )

  it.effect("A question from a fiber forked by a sibling joins the same round", () =>
    Effect.gen(function* () {
      const forked = Effect.flatMap(
        Effect.forkChild(Effect.flatMap(Effect.forkChild(ask("b")), Fiber.join)),
        Fiber.join
      )
      const client = yield* open(tool(Effect.all([ask("a"), forked], { concurrency: "unbounded" })))
      const { asked, result } = yield* client.playTool("ask", echo)
      assert.deepStrictEqual(said(result), ["a", "b"])
      assert.strictEqual(asked.length, 1)
    })
  )

  it.effect("Asking an identical open question fails with a clear error, unless keys distinguish them", () =>
    Effect.gen(function* () {
      const twice = (keys: ReadonlyArray<string | undefined>) =>
        Effect.all(
          keys.map((key) => ask("same", key)),
          { concurrency: "unbounded" }
        )
      const client = yield* open(
        Layer.merge(tool(twice([undefined, undefined]), "no"), tool(twice(["one", "two"]), "yes"))
      )
      assert.match(said(yield* client.call("no")).failed, /key/)
      let n = 0
      const { result } = yield* client.playTool("yes", () => accept({ name: `${++n}` }))
      assert.deepStrictEqual(said(result), ["1", "2"])
    })
  )

  it.effect("The question for roots is sent once, regardless of how many fibers ask", () =>
    Effect.gen(function* () {
      const uris = Effect.map(Roots.list, (roots) => roots.map(({ uri }) => uri).join())
      const handler = Effect.all([uris, Effect.all([ask("a"), uris]), uris], { concurrency: "unbounded" })
      const client = yield* open(tool(handler))
      const { asked, result } = yield* client.playTool("ask", (question) =>
        question.method === "roots/list" ? { roots: [{ uri: "file:///a" }] } : echo(question, "")
      )
      assert.deepStrictEqual(said(result), ["file:///a", ["a", "file:///a"], "file:///a"])
      assert.deepStrictEqual(
        asked.map((questions) => questions.map(({ method }) => method)),
        [["roots/list", "elicitation/create"]]
      )
    })
  )

  it.effect("A question in an uninterruptible region waits as usual, and no later step runs", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const handler = Effect.uninterruptible(
        Effect.gen(function* () {
          // Even code that treats an interruption as an answer stops at the next question or step.
          const name = yield* Effect.catchCause(ask("a"), () => Effect.succeed("nobody"))
          yield* step(log, `pay for ${name}`)
          return name
        })
      )
      const client = yield* open(tool(handler))
      const { asked, result } = yield* client.playTool("ask", echo)
      assert.strictEqual(said(result), "a")
      assert.strictEqual(asked.length, 1)
      assert.deepStrictEqual(log, ["pay for a"])
    })
  )

  it.effect("A question cannot be caught, timed out or raced", () =>
    Effect.gen(function* () {
      const past = Layer.mergeAll(
        tool(
          Effect.catchCause(ask("a"), () => Effect.succeed("caught")),
          "cause"
        ),
        tool(
          Effect.map(Effect.exit(ask("a")), (exit) => (Exit.isSuccess(exit) ? exit.value : "exit")),
          "exit"
        ),
        tool(Effect.timeoutOrElse(ask("a"), { duration: "1 second", orElse: () => Effect.succeed("late") }), "timeout"),
        tool(Effect.raceFirst(ask("a"), Effect.as(Effect.sleep("1 second"), "slept")), "race"),
        tool(
          Effect.catch(ask("a"), () => Effect.succeed("error")),
          "error"
        )
      )
      const client = yield* open(past)
      for (const name of ["cause", "exit", "timeout", "race", "error"]) {
        const { asked, result } = yield* client.playTool(name, echo)
        assert.strictEqual(said(result), "a", name)
        assert.strictEqual(asked.length, 1, name)
      }
    })
  )

  it.effect(
    "A declined or dismissed question fails in the handler, which can recover (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const client = yield* open(
          Layer.mergeAll(
            tool(Effect.catchTag(ask("a"), "Declined", ({ action }) => Effect.succeed(action))),
            Tools.layer(Tool.make("uncaught", { description: "" }), () => Effect.as(ask("a"), "asked"))
          )
        )
        for (const action of ["decline", "cancel"]) {
          assert.strictEqual(said((yield* client.playTool("ask", () => ({ action }))).result), action)
          const { result } = yield* client.playTool("uncaught", () => ({ action }))
          assert.isTrue(result.isError)
          assert.strictEqual(result.resultType, "complete")
        }
      }),
    verifies("elicitation.error.handled", "elicitation.error.not-assumed")
  )

  it.effect("An asking handler keeps the services of its layer and request", () =>
    Effect.gen(function* () {
      class Secret extends Context.Service<Secret, string>()("test/Secret") {}
      const handler = Effect.gen(function* () {
        const secret = yield* Effect.serviceOption(Secret)
        return [secret._tag, yield* ask("a")]
      })
      const server = yield* serve({ features: tool(handler) })
      const played = Effect.flatMap(join(server), (client) => client.playTool("ask", echo))
      const { result } = yield* Effect.provide(
        Effect.provideService(played, Secret, "ambient"),
        Elicitation.layerDecline
      )
      assert.deepStrictEqual(said(result), ["None", "a"])
    })
  )
})

describe("Answers", () => {
  const two = Effect.all([ask("a"), ask("b")], { concurrency: "unbounded" })
  const first = Effect.fnUntraced(function* (client: Modern) {
    const { inputRequests, requestState } = yield* client.call("ask")
    const keys = Object.keys(inputRequests)
    const retry = (inputResponses: object | undefined) =>
      client.request("tools/call", { name: "ask", arguments: {}, requestState, inputResponses })
    return { keys, requestState, retry }
  })

  it.effect(
    "Only missing answers are requested again (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const client = yield* open(tool(two))
        for (const none of [undefined, {}]) {
          const { retry } = yield* first(client)
          assert.strictEqual(Object.keys((yield* retry(none)).inputRequests).length, 2)
        }
        let turn = 0
        const { asked, result } = yield* client.playTool("ask", (question) =>
          question.params.message === "b" && turn++ === 0 ? undefined : echo(question, "")
        )
        assert.deepStrictEqual(said(result), ["a", "b"])
        assert.deepStrictEqual(messagesOf(asked), [["a", "b"], ["b"]])
      }),
    verifies("mrtr.answers.missing-asked-again")
  )

  it.effect(
    "Answers to questions that were never asked are ignored (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const client = yield* open(tool(two))
        const { keys, retry } = yield* first(client)
        const extra = Object.fromEntries(
          ["x", "__proto__", "constructor", `${keys[0]}1`].map((key) => [key, accept({ name: "x" })])
        )
        const answered = Object.fromEntries(keys.map((key) => [key, accept({ name: "mine" })]))
        assert.deepStrictEqual(said(yield* retry({ ...extra, ...answered })), ["mine", "mine"])
        // They are also ignored without a state, because no question is open then.
        const unasked = yield* client.request("tools/call", { name: "ask", arguments: {}, inputResponses: answered })
        assert.strictEqual(unasked.resultType, "input_required")
      }),
    verifies("mrtr.answers.unknown-ignored")
  )

  it.effect("An early answer is accepted once its question was named (2026-07-28)", () =>
    Effect.gen(function* () {
      const client = yield* open(tool(Effect.all([ask("first", "who"), ask("second", "who")])))
      const reply = yield* client.request("tools/call", {
        name: "ask",
        arguments: {},
        inputResponses: { who: accept({ name: "early" }), other: accept({ name: "x" }) }
      })
      assert.deepStrictEqual(Object.keys(reply.inputRequests), ["who"])
      const { requestState } = reply
      const last = yield* client.request("tools/call", {
        name: "ask",
        arguments: {},
        requestState,
        inputResponses: { who: accept({ name: "late" }) }
      })
      assert.deepStrictEqual(said(last), ["early", "late"])
    })
  )

  it.effect(
    "Malformed answers are rejected or asked for again (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const client = yield* open(tool(two))
        const { keys, retry } = yield* first(client)
        const all = (answer: unknown) => Object.fromEntries(keys.map((key) => [key, answer]))
        for (const wrong of [all("text"), all(null), all([1]), [], "text", 3]) {
          const error = yield* Effect.flip(retry(wrong as object))
          assert(error instanceof McpError.McpError)
          assert.strictEqual(error.code, McpError.InvalidParams, JSON.stringify(wrong))
        }
        for (const wrong of [all({}), all({ action: "maybe" }), all({ roots: [] })]) {
          assert.strictEqual(Object.keys((yield* retry(wrong)).inputRequests).length, 2, JSON.stringify(wrong))
        }
        // It matches the protocol but not the form, so the handler deals with it.
        assert.match(said(yield* retry(all(accept({ name: 3 })))).failed, /does not match/)
        assert.deepStrictEqual(said(yield* retry(all(accept({ name: "yes" })))), ["yes", "yes"])
      }),
    verifies("mrtr.answers.validated", "mrtr.answers.protocol-error", "elicitation.form.server-validates")
  )

  it.effect("Repeating the same retry returns the same result without rerunning earlier steps", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const client = yield* open(tool(Effect.andThen(step(log, "hold"), two)))
      const { keys, retry } = yield* first(client)
      const answers = Object.fromEntries(keys.map((key) => [key, accept({ name: key.slice(0, 4) })]))
      const one = yield* retry(answers)
      const other = yield* retry(answers)
      assert.deepStrictEqual(said(one), said(other))
      assert.deepStrictEqual(log, ["hold"])
    })
  )

  it.effect(
    "A request whose client never retries leaves nothing behind (2026-07-28)",
    () =>
      Effect.gen(function* () {
        const events: Array<string> = []
        const handler = Effect.scoped(
          Effect.andThen(
            Effect.acquireRelease(
              Effect.sync(() => events.push("open")),
              (_, exit) =>
                Effect.sync(() =>
                  events.push(Exit.isFailure(exit) && isSuspension(exit.cause) ? "suspended" : "closed")
                )
            ),
            ask("a")
          )
        )
        const client = yield* open(tool(handler))
        yield* client.call("ask")
        assert.deepStrictEqual(events, ["open", "suspended"])
        assert.deepStrictEqual(yield* client.session.peer.inFlight, [])
        const { result } = yield* client.playTool("ask", echo)
        assert.strictEqual(said(result), "a")
        assert.deepStrictEqual(events.slice(2), ["open", "suspended", "open", "closed"])
      }),
    verifies("mrtr.server.no-assumption")
  )
})

describe("Steps in rounds", () => {
  it.effect("A step runs once per request before, between and after questions", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const handler = Effect.gen(function* () {
        const held = yield* step(log, "hold")
        yield* ask("a")
        const paid = yield* step(log, "pay")
        yield* ask("b")
        return [held, paid, yield* step(log, "thank")]
      })
      const client = yield* open(tool(handler))
      const { asked, result } = yield* client.playTool("ask", echo)
      assert.deepStrictEqual(said(result), ["done hold", "done pay", "done thank"])
      assert.strictEqual(asked.length, 2)
      assert.deepStrictEqual(log, ["hold", "pay", "thank"])
    })
  )

  it.effect("A step running while a sibling asks finishes, is recorded and is not repeated", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const slow = Once.run(
        "pay",
        Schema.String,
        Effect.andThen(
          Effect.sleep("3 seconds"),
          Effect.sync(() => {
            log.push("paid")
            return "receipt"
          })
        )
      )
      const client = yield* open(tool(Effect.all([slow, ask("a")], { concurrency: "unbounded" })))
      const playing = yield* Effect.forkChild(client.playTool("ask", echo))
      yield* quiesce
      yield* TestClock.adjust("3 seconds")
      const { asked, result } = yield* Fiber.join(playing)
      assert.deepStrictEqual(said(result), ["receipt", "a"])
      assert.strictEqual(asked.length, 1)
      assert.deepStrictEqual(log, ["paid"])
    })
  )

  it.effect("A step can record values that JSON cannot represent", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const once = <A>(name: string, schema: Schema.Codec<A, any>, value: A) =>
        Once.run(
          name,
          schema,
          Effect.sync(() => {
            log.push(name)
            return value
          })
        )
      const handler = Effect.gen(function* () {
        const nothing = yield* once("nothing", Schema.Void, undefined)
        const day = yield* once("day", Schema.Date, new Date(86_400_000))
        const big = yield* once("big", Schema.BigInt, 12n)
        yield* ask("a")
        return [nothing === undefined, day.getTime(), `${big}`]
      })
      const client = yield* open(tool(handler))
      const { result } = yield* client.playTool("ask", echo)
      assert.deepStrictEqual(said(result), [true, 86_400_000, "12"])
      assert.deepStrictEqual(log, ["nothing", "day", "big"])
    })
  )

  it.effect("A failed step can be retried under the same name", () =>
    Effect.gen(function* () {
      let attempts = 0
      const flaky = Once.run(
        "flaky",
        Schema.String,
        Effect.suspend(() =>
          ++attempts < 3 ? Effect.fail(new Tools.ToolFailure({ message: "no" })) : Effect.succeed("yes")
        )
      )
      const client = yield* open(tool(Effect.tap(Effect.retry(flaky, { times: 5 }), () => ask("a"))))
      const { result } = yield* client.playTool("ask", echo)
      assert.strictEqual(said(result), "yes")
      assert.strictEqual(attempts, 3)
    })
  )

  it.effect("A failed step ends its request even if a sibling asks", () =>
    Effect.gen(function* () {
      const failing = (sleep: boolean) =>
        Once.run(
          "fails",
          Schema.String,
          Effect.andThen(
            sleep ? Effect.sleep("1 second") : Effect.yieldNow,
            Effect.fail(new Tools.ToolFailure({ message: "no" }))
          )
        )
      for (const sleep of [false, true]) {
        const client = yield* open(tool(Effect.all([ask("a"), failing(sleep)], { concurrency: "unbounded" })))
        const call = yield* Effect.forkChild(client.call("ask"))
        yield* quiesce
        yield* TestClock.adjust("1 second")
        assert.strictEqual(said(yield* Fiber.join(call)).failed, "no")
      }
    })
  )

  it.effect("A step that asks fails immediately with a clear error", () =>
    Effect.gen(function* () {
      const client = yield* open(tool(Once.run("ask", Schema.String, ask("a"))))
      assert.match(said(yield* client.call("ask")).failed, /question inside a step/)
    })
  )

  it.effect("A step that takes too long ends the request without revealing its name", () =>
    Effect.gen(function* () {
      const client = yield* open(
        tool(Effect.all([Once.run("slow", Schema.String, Effect.never), ask("a")], { concurrency: "unbounded" })),
        {},
        { rounds: { stepTimeout: "5 seconds" } }
      )
      const call = yield* Effect.forkChild(client.refused("tools/call", { name: "ask" }))
      yield* quiesce
      yield* TestClock.adjust("4999 millis")
      assert.isUndefined(call.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      const error = yield* Fiber.join(call)
      assert.strictEqual(error.code, McpError.InternalError)
      assert.notMatch(error.message, /slow/)
    })
  )

  it.effect("A step finishes before a cancelled request ends", () =>
    Effect.gen(function* () {
      const finish = yield* Deferred.make<void>()
      const log: Array<string> = []
      const slow = Once.run(
        "pay",
        Schema.Void,
        Effect.andThen(
          Deferred.await(finish),
          Effect.sync(() => void log.push("paid"))
        )
      )
      const client = yield* open(tool(slow))
      const call = yield* Effect.forkChild(client.call("ask"))
      yield* quiesce
      yield* Fiber.interrupt(call)
      yield* quiesce
      assert.strictEqual((yield* client.session.peer.inFlight).length, 1)
      yield* Deferred.succeed(finish, undefined)
      yield* quiesce
      assert.deepStrictEqual(log, ["paid"])
      assert.deepStrictEqual(yield* client.session.peer.inFlight, [])
    })
  )
})

describe("Round limits", () => {
  it.effect("A request with too many rounds ends with a clear error", () =>
    Effect.gen(function* () {
      const client = yield* open(tool(Effect.forever(ask("more?"))), {}, { rounds: { rounds: 3 } })
      const asked: Array<string> = []
      const error = yield* Effect.flip(
        client.playTool("ask", (question) => {
          asked.push(question.params.message)
          return accept({ name: "x" })
        })
      )
      assert(error instanceof McpError.McpError)
      assert.match(error.message, /more than 3 times/)
      assert.strictEqual(asked.length, 3)
    })
  )

  it.effect("Rounds without answers count too, and the default limit is ten", () =>
    Effect.gen(function* () {
      const client = yield* open(tool(ask("a")))
      let rounds = 0
      const error = yield* Effect.flip(
        client.playTool("ask", () => {
          rounds++
          return undefined
        })
      )
      assert(error instanceof McpError.McpError)
      assert.match(error.message, /more than 10 times/)
      assert.strictEqual(rounds, 10)
    })
  )

  it.effect("A request that records too many bytes ends with a clear error", () =>
    Effect.gen(function* () {
      const handler = Effect.andThen(Once.run("big", Schema.String, Effect.succeed("x".repeat(30_000))), ask("a"))
      const small = yield* open(tool(handler), {}, { rounds: { stateBytes: 64 * 1024 } })
      assert.strictEqual((yield* small.call("ask")).resultType, "input_required")
      const client = yield* open(tool(handler))
      const error = yield* client.refused("tools/call", { name: "ask" })
      assert.match(error.message, /larger than 32768 bytes/)
    })
  )
})

describe("Requests that ask", () => {
  it.effect("A request that asks reports progress in every round, and never after its answer", () =>
    Effect.gen(function* () {
      const handler = Effect.gen(function* () {
        yield* Progress.report(1, { total: 2 })
        yield* Effect.ensuring(ask("a"), Progress.report(2, { total: 2 }))
        return "done"
      })
      const client = yield* open(tool(handler))
      const first = yield* client.call("ask", {}, { progressToken: "one" })
      yield* client.request("tools/call", {
        name: "ask",
        arguments: {},
        requestState: first.requestState,
        inputResponses: { [Object.keys(first.inputRequests)[0]!]: accept({ name: "x" }) },
        _meta: { progressToken: "two" }
      })
      const notes = client.received.map(({ method, params }) =>
        method === undefined ? "answer" : `${params.progressToken} ${params.progress}`
      )
      assert.deepStrictEqual(notes, ["one 1", "one 2", "answer", "two 1", "two 2", "answer"])
    })
  )

  it.effect(
    "A cancelled 2026-07-28 request ends immediately, with no further message about it",
    () =>
      Effect.gen(function* () {
        const seen = yield* Deferred.make<boolean>()
        const handler = Effect.never.pipe(
          Effect.onExit((exit) =>
            Effect.andThen(Progress.report(5), Deferred.succeed(seen, Exit.isFailure(exit) && isSuspension(exit.cause)))
          )
        )
        const client = yield* open(tool(handler))
        const call = yield* Effect.forkChild(client.call("ask", {}, { progressToken: "t" }))
        yield* quiesce
        yield* Fiber.interrupt(call)
        assert.isFalse(yield* Deferred.await(seen))
        yield* quiesce
        assert.deepStrictEqual(client.received, [])
        assert.deepStrictEqual(yield* client.session.peer.inFlight, [])
      }),
    verifies("stdio.cancel.nothing-more", "stdio.cancel.stops")
  )

  it.effect("One connection can mix wire questions of a session with 2026-07-28 rounds", () =>
    Effect.gen(function* () {
      const server = yield* serve({ features: tool(Effect.all([ask("a"), ask("b")])) })
      const wire = yield* connect(server, {
        capabilities: { elicitation: {} },
        answer: (_method, params) => Effect.succeed(accept({ name: `wire ${params.message}` }))
      })
      const client = modern(wire)
      const results = yield* Effect.all(
        [wire.call("ask"), client.playTool("ask", echo), wire.call("ask"), client.playTool("ask", echo)],
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        [said(results[0]), said(results[1].result), said(results[2]), said(results[3].result)],
        [
          ["wire a", "wire b"],
          ["a", "b"],
          ["wire a", "wire b"],
          ["a", "b"]
        ]
      )
      assert.strictEqual(client.asked.length, 4)
    })
  )

  it.effect("A request's era is chosen only by its _meta", () =>
    Effect.gen(function* () {
      const server = yield* serve({ features: tool(ask("a")) })
      const poor = yield* connect(server, { capabilities: {} })
      assert.match(said(yield* poor.call("ask")).failed, /elicitation/)
      assert.strictEqual(said((yield* modern(poor).playTool("ask", echo)).result), "a")
      const rich = yield* connect(server, {
        capabilities: { elicitation: {} },
        answer: () => Effect.succeed(accept({ name: "x" }))
      })
      assert.strictEqual(said(yield* rich.call("ask")), "x")
      assert.match(said(yield* modern(rich, {}).call("ask")).failed, /elicitation/)
    })
  )

  it.effect("A hundred concurrent requests each receive their own answers", () =>
    Effect.gen(function* () {
      const handler = Tools.layer(Tool.make("echo", { description: "", input: { n: Schema.Int } }), ({ n }) =>
        Effect.map(Effect.all([ask(`${n}a`), ask(`${n}b`)]), json)
      )
      const client = yield* open(handler)
      const results = yield* Effect.forEach(
        Array.from({ length: 100 }, (_, n) => n),
        (n) => client.playTool("echo", echo, { n }),
        { concurrency: "unbounded" }
      )
      results.forEach(({ result }, n) => assert.deepStrictEqual(said(result), [`${n}a`, `${n}b`]))
    })
  )

  it.effect("A request that dies or fails after a question is answered as usual", () =>
    Effect.gen(function* () {
      const client = yield* open(
        Layer.mergeAll(
          tool(Effect.andThen(ask("a"), Effect.die(new Error("secret"))), "dies"),
          tool(Effect.andThen(ask("a"), Effect.fail(new Tools.ToolFailure({ message: "sorry" }))), "fails"),
          tool(Effect.andThen(ask("a"), Effect.interrupt), "interrupts")
        )
      )
      assert.strictEqual(said((yield* client.playTool("fails", echo)).result).failed, "sorry")
      for (const name of ["dies", "interrupts"]) {
        const error = yield* Effect.flip(client.playTool(name, echo))
        assert(error instanceof McpError.McpError)
        assert.notMatch(error.message, /secret/)
      }
    })
  )

  it.effect("Any fiber started by a handler can ask", () =>
    Effect.gen(function* () {
      const handler = Effect.gen(function* () {
        const one = yield* Effect.forkChild(ask("a"))
        const two = yield* Effect.forkScoped(ask("b"))
        return [yield* Fiber.join(one), yield* Fiber.join(two)]
      })
      const client = yield* open(tool(handler))
      const { asked, result } = yield* client.playTool("ask", echo)
      assert.deepStrictEqual(said(result), ["a", "b"])
      assert.strictEqual(asked.length, 1)
    })
  )

  it.effect("A handler can ask from a stream", () =>
    Effect.gen(function* () {
      const handler = Stream.make("a", "b", "c").pipe(
        Stream.mapEffect((n) => ask(n)),
        Stream.runCollect
      )
      const client = yield* open(tool(handler))
      const { asked, result } = yield* client.playTool("ask", echo)
      assert.deepStrictEqual(said(result), ["a", "b", "c"])
      assert.strictEqual(asked.length, 3)
    })
  )
})

it.effect("A request is sealed even if the first sealing was interrupted", () =>
  Effect.gen(function* () {
    let scheduler: StepScheduler
    let steps = 1
    do {
      let client: Modern | undefined = undefined
      scheduler = new StepScheduler(steps, () => client?.session.peer.interrupt("Not needed"))
      client = yield* Effect.provideService(open(tool(ask("a"))), Scheduler, scheduler)
      yield* scheduler.during(Effect.exit(client.call("ask")))
      const { result } = yield* client.playTool("ask", echo)
      assert.strictEqual(said(result), "a", `interrupted after ${steps} steps`)
      steps += scaled(31, 1)
    } while (scheduler.isReached)
  })
)

it.effect("Two servers sharing a features value reject each other's states", () =>
  Effect.gen(function* () {
    const features = tool(ask("a"))
    const [one, two] = [yield* serve({ features }), yield* serve({ features })]
    const client = yield* join(one)
    const other = yield* join(two)
    const { inputRequests, requestState } = yield* client.call("ask")
    const retry = {
      name: "ask",
      arguments: {},
      requestState,
      inputResponses: { [Object.keys(inputRequests)[0]!]: accept({ name: "x" }) }
    }
    assert.strictEqual((yield* other.refused("tools/call", retry)).code, McpError.InvalidParams)
    assert.strictEqual(said(yield* client.request("tools/call", retry)), "x")
    assert.strictEqual(said((yield* other.playTool("ask", echo)).result), "a")
  })
)

it("A cause containing only an interrupt is not a suspension", () => {
  assert.isFalse(isSuspension(Cause.interrupt()))
})
