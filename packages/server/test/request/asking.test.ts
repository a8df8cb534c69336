/** Asking the client during a request, for forms, pages, models and roots, and every way in which that can fail. */
import type * as ClientInput from "@effect-mcp/core/ClientInput"
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as Roots from "@effect-mcp/core/Roots"
import * as Sampling from "@effect-mcp/core/Sampling"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Queue, Schema, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import {
  type Answer,
  connect,
  type ConnectOptions,
  everyVersion,
  serve,
  session,
  quiesce,
  versions
} from "../support/raw.ts"

const Booking = Schema.Struct({
  name: Schema.String,
  guests: Schema.Int,
  day: Schema.Date,
  table: Schema.Literals(["inside", "outside"]),
  vegan: Schema.optionalKey(Schema.Boolean)
})
type Services = Elicitation.Elicitation | Sampling.Sampling | Roots.Roots
/** A tool that asks and returns the outcome as JSON; `caught` returns failures by their tag. */
const asking = <A, E extends ClientInput.AskError | McpError.McpError>(question: Effect.Effect<A, E, Services>) =>
  Layer.merge(
    Tools.layer(Tool.make("ask", { description: "" }), () =>
      Effect.map(
        Effect.match(question, {
          onFailure: (error) => Object.assign({}, error, { _tag: error._tag, message: error.message }),
          onSuccess: (value) => value as unknown
        }),
        (value) => JSON.stringify(value ?? null)
      )
    ),
    Tools.layer(Tool.make("uncaught", { description: "" }), () => Effect.as(question, "asked"))
  )
const ask = (client: { call: (name: string) => Effect.Effect<any, any> }) =>
  Effect.map(client.call("ask"), (result) => JSON.parse(result.content[0].text))
const answering =
  (result: unknown): Answer =>
  () =>
    Effect.succeed(result)
const form = asking(Elicitation.form("Book a table", Booking))
const page = asking(Elicitation.url({ message: "Pay", url: "https://example.com/pay", elicitationId: "e1" }))
const model = (params: Partial<Parameters<typeof Sampling.createMessage>[0]> = {}) =>
  asking(
    Sampling.createMessage({
      messages: [{ role: "user", content: { type: "text", text: "2+2?" } }],
      maxTokens: 10,
      ...params
    })
  )
const sampled = { role: "assistant", content: { type: "text", text: "4" }, model: "m", stopReason: "endTurn" }

describe("Forms", () => {
  for (const version of everyVersion("2025-06-18")) {
    it.effect(
      `The handler receives the decoded answer to a form in ${version}`,
      () =>
        Effect.gen(function* () {
          const content = { name: "Ann", guests: 2, day: "2026-01-02T00:00:00.000Z", table: "inside" }
          const client = yield* session(form, {
            version,
            capabilities: { elicitation: {} },
            answer: answering({ action: "accept", content })
          })
          assert.deepStrictEqual(yield* ask(client), content)
          const [question] = client.asked
          assert.strictEqual(question?.method, "elicitation/create")
          assert.strictEqual(question?.params.message, "Book a table")
          assert.isTrue(question?.params.mode === undefined || question?.params.mode === "form")
          const { requestedSchema } = question!.params
          assert.strictEqual(requestedSchema.type, "object")
          assert.deepStrictEqual(requestedSchema.required, ["name", "guests", "day", "table"])
          assert.deepInclude(requestedSchema.properties.guests, { type: "integer" })
          assert.deepInclude(requestedSchema.properties.day, { type: "string", format: "date-time" })
          assert.deepStrictEqual(requestedSchema.properties.table.enum, ["inside", "outside"])
        }),
      version >= "2025-11-25" ? verifies("elicitation.request.mode-and-message", "elicitation.form.request") : {}
    )

    for (const action of ["decline", "cancel"] as const) {
      it.effect(`A form answered with ${action} fails with Declined in ${version}, which the model can read`, () =>
        Effect.gen(function* () {
          const client = yield* session(form, {
            version,
            capabilities: { elicitation: {} },
            answer: answering({ action })
          })
          assert.deepInclude(yield* ask(client), { _tag: "Declined", action })
          const result = yield* client.call("uncaught")
          assert.isTrue(result.isError)
          assert.match(result.content[0].text, action === "decline" ? /declined/ : /dismissed/)
        })
      )
    }
  }

  for (const version of versions("2025-06-18")) {
    it.effect(
      `An invalid form answer is rejected in ${version}`,
      () =>
        Effect.gen(function* () {
          const wrong = [
            { action: "accept", content: { name: "Ann", guests: 2.5, day: "2026-01-02", table: "inside" } },
            { action: "accept", content: { name: "Ann", guests: 2, day: "2026-01-02", table: "roof" } },
            { action: "accept" },
            { action: "maybe" },
            {},
            null,
            { action: "accept", content: { name: { nested: 1 } } }
          ]
          for (const answer of wrong) {
            const client = yield* session(form, {
              version,
              capabilities: { elicitation: {} },
              answer: answering(answer)
            })
            assert.strictEqual((yield* ask(client))._tag, "McpError", JSON.stringify(answer))
          }
        }),
      verifies("elicitation.form.server-validates")
    )
  }
})

describe("Pages", () => {
  for (const version of everyVersion("2025-11-25")) {
    it.effect(
      `A URL question needs consent and carries a message, a URL and an id (${version})`,
      () =>
        Effect.gen(function* () {
          const client = yield* session(page, {
            version,
            capabilities: { elicitation: { url: {} } },
            answer: answering({ action: "accept" })
          })
          assert.strictEqual(yield* ask(client), "e1")
          assert.deepStrictEqual(client.asked[0]?.params, {
            mode: "url",
            message: "Pay",
            url: "https://example.com/pay",
            ...(version < "2026-07-28" ? { elicitationId: "e1" } : undefined)
          })
        }),
      verifies("elicitation.url.request", "elicitation.request.mode-and-message")
    )
  }

  for (const version of everyVersion("2025-11-25")) {
    it.effect(
      `A URL question with an invalid URL is a defect and is never sent (${version})`,
      () =>
        Effect.gen(function* () {
          for (const url of ["", "pay", "//example.com", "https://"]) {
            const client = yield* session(asking(Elicitation.url({ message: "Pay", url, elicitationId: "e" })), {
              version,
              capabilities: { elicitation: { url: {} } },
              answer: answering({ action: "accept" })
            })
            assert.strictEqual((yield* client.refused("tools/call", { name: "ask" })).code, -32603)
            assert.deepStrictEqual(client.asked, [])
          }
        }),
      verifies("elicitation.url.valid")
    )
  }

  it.effect(
    "UrlElicitationRequired fails with -32042 and lists the URLs",
    () =>
      Effect.gen(function* () {
        const question = { message: "Log in", url: "https://example.com/login", elicitationId: "e1" }
        const features = Tools.layer(Tool.make("pay", { description: "" }), () =>
          Elicitation.required("Log in first", [question, { ...question, elicitationId: "e2" }])
        )
        const client = yield* session(features, { capabilities: { elicitation: { url: {} } } })
        const error = yield* client.refused("tools/call", { name: "pay" })
        assert.deepStrictEqual([error.code, error.message], [-32042, "Log in first"])
        assert.deepStrictEqual(error.data, {
          elicitations: [
            { mode: "url", ...question },
            { mode: "url", ...question, elicitationId: "e2" }
          ]
        })
      }),
    verifies("elicitation.required-error.lists", "elicitation.required-error.url-mode", "elicitation.error.required")
  )

  for (const version of versions()) {
    it.effect(
      `A ${version} client without URL mode is never required to visit a URL`,
      () =>
        Effect.gen(function* () {
          const question = { message: "m", url: "https://example.com", elicitationId: "e" }
          const features = Tools.layer(Tool.make("pay", { description: "" }), () =>
            Elicitation.required("m", [question])
          )
          const elicitation = version >= "2025-11-25" ? { form: {} } : { url: {} }
          const client = yield* session(features, { version, capabilities: { elicitation } })
          const result = yield* client.call("pay")
          assert.isTrue(result.isError)
          assert.match(result.content[0].text, /elicitation.url/)
        }),
      version >= "2025-11-25"
        ? verifies("elicitation.required-error.only-if-required", "elicitation.mode.not-undeclared")
        : {}
    )
  }

  it.effect(
    "The completion of a URL elicitation is announced only to its own client",
    () =>
      Effect.gen(function* () {
        const server = yield* serve({ features: page })
        const url = { capabilities: { elicitation: { url: {} } } }
        const [one, two] = [yield* connect(server, url), yield* connect(server, url)]
        const older = yield* connect(server, { ...url, version: "2025-06-18" })
        const without = yield* connect(server, { capabilities: { elicitation: {} } })
        for (const client of [one, older, without]) yield* server.elicitationComplete(client.session, "e1")
        yield* quiesce
        const complete = (client: typeof one) => client.notes("notifications/elicitation/complete")
        assert.deepStrictEqual(
          complete(one).map((note) => note.params),
          [{ elicitationId: "e1" }]
        )
        for (const client of [two, older, without]) assert.deepStrictEqual(complete(client), [])
      }),
    verifies("elicitation.complete.initiator-only", "elicitation.complete.id")
  )
})

describe("Models", () => {
  for (const version of everyVersion()) {
    it.effect(`The handler receives the answer to a sampling request in ${version}`, () =>
      Effect.gen(function* () {
        const client = yield* session(
          model({
            systemPrompt: "Be brief",
            temperature: 0,
            modelPreferences: { hints: [{ name: "m" }] },
            stopSequences: ["."]
          }),
          { version, capabilities: { sampling: {} }, answer: answering(sampled) }
        )
        assert.deepStrictEqual(yield* ask(client), sampled)
        assert.deepStrictEqual(client.asked[0], {
          method: "sampling/createMessage",
          params: {
            messages: [{ role: "user", content: { type: "text", text: "2+2?" } }],
            maxTokens: 10,
            systemPrompt: "Be brief",
            temperature: 0,
            modelPreferences: { hints: [{ name: "m" }] },
            stopSequences: ["."]
          }
        })
      })
    )
  }

  for (const version of versions()) {
    it.effect(
      `A sampling request fails if its answer has content that ${version} does not support`,
      () =>
        Effect.gen(function* () {
          const wrong = [{ type: "text" }, { type: "image", data: "AA==" }, { type: "film" }, "text", null, undefined]
          for (const content of wrong) {
            const client = yield* session(model(), {
              version,
              capabilities: { sampling: {} },
              answer: answering({ ...sampled, content })
            })
            assert.strictEqual((yield* ask(client))._tag, "McpError", JSON.stringify(content))
          }
        }),
      verifies("sampling.security.content-validated")
    )
  }

  const tool = { name: "t", inputSchema: { type: "object" as const } }
  const use = { type: "tool_use", id: "u1", name: "t", input: {} } as const
  const result = { type: "tool_result", toolUseId: "u1", content: [], _meta: { kept: 1 } } as const
  const text = { type: "text", text: "x" } as const
  const all = { sampling: { tools: {}, context: {} } }

  for (const version of everyVersion("2025-11-25")) {
    it.effect(
      `A model can use tools if the client declared them, and _meta is preserved (${version})`,
      () =>
        Effect.gen(function* () {
          const messages = [
            { role: "assistant", content: [{ ...use, _meta: { k: 1 } }] },
            { role: "user", content: [result] }
          ] as const
          const client = yield* session(model({ tools: [tool], toolChoice: { mode: "auto" }, messages }), {
            version,
            capabilities: all,
            answer: answering({ ...sampled, content: [use], stopReason: "toolUse" })
          })
          assert.deepStrictEqual((yield* ask(client)).content, [use])
          assert.deepStrictEqual(client.asked[0]?.params.messages, messages)
          assert.notProperty(client.asked[0]?.params, "includeContext")
        }),
      verifies("sampling.tools.meta-preserved", "sampling.context.avoided")
    )

    it.effect(
      `A sampling request with unbalanced tool results fails with -32602 and is never sent (${version})`,
      () =>
        Effect.gen(function* () {
          const assistant = (...content: ReadonlyArray<any>) => ({ role: "assistant", content }) as const
          const user = (...content: ReadonlyArray<any>) => ({ role: "user", content }) as const
          const wrong = [
            [assistant(use)],
            [assistant(use), user(text)],
            [assistant(use), user(result, text)],
            [assistant(use), assistant(text), user(result)],
            [user(result)],
            [assistant(use), user({ ...result, toolUseId: "u2" })],
            [assistant(use), user(result, result)],
            [assistant(use, use), user(result)],
            [user(use), user(result)],
            [assistant(use), assistant(result)]
          ]
          for (const messages of wrong) {
            const client = yield* session(model({ tools: [tool], messages }), {
              version,
              capabilities: all,
              answer: answering(sampled)
            })
            assert.deepInclude(yield* ask(client), { _tag: "McpError", code: -32602 }, JSON.stringify(messages))
            assert.deepStrictEqual(client.asked, [])
          }
        }),
      verifies(
        "sampling.tool-results.alone",
        "sampling.tool-results.balanced",
        "sampling.tool-results.known-id",
        "sampling.security.content-validated"
      )
    )
  }
})

describe("Roots", () => {
  for (const version of everyVersion()) {
    it.effect(
      `Roots are listed in ${version} and requested again each time`,
      () =>
        Effect.gen(function* () {
          let roots = [{ uri: "file:///a", name: "a" }]
          const client = yield* session(asking(Roots.list), {
            version,
            capabilities: { roots: {} },
            answer: () => Effect.sync(() => ({ roots }))
          })
          assert.deepStrictEqual(yield* ask(client), roots)
          roots = []
          assert.deepStrictEqual(yield* ask(client), [])
        }),
      verifies("roots.list-changed.server-asks-again", "roots.server.capability-checked")
    )
  }

  for (const version of versions()) {
    it.effect(
      `Root changes in ${version} reach a running handler if the client declared listChanged`,
      () =>
        Effect.gen(function* () {
          const heard = yield* Queue.unbounded<string>()
          const features = Tools.layer(Tool.make("watch", { description: "" }), () =>
            Effect.flatMap(Roots.Roots, ({ changes }) =>
              changes === undefined
                ? Effect.succeed("never")
                : Effect.as(
                    Stream.runForEach(Stream.take(changes, 2), () => Queue.offer(heard, "changed")),
                    "twice"
                  )
            )
          )
          const client = yield* session(features, { version, capabilities: { roots: { listChanged: true } } })
          const call = yield* Effect.forkChild(client.call("watch"), { startImmediately: true })
          yield* quiesce
          yield* client.notify("notifications/roots/list_changed")
          assert.strictEqual(yield* Queue.take(heard), "changed")
          yield* client.notify("notifications/roots/list_changed")
          assert.strictEqual((yield* Fiber.join(call)).content[0].text, "twice")
          const without = yield* session(features, { version, capabilities: { roots: {} } })
          assert.strictEqual((yield* without.call("watch")).content[0].text, "never")
        }),
      verifies("roots.server.changes-handled")
    )
  }

  for (const version of versions()) {
    it.effect(
      `A client's failure to list roots in ${version} fails the question`,
      () =>
        Effect.gen(function* () {
          const client = yield* session(asking(Roots.list), {
            version,
            capabilities: { roots: {} },
            answer: () => Effect.fail(McpError.internalError("No disk"))
          })
          assert.deepInclude(yield* ask(client), { _tag: "McpError", code: -32603, message: "No disk" })
        }),
      verifies("roots.server.unavailable")
    )
  }

  it.effect(
    "A 2026-07-28 client that cannot list roots is asked until the rounds run out",
    () =>
      Effect.gen(function* () {
        const client = yield* session(asking(Roots.list), {
          version: "2026-07-28",
          capabilities: { roots: {} },
          answer: answering({})
        })
        const { code, message } = yield* client.refused("tools/call", { name: "ask" })
        assert.deepStrictEqual([code, message], [-32603, "The request asked for input more than 10 times"])
        assert.lengthOf(client.asked, 10)
      }),
    verifies("roots.server.unavailable")
  )
})

describe("Undeclared client capabilities", () => {
  const tools = [{ name: "t", inputSchema: { type: "object" as const } }]
  const cases: ReadonlyArray<
    readonly [
      what: string,
      features: ReturnType<typeof asking>,
      missing: string,
      lacking: object,
      having: object,
      since: string
    ]
  > = [
    ["a form", form, "elicitation.form", {}, { elicitation: {} }, "2025-06-18"],
    [
      "a form (pages only)",
      form,
      "elicitation.form",
      { elicitation: { url: {} } },
      { elicitation: { form: {}, url: {} } },
      "2025-06-18"
    ],
    ["a page", page, "elicitation.url", { elicitation: {} }, { elicitation: { url: {} } }, "2025-11-25"],
    [
      "a page (forms only)",
      page,
      "elicitation.url",
      { elicitation: { form: {} } },
      { elicitation: { form: {}, url: {} } },
      "2025-11-25"
    ],
    ["a model", model(), "sampling", { elicitation: {} }, { sampling: {} }, "2024-11-05"],
    [
      "a model with tools",
      model({ tools }),
      "sampling.tools",
      { sampling: {} },
      { sampling: { tools: {} } },
      "2025-11-25"
    ],
    [
      "a model with a tool choice",
      model({ toolChoice: { mode: "none" } }),
      "sampling.tools",
      { sampling: { context: {} } },
      { sampling: { tools: {} } },
      "2025-11-25"
    ],
    ["roots", asking(Roots.list), "roots", { sampling: {} }, { roots: {} }, "2024-11-05"]
  ]
  for (const version of everyVersion()) {
    for (const [what, features, missing, lacking, having, since] of cases) {
      it.effect(
        `A question for ${what} in ${version} without its capability fails with CapabilityMissing and is not sent`,
        () =>
          Effect.gen(function* () {
            const options = (capabilities: object): ConnectOptions => ({ version, capabilities })
            const client = yield* session(features, options(version >= since ? lacking : having))
            assert.deepInclude(yield* ask(client), { _tag: "CapabilityMissing", capability: missing })
            if (version < "2026-07-28") {
              const uncaught = yield* client.call("uncaught")
              assert.isTrue(uncaught.isError)
              assert.include(uncaught.content[0].text, missing)
            } else {
              const uncaught = yield* client.refused("tools/call", { name: "uncaught" })
              assert.strictEqual(uncaught.code, McpError.MissingClientCapability)
            }
            assert.deepStrictEqual(client.asked, [])
            assert.deepStrictEqual(
              client.received.filter((message) => "method" in message),
              []
            )
            if (version < since) return
            const able = yield* session(features, options(having))
            yield* Effect.forkChild(able.call("ask"), { startImmediately: true })
            yield* able.nextAsk
          }),
        version >= "2025-11-25"
          ? verifies(
              "elicitation.mode.not-undeclared",
              "sampling.tools.not-undeclared",
              "lifecycle.operation.capabilities-respected"
            )
          : verifies("lifecycle.operation.capabilities-respected", "lifecycle.error.missing-capability")
      )
    }
  }

  for (const version of everyVersion("2025-11-25")) {
    for (const context of ["thisServer", "allServers"] as const) {
      it.effect(
        `A question with ${context} context in ${version} without its capability fails with CapabilityMissing`,
        () =>
          Effect.gen(function* () {
            const features = model({ includeContext: context })
            const client = yield* session(features, {
              version,
              capabilities: { sampling: {} },
              answer: answering(sampled)
            })
            assert.deepInclude(yield* ask(client), { _tag: "CapabilityMissing", capability: "sampling.context" })
            const older = yield* session(features, {
              version: "2025-06-18",
              capabilities: { sampling: {} },
              answer: answering(sampled)
            })
            assert.deepStrictEqual(yield* ask(older), sampled)
            const none = yield* session(model({ includeContext: "none" }), {
              version,
              capabilities: { sampling: {} },
              answer: answering(sampled)
            })
            assert.deepStrictEqual(yield* ask(none), sampled)
          }),
        verifies("sampling.context.not-undeclared")
      )
    }
  }

  it.effect("A handler can continue without a capability with ifSupported", () =>
    Effect.gen(function* () {
      const client = yield* session(
        asking(Elicitation.ifSupported(Elicitation.confirm("Sure?"), Effect.succeed("did not ask")))
      )
      assert.strictEqual(yield* ask(client), "did not ask")
    })
  )
})

describe("Question lifecycle", () => {
  const elicitation = { elicitation: {} }

  it.effect(
    "A question is cancelled on the wire when its request is cancelled (2025-11-25)",
    () =>
      Effect.gen(function* () {
        const client = yield* session(form, { capabilities: elicitation })
        const call = yield* Effect.forkChild(client.call("ask"), { startImmediately: true })
        yield* client.nextAsk
        const id = client.received.find((message) => message.method === "elicitation/create").id
        yield* Fiber.interrupt(call)
        yield* quiesce
        assert.deepInclude(client.notes("notifications/cancelled")[0].params, { requestId: id })
        assert.deepStrictEqual(yield* client.peer.inFlight, [])
        assert.deepStrictEqual(yield* client.session.peer.inFlight, [])
      }),
    verifies("cancellation.receiver.stops", "cancellation.sender.own-request", "cancellation.notification.request-id")
  )

  for (const version of versions("2025-06-18")) {
    it.effect(
      `An unanswered question in ${version} fails with Timeout and is cancelled on the wire`,
      () =>
        Effect.gen(function* () {
          const client = yield* session(form, { capabilities: elicitation, version }, { askTimeout: "1 minute" })
          const call = yield* Effect.forkChild(ask(client), { startImmediately: true })
          yield* client.nextAsk
          yield* TestClock.adjust("59 seconds")
          assert.isUndefined(call.pollUnsafe())
          yield* TestClock.adjust("1 second")
          yield* quiesce
          assert.deepInclude(yield* Fiber.join(call), { _tag: "Timeout", method: "elicitation/create" })
          assert.strictEqual(client.notes("notifications/cancelled").length, 1)
        }),
      verifies("lifecycle.timeout.every-request", "lifecycle.timeout.cancels", "lifecycle.error.timeout")
    )
  }

  it.effect("A question before initialized times out if the client never sends initialized", () =>
    Effect.gen(function* () {
      const client = yield* session(
        form,
        { capabilities: elicitation, handshake: "answered" },
        { askTimeout: "1 minute" }
      )
      const call = yield* Effect.forkChild(ask(client), { startImmediately: true })
      yield* quiesce
      yield* TestClock.adjust("1 minute")
      yield* quiesce
      assert.deepInclude(yield* Fiber.join(call), { _tag: "Timeout" })
      assert.deepStrictEqual(client.asked, [])
    })
  )

  it.effect("A question fails with Closed as soon as the client disconnects", () =>
    Effect.gen(function* () {
      const seen = yield* Queue.unbounded<string>()
      const features = Tools.layer(Tool.make("ask", { description: "" }), () =>
        Effect.uninterruptible(
          Effect.matchEffect(Elicitation.confirm("Sure?"), {
            onFailure: (error) => Effect.as(Queue.offer(seen, error._tag), ""),
            onSuccess: () => Effect.succeed("")
          })
        )
      )
      const server = yield* serve({ features })
      const scope = yield* Scope.make()
      const client = yield* Scope.provide(connect(server, { capabilities: elicitation }), scope)
      yield* Effect.forkChild(Effect.exit(client.call("ask")), { startImmediately: true })
      yield* client.nextAsk
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(yield* Queue.take(seen), "Closed")
      assert.deepStrictEqual(yield* server.sessions, [])
    })
  )

  it.effect("A question that the client answers with an error fails with that error", () =>
    Effect.gen(function* () {
      const client = yield* session(model(), {
        capabilities: { sampling: {} },
        answer: () => Effect.fail(McpError.internalError("The model is down"))
      })
      assert.deepInclude(yield* ask(client), { _tag: "McpError", code: -32603, message: "The model is down" })
    })
  )

  it.effect("A question the user rejects (-1) fails with a catchable Declined", () =>
    Effect.gen(function* () {
      const client = yield* session(model(), {
        capabilities: { sampling: {} },
        answer: () => Effect.fail(Sampling.rejected())
      })
      assert.deepInclude(yield* ask(client), { _tag: "Declined", action: "decline" })
    })
  )

  it.effect("A question does not delay the client's other requests", () =>
    Effect.gen(function* () {
      const client = yield* session(form, { capabilities: elicitation })
      yield* Effect.forkChild(client.call("ask"), { startImmediately: true })
      yield* client.nextAsk
      assert.strictEqual((yield* client.request("tools/list")).tools.length, 2)
      assert.deepStrictEqual(
        (yield* client.session.peer.inFlight).map((one) => [one.method, one.state]),
        [["tools/call", "running"]]
      )
    })
  )
})

describe("Question routing", () => {
  for (const version of everyVersion("2025-06-18")) {
    it.effect(
      `A question is sent only to the client whose request asks, in ${version}`,
      () =>
        Effect.gen(function* () {
          const server = yield* serve({ features: form })
          const [one, two] = yield* Effect.all([
            connect(server, { version, capabilities: { elicitation: {} } }),
            connect(server, { version, capabilities: { elicitation: {} } })
          ])
          const call = yield* Effect.forkChild(two.call("ask"), { startImmediately: true })
          assert.strictEqual((yield* two.nextAsk).method, "elicitation/create")
          yield* quiesce
          assert.deepStrictEqual(one.asked, [])
          yield* Fiber.interrupt(call)
        }),
      verifies("elicitation.request.bound")
    )
  }

  it.effect(
    "A URL question gets a unique id unless the handler sets one, in 2025-11-25",
    () =>
      Effect.gen(function* () {
        const pages = asking(
          Effect.all([
            Elicitation.url({ message: "Pay", url: "https://example.com/a" }),
            Elicitation.url({ message: "Pay", url: "https://example.com/a" })
          ])
        )
        const client = yield* session(pages, {
          capabilities: { elicitation: { url: {} } },
          answer: answering({ action: "accept" })
        })
        const ids = yield* ask(client)
        assert.strictEqual(new Set(ids).size, 2)
        assert.deepStrictEqual(
          client.asked.map(({ params }) => params.elicitationId),
          ids
        )
      }),
    verifies("elicitation.url.id-unique")
  )
})
