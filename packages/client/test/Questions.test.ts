import * as Consent from "@effect-mcp/client/Consent"
import { Elicitation } from "@effect-mcp/core/Elicitation"
import { Roots } from "@effect-mcp/core/Roots"
import { Sampling } from "@effect-mcp/core/Sampling"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { ElicitParams } from "@effect-mcp/protocol/model/Elicitation"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import type { Version } from "@effect-mcp/protocol/Revision"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream, SubscriptionRef } from "effect"
import { asker, refused } from "./support/asking.ts"
import { all, connected, since, until, versions } from "./support/connected.ts"
import * as Modern from "./support/modern.ts"

const answer = { role: "assistant", model: "m", content: { type: "text", text: "Hi" } } as const
const model = (capabilities?: { tools?: boolean; context?: boolean }) =>
  Sampling.layer(() => Effect.succeed(answer), capabilities)
const forms = Elicitation.layer({ form: () => Effect.succeed({ action: "accept", content: { name: "Ada" } }) })
const pages = Elicitation.layer({ url: () => Effect.succeed({ action: "accept", content: { not: "sent" } }) })
const both = Elicitation.layer({
  form: () => Effect.succeed({ action: "decline", content: { not: "sent" } }),
  url: () => Effect.succeed({ action: "accept" })
})
const home = Roots.layerStatic([{ uri: "file:///home/ada", name: "Home" }])

const sampling = { messages: [{ role: "user", content: { type: "text", text: "Hello" } }], maxTokens: 10 }
const form = (requestedSchema: object = { type: "object", properties: { name: { type: "string" } } }) => ({
  message: "Your name?",
  requestedSchema
})
const page = { mode: "url" as const, message: "Pay", url: "https://pay.example.com/1", elicitationId: "e1" }

/** What the client declares, and what it answers to one question. */
const declared = (version: Version) =>
  Effect.map(connected({ version }, { revisions: [version] }), ({ server }) =>
    version === Modern.version
      ? Modern.declared(server.requests("server/discover")[0], Meta.clientCapabilities)
      : server.requests("initialize")[0]?.params?.capabilities
  )
const asked = (version: Version, method: string, params?: object) =>
  Effect.flatMap(asker(version), ({ ask }) => ask(method, params))
const codeOf = (version: Version, method: string, params?: object) =>
  Effect.map(Effect.flip(asked(version, method, params)), (error) =>
    error instanceof McpError.McpError ? error.code : error._tag
  )

describe.each(all)("a client of %s", (version) => {
  it.effect("declares nothing without services, and has no such methods" + verifies("roots.error.not-supported"), () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* declared(version), {})
      for (const method of ["roots/list", "sampling/createMessage", "elicitation/create", "no/such"]) {
        assert.strictEqual(yield* codeOf(version, method, sampling), refused(version, -32601), method)
      }
    })
  )

  it.effect(`declares the model it has and asks it${verifies("sampling.capability.declared")}`, () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* declared(version), { sampling: {} })
      assert.deepStrictEqual(yield* asked(version, "sampling/createMessage", sampling), answer)
    }).pipe(Effect.provide(model()))
  )

  it.effect(
    `answers a rejected or failed sampling request with an error${verifies(
      "sampling.error.rejected",
      "sampling.error.returned"
    )}`,
    () =>
      Effect.gen(function* () {
        const rejected = Sampling.layer(() => Effect.fail(new McpError.McpError({ code: -1, message: "No" })))
        assert.strictEqual(
          yield* codeOf(version, "sampling/createMessage", sampling).pipe(Effect.provide(rejected)),
          -1
        )
        const dead = Sampling.layer(() => Effect.die("no model"))
        // In a call of its own, a defect is the caller's.
        if (version !== Modern.version) {
          assert.strictEqual(
            yield* codeOf(version, "sampling/createMessage", sampling).pipe(Effect.provide(dead)),
            -32603
          )
        }
        assert.strictEqual(
          yield* codeOf(version, "sampling/createMessage", { maxTokens: 1 }).pipe(Effect.provide(dead)),
          refused(version, -32602)
        )
      })
  )

  it.effect(`declares its roots and lists them${verifies("roots.capability.declared", "roots.uri.file")}`, () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* declared(version), { roots: {} })
      assert.deepStrictEqual(yield* asked(version, "roots/list"), {
        roots: [{ uri: "file:///home/ada", name: "Home" }]
      })
    }).pipe(Effect.provide(home))
  )

  it.effect.each([
    "https://example.com",
    "home",
    "file:///home/ada/../bob",
    "file:///home/%2e%2E/bob",
    "file:///home/ada/.."
  ])(`never sends %s as a root${verifies("roots.client.uri-validated", "roots.error.internal")}`, (uri) =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* codeOf(version, "roots/list").pipe(Effect.provide(Roots.layerStatic([{ uri }]))),
        -32603
      )
    })
  )

  it.effect(
    "asks for consent before roots and sampling requests are answered" +
      verifies("sampling.security.approval", "roots.client.access-control", "roots.client.permitted-only"),
    () =>
      Effect.gen(function* () {
        const asks: Array<string> = []
        const audits: Array<string> = []
        const policy = Consent.layer({
          // Where questions come with a call, the call itself is asked for, too.
          ask: (action) =>
            Effect.sync(() => action._tag === "CallTool" || asks.push(`${action._tag} ${action.server.name}`) < 3),
          audit: (action, outcome) =>
            Effect.sync(() => void (action._tag === "CallTool" || audits.push(`${action._tag} ${outcome._tag}`)))
        })
        yield* Effect.gen(function* () {
          const { ask } = yield* asker(version)
          yield* ask("roots/list")
          yield* ask("sampling/createMessage", sampling)
          for (const method of ["roots/list", "sampling/createMessage"]) {
            const error: unknown = yield* Effect.flip(ask(method, method === "roots/list" ? undefined : sampling))
            assert.strictEqual((error as McpError.McpError).code, -1)
          }
        }).pipe(Effect.provide(Layer.mergeAll(policy, home, model())))
        assert.deepStrictEqual(asks, [
          "ListRoots scripted",
          "CreateMessage scripted",
          "ListRoots scripted",
          "CreateMessage scripted"
        ])
        assert.deepStrictEqual(audits, [
          "ListRoots Success",
          "CreateMessage Success",
          "ListRoots Failure",
          "CreateMessage Failure"
        ])
      })
  )
})

describe.each(versions)("a client in a session of %s", (version) => {
  it.effect("answers a question that arrives together with the end of the handshake", () =>
    Effect.gen(function* () {
      const answered: Array<unknown> = []
      yield* connected({
        version,
        answers: {
          initialize: (_, { peer }) => {
            // Sent before the answer to initialize is.
            peer.sink.send({ jsonrpc: "2.0", id: "early", method: "roots/list" }, "data")
            return Effect.succeed({
              protocolVersion: version,
              capabilities: {},
              serverInfo: { name: "eager", version: "1" }
            })
          }
        }
      }).pipe(
        Effect.flatMap(({ client, server }) =>
          Effect.map(client.ping, () => answered.push(...server.heard.filter((m) => "id" in m && m.id === "early")))
        )
      )
      assert.deepStrictEqual(answered, [
        { jsonrpc: "2.0", id: "early", result: { roots: [{ uri: "file:///home/ada", name: "Home" }] } }
      ])
    }).pipe(Effect.provide(home))
  )

  it.effect(`answers a ping at once, even while a question hangs${verifies("ping.receiver.empty-response")}`, () =>
    Effect.gen(function* () {
      const { server } = yield* connected({ version })
      yield* Effect.forkChild(server.peer.request("sampling/createMessage", sampling as never))
      assert.deepStrictEqual(yield* server.peer.request("ping"), {})
    }).pipe(Effect.provide(Sampling.layer(() => Effect.never)))
  )

  it.effect(
    `stops what its server cancels${verifies(
      "cancellation.receiver.stops",
      "cancellation.receiver.frees-resources",
      "cancellation.receiver.no-response"
    )}`,
    () =>
      Effect.gen(function* () {
        let running = 0
        const busy = Sampling.layer(() =>
          Effect.acquireUseRelease(
            Effect.sync(() => running++),
            () => Effect.never,
            () => Effect.sync(() => running--)
          )
        )
        yield* Effect.gen(function* () {
          const { client, server } = yield* connected({ version })
          server.peer.sink.send({ jsonrpc: "2.0", id: "q", method: "sampling/createMessage", params: sampling }, "data")
          yield* server.peer.request("ping")
          assert.strictEqual(running, 1)
          server.peer.notify("notifications/cancelled", { requestId: "q" })
          yield* client.ping
          yield* server.peer.request("ping")
          assert.strictEqual(running, 0)
          assert.isFalse(server.heard.some((message) => "id" in message && message.id === "q"))
        }).pipe(Effect.provide(busy))
      })
  )

  it.effect(`says that its roots changed when it said that it would${verifies("roots.list-changed.sent")}`, () =>
    Effect.gen(function* () {
      const ref = yield* SubscriptionRef.make<ReadonlyArray<{ uri: string }>>([])
      yield* Effect.gen(function* () {
        assert.deepStrictEqual(yield* declared(version), { roots: { listChanged: true } })
        const { server } = yield* connected({ version })
        assert.strictEqual((yield* server.notification).method, "notifications/initialized")
        yield* SubscriptionRef.set(ref, [{ uri: "file:///tmp" }])
        assert.strictEqual((yield* server.notification).method, "notifications/roots/list_changed")
        assert.deepStrictEqual(yield* server.peer.request("roots/list"), { roots: [{ uri: "file:///tmp" }] })
      }).pipe(Effect.provide(Roots.layerRef(ref)))
    })
  )
})

describe.each(until("2025-03-26"))("elicitation over %s, which has none", (version) => {
  it.effect("is neither declared nor answered", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* declared(version), {})
      assert.strictEqual(yield* codeOf(version, "elicitation/create", form()), refused(version, -32601))
    }).pipe(Effect.provide(both))
  )
})

describe.each(since("2025-06-18"))("elicitation over %s", (version) => {
  const accepting = (content: object) =>
    Elicitation.layer({ form: () => Effect.succeed({ action: "accept", content: content as never }) })
  const schema = {
    type: "object",
    properties: {
      name: { type: "string", minLength: 2 },
      age: { type: "integer", minimum: 18 },
      color: { type: "string", enum: ["red", "green"] },
      news: { type: "boolean", default: true }
    },
    required: ["name"]
  }

  it.effect(`shows a form and sends the answer${verifies("elicitation.capability.declared")}`, () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* declared(version),
        version === "2025-06-18" ? { elicitation: {} } : { elicitation: { form: {} } }
      )
      assert.deepStrictEqual(yield* asked(version, "elicitation/create", form()), {
        action: "accept",
        content: { name: "Ada" }
      })
    }).pipe(Effect.provide(forms))
  )

  it.effect(`sends no content unless the user accepts${verifies("elicitation.client.decline")}`, () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* asked(version, "elicitation/create", form()), { action: "decline" })
    }).pipe(Effect.provide(both))
  )

  it.effect.each([
    { name: "A" },
    { age: 20 },
    { name: "Ada", age: 17 },
    { name: "Ada", age: 20.5 },
    { name: "Ada", color: "blue" },
    { name: "Ada", news: "yes" }
  ])(
    `never sends an answer that does not fit the form: %o${verifies("elicitation.form.client-validates")}`,
    (content) =>
      Effect.gen(function* () {
        const code = yield* codeOf(version, "elicitation/create", form(schema)).pipe(Effect.provide(accepting(content)))
        assert.strictEqual(code, -32603)
      })
  )

  it.effect("fills in the defaults of fields that were left out, and no others", () =>
    Effect.gen(function* () {
      const filled = (content: object) =>
        asked(version, "elicitation/create", form(schema)).pipe(Effect.provide(accepting(content)))
      assert.deepStrictEqual(yield* filled({ name: "Ada" }), {
        action: "accept",
        content: { name: "Ada", news: true }
      })
      assert.deepStrictEqual(yield* filled({ name: "Ada", news: false }), {
        action: "accept",
        content: { name: "Ada", news: false }
      })
    })
  )

  it.effect("refuses a schema that no form can show", () =>
    Effect.gen(function* () {
      const nested = { type: "object", properties: { address: { type: "object" } } }
      assert.strictEqual(yield* codeOf(version, "elicitation/create", form(nested)), refused(version, -32602))
    }).pipe(Effect.provide(forms))
  )

  it.effect(`refuses a mode that was not declared${verifies("elicitation.error.undeclared-mode")}`, () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* codeOf(version, "elicitation/create", page), refused(version, -32602))
    }).pipe(Effect.provide(forms))
  )
})

describe.each(since("2025-11-25"))("what is new in questions of %s", (version) => {
  it.effect(`a client declares each mode that it has${verifies("elicitation.capability.one-mode")}`, () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* declared(version).pipe(Effect.provide(pages)), { elicitation: { url: {} } })
      assert.deepStrictEqual(yield* declared(version).pipe(Effect.provide(both)), {
        elicitation: { form: {}, url: {} }
      })
      assert.deepStrictEqual(yield* declared(version).pipe(Effect.provide(Elicitation.layer({}))), {})
    })
  )

  it.effect(
    `a question without a mode is a form${verifies("elicitation.mode.absent-is-form", "elicitation.error.undeclared-mode")}`,
    () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* codeOf(version, "elicitation/create", form()), refused(version, -32602))
        assert.strictEqual(
          yield* codeOf(version, "elicitation/create", { ...form(), mode: "form" }),
          refused(version, -32602)
        )
      }).pipe(Effect.provide(pages))
  )

  it.effect(
    `the whole URL and an id taken as it is reach the user, and only consent leaves${verifies(
      "elicitation.url.shown-in-full",
      "elicitation.url.id-opaque",
      "elicitation.url.consent",
      "elicitation.url.not-prefetched"
    )}`,
    () =>
      Effect.gen(function* () {
        const shown: Array<ElicitParams> = []
        const user = Elicitation.layer({
          url: (params) => Effect.sync(() => (shown.push(params), { action: "decline" as const }))
        })
        const odd = { ...page, url: "https://pay.example.com:8443/a?b=c#d", elicitationId: " 🙂/../" }
        assert.deepStrictEqual(yield* asked(version, "elicitation/create", odd).pipe(Effect.provide(user)), {
          action: "decline"
        })
        assert.deepStrictEqual(shown, [odd])
        assert.deepStrictEqual(yield* asked(version, "elicitation/create", page).pipe(Effect.provide(pages)), {
          action: "accept"
        })
      })
  )

  it.effect.each(["javascript:alert(1)", "file:///etc/passwd", "data:text/html,hi", "not a url", "//example.com"])(
    `the user is never sent to %s${verifies("elicitation.url.handled-carefully")}`,
    (url) =>
      Effect.gen(function* () {
        assert.strictEqual(yield* codeOf(version, "elicitation/create", { ...page, url }), refused(version, -32602))
      }).pipe(Effect.provide(pages))
  )

  it.effect("a page must have an id where there is news by it, and only there", () =>
    Effect.gen(function* () {
      const { elicitationId: _, ...rest } = page
      if (version === "2025-11-25") assert.strictEqual(yield* codeOf(version, "elicitation/create", rest), -32602)
      else assert.deepStrictEqual(yield* asked(version, "elicitation/create", rest), { action: "accept" })
    }).pipe(Effect.provide(pages))
  )

  const tool = { name: "t", inputSchema: { type: "object" } }
  it.effect(
    `tools reach only a model that can use them${verifies(
      "sampling.tools.capability-declared",
      "sampling.tools.undeclared-error"
    )}`,
    () =>
      Effect.gen(function* () {
        const able = model({ tools: true })
        assert.deepStrictEqual(yield* declared(version).pipe(Effect.provide(able)), { sampling: { tools: {} } })
        for (const more of [{ tools: [tool] }, { toolChoice: { mode: "auto" } }]) {
          const question = { ...sampling, ...more }
          assert.deepStrictEqual(
            yield* asked(version, "sampling/createMessage", question).pipe(Effect.provide(able)),
            answer
          )
          assert.strictEqual(
            yield* codeOf(version, "sampling/createMessage", question).pipe(Effect.provide(model())),
            refused(version, -32602)
          )
        }
      })
  )

  it.effect("context of servers is given only by a model that declared it", () =>
    Effect.gen(function* () {
      const able = model({ context: true })
      const question = { ...sampling, includeContext: "thisServer" }
      assert.deepStrictEqual(yield* declared(version).pipe(Effect.provide(able)), { sampling: { context: {} } })
      assert.deepStrictEqual(
        yield* asked(version, "sampling/createMessage", question).pipe(Effect.provide(able)),
        answer
      )
      assert.strictEqual(
        yield* codeOf(version, "sampling/createMessage", question).pipe(Effect.provide(model())),
        refused(version, -32602)
      )
    })
  )

  const use = { role: "assistant", content: [{ type: "tool_use", id: "u", name: "t", input: {} }] }
  const result = { type: "tool_result", toolUseId: "u", content: [] }
  it.effect(
    `tool uses without exactly their results are refused${verifies(
      "sampling.error.missing-tool-result",
      "sampling.error.mixed-tool-results",
      "sampling.security.content-validated"
    )}`,
    () =>
      Effect.gen(function* () {
        const code = (...messages: ReadonlyArray<object>) =>
          codeOf(version, "sampling/createMessage", { ...sampling, messages })
        assert.strictEqual(yield* code(use), refused(version, -32602))
        assert.strictEqual(yield* code(use, ...sampling.messages), refused(version, -32602))
        const mixed = { role: "user", content: [result, { type: "text", text: "and" }] }
        assert.strictEqual(yield* code(use, mixed), refused(version, -32602))
        const fine = { ...sampling, messages: [use, { role: "user", content: [result] }] }
        assert.deepStrictEqual(yield* asked(version, "sampling/createMessage", fine), answer)
      }).pipe(Effect.provide(model({ tools: true })))
  )
})

describe("consent", () => {
  const calls = (version: Version) =>
    connected({
      version,
      answers: {
        "tools/list": () => ({
          tools: [{ name: "x", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } }]
        }),
        "tools/call": () => ({ content: [] })
      }
    })

  it.effect.each(all)(
    `over %s is asked before a tool is called, and told of the outcome${verifies("tools.security.audited", "tools.annotations.untrusted")}`,
    (version) =>
      Effect.gen(function* () {
        const asks: Array<Consent.Action> = []
        const audits: Array<string> = []
        const policy = Consent.layer({
          ask: (action) => Effect.sync(() => asks.push(action) === 1),
          audit: (_, outcome) => Effect.sync(() => void audits.push(outcome._tag))
        })
        const { client, server } = yield* calls(version).pipe(Effect.provide(policy))
        yield* client.callTool("x", { a: 1 })
        yield* Stream.runDrain(client.tools)
        assert.strictEqual((yield* Effect.flip(client.callTool("x")))._tag, "ConsentDenied")
        assert.strictEqual(server.requests("tools/call").length, 1)
        assert.deepStrictEqual(audits, ["Success", "Failure"])
        const [first, second] = asks as ReadonlyArray<Extract<Consent.Action, { _tag: "CallTool" }>>
        assert.strictEqual(first?.tool, "x")
        assert.deepStrictEqual(first?.arguments, { a: 1 })
        assert.strictEqual(first?.server.name, "scripted")
        assert.isUndefined(first?.annotations)
        // Told as what the server says of itself; nothing here believes it.
        assert.deepStrictEqual(second?.annotations, { readOnlyHint: true })
      })
  )

  it.effect("can be refused altogether", () =>
    Effect.gen(function* () {
      const { client } = yield* calls("2025-11-25").pipe(Effect.provide(Consent.layerDeny))
      assert.strictEqual((yield* Effect.flip(client.callTool("x")))._tag, "ConsentDenied")
    })
  )
})
