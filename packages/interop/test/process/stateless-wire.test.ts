/** Revision 2026-07-28 line by line: rejections, questions in rounds, subscriptions, and the end. */
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { call, type Message, meta, open, type Wire } from "../support/wire.ts"

const timeout = 30_000
const asks = { sampling: {}, elicitation: {}, roots: {} }
const tool = (name: string) => `test_input_required_result_${name}`
const accept = (content: object) => ({ action: "accept", content })
const code = ({ error }: Message) => error?.code
const textOf = ({ result }: Message) => result?.content?.[0]?.text

/** One server for all tests that leave nothing behind in it. */
class Shared extends Context.Service<Shared, Wire>()("test/Shared") {}

let clients = 0
/** The shared server with ids unique to a test, and the messages sent since its start. */
const client = Effect.map(Shared, (wire) => {
  const name = `client ${++clients}`
  const since = wire.received.length
  return {
    ask: (id: string | number, method: string, params: object) => wire.ask(`${name}: ${id}`, method, params),
    received: () => wire.received.slice(since)
  }
})

layer(Layer.effect(Shared, open()), { timeout, excludeTestServices: true })(
  "A 2026-07-28 client, line by line",
  (it) => {
    it.effect(
      "Removed methods, wrong metadata and unknown names each have their own error code",
      () =>
        Effect.gen(function* () {
          const { ask } = yield* client
          const removed = [
            "initialize",
            "ping",
            "logging/setLevel",
            "resources/subscribe",
            "resources/unsubscribe",
            "nope"
          ]
          for (const method of removed) {
            assert.strictEqual(
              code(yield* ask(method, method, { _meta: meta(), uri: "test://static-text" })),
              -32601,
              method
            )
          }
          const version = "io.modelcontextprotocol/protocolVersion"
          const without = yield* ask("without", "tools/list", { _meta: { [version]: "2026-07-28" } })
          assert.strictEqual(code(without), -32602)
          assert.match(without.error?.message ?? "", /clientCapabilities/)
          assert.strictEqual(
            code(yield* ask("number", "tools/list", { _meta: { ...meta(), [version]: 20260728 } })),
            -32602
          )
          const nameless = yield* ask("nameless", "server/discover", {
            _meta: { ...meta(), "io.modelcontextprotocol/clientInfo": undefined }
          })
          assert.include(nameless.result.supportedVersions, "2026-07-28")
          for (const requested of ["1999-12-31", "2025-11-25"]) {
            const { error } = yield* ask(requested, "tools/list", { _meta: { ...meta(), [version]: requested } })
            assert.deepInclude(error, {
              code: -32022,
              data: { supported: nameless.result.supportedVersions, requested }
            })
          }
          const missing = yield* ask("missing", "tools/call", call("test_missing_capability"))
          assert.deepInclude(missing.error, { code: -32021, data: { requiredCapabilities: { sampling: {} } } })
          assert.strictEqual(code(yield* ask("unknown", "tools/call", call("no_such_tool"))), -32602)
          const nowhere = yield* ask("nowhere", "resources/read", { uri: "test://nowhere", _meta: meta() })
          assert.deepInclude(nowhere.error, { code: -32602, data: { uri: "test://nowhere" } })
        }),
      verifies(
        "versioning.unsupported.error",
        "discover.implemented",
        "meta.request.malformed",
        "meta.capabilities.missing",
        "json-rpc.error.former"
      )
    )

    it.effect(
      "A 2026-07-28 client is asked in results, under the author's keys, and answers in its retry",
      () =>
        Effect.gen(function* () {
          const { ask, received } = yield* client
          const first = yield* ask(1, "tools/call", call(tool("elicitation"), {}, asks))
          const { inputRequests, requestState, resultType, ttlMs } = first.result
          assert.deepStrictEqual([resultType, ttlMs], ["input_required", undefined])
          assert.deepStrictEqual(Object.keys(inputRequests), ["user_name"])
          assert.deepInclude(inputRequests.user_name, { method: "elicitation/create" })
          const inputResponses = { user_name: accept({ name: "Ada" }) }
          const last = yield* ask(
            2,
            "tools/call",
            call(tool("elicitation"), {}, asks, { requestState, inputResponses })
          )
          assert.deepStrictEqual([last.result.resultType, textOf(last)], ["complete", "Hello, Ada!"])
          const several = yield* ask(3, "tools/call", call(tool("multiple_inputs"), {}, asks))
          assert.deepStrictEqual(
            Object.values<any>(several.result.inputRequests).map(({ method }) => method),
            ["elicitation/create", "sampling/createMessage", "roots/list"]
          )
          assert.includeMembers(Object.keys(several.result.inputRequests), ["user_name", "greeting"])
          const prompt = yield* ask(4, "prompts/get", { name: tool("prompt"), _meta: meta(asks) })
          assert.deepStrictEqual(Object.keys(prompt.result.inputRequests), ["user_context"])
          assert.isTrue(received().every(({ method }) => method === undefined))
        }),
      verifies(
        "mrtr.server.asks-in-results",
        "mrtr.questions.unique-keys",
        "mrtr.result.not-empty",
        "caching.hints.not-interim"
      )
    )

    it.effect(
      "Missing or unusable answers are requested again in 2026-07-28, whatever else is sent",
      () =>
        Effect.gen(function* () {
          const { ask } = yield* client
          const first = yield* ask(1, "tools/call", call(tool("elicitation"), {}, asks))
          const { requestState } = first.result
          const retry = (id: number, inputResponses: unknown) =>
            ask(id, "tools/call", call(tool("elicitation"), {}, asks, { requestState, inputResponses }))
          for (const [id, wrong] of [
            {},
            { other: accept({ name: "Eve" }) },
            { user_name: { action: "sing" } }
          ].entries()) {
            const again = yield* retry(10 + id, wrong)
            assert.strictEqual(again.result.resultType, "input_required")
            assert.deepStrictEqual(again.result.inputRequests, first.result.inputRequests)
          }
          assert.strictEqual(code(yield* retry(20, null)), -32602)
          assert.strictEqual(code(yield* retry(21, { user_name: 12_345 })), -32602)
          const extra = yield* retry(30, { user_name: accept({ name: "Ada" }), other: accept({ name: "Eve" }) })
          assert.strictEqual(textOf(extra), "Hello, Ada!")
        }),
      verifies("mrtr.answers.unknown-ignored", "mrtr.answers.missing-asked-again", "mrtr.answers.protocol-error")
    )

    it.effect(
      "A 2026-07-28 state cannot be changed or used for another request or process",
      () =>
        Effect.gen(function* () {
          const [one, other] = [yield* Shared, yield* open()]
          const first = yield* one.ask(1, "tools/call", call(tool("tampered_state"), {}, asks))
          const { requestState } = first.result
          const inputResponses = { confirm: accept({ ok: true }) }
          const attempt = (wire: typeof one, id: number, name: string, requestState: string) =>
            wire.ask(id, "tools/call", call(tool(name), {}, asks, { requestState, inputResponses }))
          assert.strictEqual(code(yield* attempt(one, 2, "tampered_state", `${requestState}-TAMPERED`)), -32602)
          assert.strictEqual(code(yield* attempt(one, 3, "request_state", requestState)), -32602)
          assert.strictEqual(code(yield* attempt(other, 4, "tampered_state", requestState)), -32602)
          assert.strictEqual(textOf(yield* attempt(one, 5, "tampered_state", requestState)), "The state is as it was.")
        }),
      verifies("mrtr.state.untrusted", "mrtr.state.protected", "mrtr.state.refused", "mrtr.state.same-request")
    )

    it.effect(
      "A 2026-07-28 client is asked only questions its request declares",
      () =>
        Effect.gen(function* () {
          const { ask } = yield* client
          const asked = (id: number, capabilities: object) =>
            Effect.map(ask(id, "tools/call", call(tool("capabilities"), {}, capabilities)), ({ result }) => [
              result.resultType,
              ...Object.values<any>(result.inputRequests ?? {}).map(({ method }) => method)
            ])
          assert.deepStrictEqual(yield* asked(1, asks), [
            "input_required",
            "elicitation/create",
            "sampling/createMessage"
          ])
          assert.deepStrictEqual(yield* asked(2, { sampling: {} }), ["input_required", "sampling/createMessage"])
          assert.deepStrictEqual(yield* asked(3, {}), ["complete"])
          for (const method of ["tools/list", "prompts/list", "resources/list", "server/discover"]) {
            assert.strictEqual((yield* ask(method, method, { _meta: meta(asks) })).result.resultType, "complete")
          }
        }),
      verifies(
        "mrtr.questions.declared",
        "mrtr.result.supported-methods",
        "stateless.request.no-prior-context",
        "json-rpc.result.type-included"
      )
    )

    it.effect("Two rounds in 2026-07-28 have different states", () =>
      Effect.gen(function* () {
        const { ask } = yield* client
        const round = (id: number, more?: object) => ask(id, "tools/call", call(tool("multi_round"), {}, asks, more))
        const one = (yield* round(1)).result
        assert.deepStrictEqual(Object.keys(one.inputRequests), ["step1"])
        const answered = { requestState: one.requestState, inputResponses: { step1: accept({ name: "Ada" }) } }
        const two = (yield* round(2, answered)).result
        assert.deepStrictEqual(Object.keys(two.inputRequests), ["step2"])
        assert.notStrictEqual(two.requestState, one.requestState)
        const done = { requestState: two.requestState, inputResponses: { step2: accept({ color: "red" }) } }
        assert.strictEqual(textOf(yield* round(3, done)), "Ada likes red")
      })
    )

    it.effect(
      "A 2026-07-28 subscription is acknowledged, then sends updates until stdin ends",
      () =>
        Effect.gen(function* () {
          const wire = yield* open()
          const key = "io.modelcontextprotocol/subscriptionId"
          const of = (id: string) => (message: Message) => message.params?._meta?.[key] === id
          const listen = (id: string, notifications: object) =>
            Effect.andThen(
              wire.send({ id, method: "subscriptions/listen", params: { notifications, _meta: meta() } }),
              wire.until(of(id))
            )
          const uri = "test://watched-resource"
          const lists = yield* listen("lists", { toolsListChanged: true, nonsense: true })
          assert.strictEqual(lists.method, "notifications/subscriptions/acknowledged")
          assert.deepStrictEqual(lists.params.notifications, { toolsListChanged: true })
          const files = yield* listen("files", { resourceSubscriptions: [uri, "test://nowhere"] })
          assert.deepStrictEqual(files.params.notifications, { resourceSubscriptions: [uri] })
          for (const name of ["test_trigger_prompt_change", "touch", "test_trigger_tool_change"]) {
            yield* wire.ask(name, "tools/call", call(name))
          }
          yield* wire.until((message) => message.method === "notifications/tools/list_changed")
          yield* wire.until((message) => message.method === "notifications/resources/updated")
          assert.strictEqual(yield* wire.end, 0)
          const methods = (id: string) => wire.received.filter(of(id)).map(({ method }) => method)
          const end = "notifications/cancelled"
          assert.deepStrictEqual([...new Set(methods("lists"))].slice(1), ["notifications/tools/list_changed", end])
          assert.deepStrictEqual(methods("files").slice(1), ["notifications/resources/updated", end])
          for (const id of ["lists", "files"]) {
            const last = wire.received.find((message) => message.id === id)
            assert.deepInclude(last?.result, { resultType: "complete" })
            assert.strictEqual(last?.result._meta[key], id)
            const cancelled = wire.received.find((message) => message.params?.requestId === id)
            assert.strictEqual(cancelled?.method, "notifications/cancelled")
          }
        }),
      verifies(
        "subscriptions.acknowledged.first",
        "subscriptions.acknowledged.nothing-before",
        "subscriptions.acknowledged.subset",
        "subscriptions.filter.only-requested",
        "subscriptions.end.answered",
        "subscriptions.end.id",
        "cancellation.server.subscription",
        "stdio.shutdown.end-of-input"
      )
    )

    it.effect(
      "Cancelling a 2026-07-28 request stops its handler, and nothing more is sent for it",
      () =>
        Effect.gen(function* () {
          const wire = yield* open()
          const uri = "test://interruptions"
          const notifications = { resourceSubscriptions: [uri] }
          yield* wire.send({ id: "listen", method: "subscriptions/listen", params: { notifications, _meta: meta() } })
          yield* wire.until(({ method }) => method === "notifications/subscriptions/acknowledged")
          const slow = call("slow", { label: "given up" })
          yield* wire.send({
            id: "slow",
            method: "tools/call",
            params: { ...slow, _meta: { ...slow._meta, progressToken: "slow" } }
          })
          yield* wire.until(({ method }) => method === "notifications/progress")
          yield* wire.send({ method: "notifications/cancelled", params: { requestId: "slow", _meta: meta() } })
          yield* wire.until(({ method }) => method === "notifications/resources/updated")
          const read = yield* wire.ask("read", "resources/read", { uri, _meta: meta() })
          assert.strictEqual(read.result.contents[0].text, JSON.stringify(["given up"]))
          yield* wire.send({ method: "notifications/cancelled", params: { requestId: "listen", _meta: meta() } })
          assert.strictEqual(yield* wire.end, 0)
          assert.isUndefined(wire.received.find(({ id }) => id === "slow" || id === "listen"))
        }),
      verifies("stdio.cancel.stops", "stdio.cancel.nothing-more")
    )

    it.effect(
      "Logs in 2026-07-28 are sent only on request, from the requested level up",
      () =>
        Effect.gen(function* () {
          const { ask, received } = yield* client
          const log = (id: number, logLevel?: string) => {
            const params = call("log", { message: `request ${id}` })
            const level = { "io.modelcontextprotocol/logLevel": logLevel }
            return ask(id, "tools/call", { ...params, _meta: { ...params._meta, ...level } })
          }
          yield* log(1)
          yield* log(2, "alert")
          yield* log(3)
          assert.strictEqual(code(yield* log(4, "loud")), -32602)
          yield* ask("quiet", "tools/call", call("test_logging_tool"))
          assert.deepStrictEqual(
            received().flatMap(({ method, params }) => (method === undefined ? [] : [[params.level, params.data]])),
            [
              ["alert", "request 2"],
              ["emergency", "request 2"]
            ]
          )
        }),
      verifies("logging.request.silent", "logging.request.threshold")
    )
  }
)
