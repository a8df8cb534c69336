/** One server and one stdio connection with both eras at once, which do not affect each other. */
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { taskOnlyTools } from "../support/names.ts"
import { call, type Message, meta, open, withSession } from "../support/wire.ts"

const timeout = 30_000
const uri = "test://watched-resource"
const subscriptionId = "io.modelcontextprotocol/subscriptionId"
const isUpdate = ({ method }: Message) => method === "notifications/resources/updated"
const textOf = ({ result }: Message) => result?.content?.[0]?.text

describe("A connection using both 2025-11-25 and 2026-07-28", () => {
  it.live(
    "Each request is answered in its own era, before and after the handshake",
    () =>
      Effect.gen(function* () {
        const { ask, send } = yield* open()
        const early = yield* ask("early", "tools/call", call("echo", { message: "no handshake" }))
        assert.deepStrictEqual([textOf(early), early.result.resultType], ["no handshake", "complete"])
        const refused = yield* ask("refused", "tools/list")
        assert.strictEqual(refused.error?.code, -32600)
        const initialized = yield* ask("initialize", "initialize", {
          protocolVersion: "2026-07-28",
          capabilities: { sampling: {} },
          clientInfo: { name: "wire", version: "1" }
        })
        assert.strictEqual(initialized.result.protocolVersion, "2025-11-25")
        yield* send({ method: "notifications/initialized" })
        const [older, newer] = yield* Effect.all(
          [
            ask(1, "tools/call", { name: "echo", arguments: { message: "older" } }),
            ask("1", "tools/call", call("echo", { message: "newer" }))
          ],
          { concurrency: 2 }
        )
        assert.deepStrictEqual(older.result, { content: [{ type: "text", text: "older" }] })
        assert.deepStrictEqual([textOf(newer), newer.result.resultType], ["newer", "complete"])
        assert.deepStrictEqual((yield* ask("ping", "ping")).result, {})
        assert.strictEqual((yield* ask("ping2", "ping", { _meta: meta() })).error?.code, -32601)
        assert.strictEqual((yield* ask("discover", "server/discover", {})).error?.code, -32601)
        const lists = yield* Effect.forEach([undefined, { _meta: meta() }], (params, i) =>
          ask(`list ${i}`, "tools/list", params)
        )
        const names = lists.map(({ result }) => result.tools.map(({ name }: { readonly name: string }) => name))
        // The client did not declare in `_meta` that it supports tasks.
        assert.deepStrictEqual(
          names[0].filter((name: string) => !taskOnlyTools.includes(name)),
          names[1]
        )
        assert.deepStrictEqual(
          lists.map(({ result }) => result.ttlMs),
          [undefined, 0]
        )
      }),
    { ...verifies("stateless.request.no-prior-context", "stateless.server.many-conversations"), timeout }
  )

  it.live(
    "Sessions are asked by requests and stateless requests in results, each by its own declaration",
    () =>
      Effect.gen(function* () {
        const { ask, send, until } = yield* withSession({ elicitation: {} })
        const name = "test_input_required_result_elicitation"
        yield* send({ id: "older", method: "tools/call", params: { name } })
        const question = yield* until(({ method }) => method === "elicitation/create")
        const newer = yield* ask("newer", "tools/call", call(name, {}, { elicitation: {} }))
        assert.strictEqual(newer.result.resultType, "input_required")
        assert.deepStrictEqual(newer.result.inputRequests.user_name.params, question.params)
        // The session declared elicitation but these requests did not, and vice versa.
        const undeclared = yield* ask("undeclared", "tools/call", call(name))
        assert.deepInclude(undeclared.error, { code: -32021 })
        const sampled = yield* ask("sampled", "tools/call", call("test_sampling", { prompt: "?" }, { sampling: {} }))
        assert.strictEqual(sampled.result.resultType, "input_required")
        const older = yield* ask("unable", "tools/call", { name: "test_sampling", arguments: { prompt: "?" } })
        assert.isTrue(older.result.isError)
        const done = yield* ask("done", "tools/call", {
          ...call(name, {}, { elicitation: {} }),
          requestState: newer.result.requestState,
          inputResponses: { user_name: { action: "accept", content: { name: "Newer" } } }
        })
        assert.strictEqual(textOf(done), "Hello, Newer!")
        yield* send({ id: question.id, result: { action: "accept", content: { name: "Older" } } })
        const answered = yield* until(({ id, method }) => id === "older" && method === undefined)
        assert.strictEqual(textOf(answered), "Hello, Older!")
      }),
    {
      ...verifies("mrtr.server.asks-in-results", "meta.capabilities.undeclared", "meta.capabilities.missing"),
      timeout
    }
  )

  it.live(
    "A change is announced to the session and the stateless subscription, each in its own form",
    () =>
      Effect.gen(function* () {
        const { ask, received, send, until } = yield* withSession({})
        yield* ask("subscribe", "resources/subscribe", { uri })
        const notifications = { resourceSubscriptions: [uri] }
        yield* send({ id: "listen", method: "subscriptions/listen", params: { notifications, _meta: meta() } })
        yield* until(({ method }) => method === "notifications/subscriptions/acknowledged")
        yield* ask("touch", "tools/call", call("touch"))
        yield* until((message) => isUpdate(message) && message.params._meta === undefined)
        yield* until((message) => isUpdate(message) && message.params._meta?.[subscriptionId] === "listen")
        // The session is notified of a changed list without asking; the subscription did not ask for it.
        yield* ask("change", "tools/call", { name: "test_trigger_tool_change" })
        const changed = yield* until(({ method }) => method === "notifications/tools/list_changed")
        assert.isUndefined(changed.params?._meta)
        // Cancelling one subscription does not affect the other.
        yield* send({ method: "notifications/cancelled", params: { requestId: "listen", _meta: meta() } })
        yield* ask("touch again", "tools/call", { name: "touch" })
        yield* until((message) => isUpdate(message) && received.filter(isUpdate).length === 3)
        // The level of the session does not apply to the requests, nor theirs to the session.
        yield* ask("level", "logging/setLevel", { level: "alert" })
        yield* ask("logs", "tools/call", { name: "log", arguments: { message: "session" } })
        yield* ask("silent", "tools/call", call("log", { message: "silent" }))
        const loud = call("log", { message: "loud" })
        const logLevel = { "io.modelcontextprotocol/logLevel": "emergency" }
        yield* ask("loud", "tools/call", { ...loud, _meta: { ...loud._meta, ...logLevel } })
        assert.deepStrictEqual(
          received.flatMap(({ method, params }) =>
            method === "notifications/message" ? [[params.level, params.data]] : []
          ),
          [
            ["alert", "session"],
            ["emergency", "session"],
            ["emergency", "loud"]
          ]
        )
        const updates = received.filter(isUpdate)
        assert.deepStrictEqual(
          [updates.length, updates.filter(({ params }) => params._meta !== undefined).length],
          [3, 1]
        )
      }),
    {
      ...verifies(
        "subscriptions.filter.only-requested",
        "resources.updated.only-subscribed",
        "logging.request.silent",
        "logging.level.threshold"
      ),
      timeout
    }
  )

  it.live(
    "Calls can be cancelled in both eras, and the server exits with stdin",
    () =>
      Effect.gen(function* () {
        const wire = yield* withSession({})
        const interruptions = "test://interruptions"
        yield* wire.ask("subscribe", "resources/subscribe", { uri: interruptions })
        const progressToken = (token: string) => ({ progressToken: token })
        const newer = call("slow", { label: "newer" })
        const older = { name: "slow", arguments: { label: "older" }, _meta: progressToken("older") }
        yield* wire.send({ id: "older", method: "tools/call", params: older })
        yield* wire.send({
          id: "newer",
          method: "tools/call",
          params: { ...newer, _meta: { ...newer._meta, ...progressToken("newer") } }
        })
        for (const id of ["older", "newer"]) {
          yield* wire.until(({ params }) => params?.progressToken === id)
          yield* wire.send({ method: "notifications/cancelled", params: { requestId: id } })
        }
        const labels = (): Effect.Effect<ReadonlyArray<string>> =>
          Effect.map(wire.ask(crypto.randomUUID(), "resources/read", { uri: interruptions }), ({ result }) =>
            JSON.parse(result.contents[0].text)
          )
        yield* wire.until(isUpdate)
        while ((yield* labels()).length < 2) yield* Effect.yieldNow
        assert.deepStrictEqual((yield* labels()).toSorted(), ["newer", "older"])
        assert.strictEqual(yield* wire.end, 0)
        assert.isUndefined(wire.received.find(({ id }) => id === "older" || id === "newer"))
      }),
    { ...verifies("cancellation.receiver.stops", "stdio.cancel.stops", "stdio.shutdown.end-of-input"), timeout }
  )
})

describe("Single-era servers", () => {
  it.live(
    "A 2026-07-28-only server names it in its answer to initialize",
    () =>
      Effect.gen(function* () {
        const { ask } = yield* open(["--revision", "2026-07-28"])
        const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "wire", version: "1" } }
        const { error } = yield* ask("initialize", "initialize", params)
        assert.include(JSON.stringify(error), "2026-07-28")
        const echo = yield* ask("echo", "tools/call", call("echo", { message: "still here" }))
        assert.strictEqual(textOf(echo), "still here")
      }),
    { ...verifies("versioning.initialize.names-versions", "stateless.request.no-prior-context"), timeout }
  )
})
