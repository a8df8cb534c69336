/** `McpServer.requests`: the running requests of all sessions of a server, and how to interrupt them. */
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as Progress from "@effect-mcp/core/Progress"
import * as Resources from "@effect-mcp/core/Resources"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import type * as McpServer from "@effect-mcp/server/McpServer"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Latch, Layer, Schema, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { accept, join } from "../support/modern.ts"
import { type Client, connect, type ConnectOptions, everyVersion, quiesce, serve, versions } from "../support/raw.ts"

const tool = <R>(name: string, effect: Effect.Effect<string, never, R>) =>
  Tools.layer(Tool.make(name, { description: "", input: { secret: Schema.optionalKey(Schema.String) } }), () => effect)

/** A tool that waits for its latch, and how each of its calls ended. */
const waiting = (name: string) => {
  const go = Latch.makeUnsafe(false)
  const ended: Array<"done" | "interrupted"> = []
  const features = tool(
    name,
    Effect.onExit(Effect.as(go.await, name), (exit) =>
      Effect.sync(() => void ended.push(Exit.isSuccess(exit) ? "done" : "interrupted"))
    )
  )
  return { features, go, ended }
}

const context = (version: string, extra: object = {}) =>
  version < "2026-07-28"
    ? { _meta: extra }
    : {
        _meta: {
          [Meta.protocolVersion]: version,
          [Meta.clientInfo]: { name: "raw", version: "0" },
          [Meta.clientCapabilities]: {},
          ...extra
        }
      }
const call = (id: unknown, name: string, version = "2025-11-25", more: object = {}, meta: object = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, ...more, ...context(version, meta) }
})
const cancelled = (requestId: unknown) => ({
  jsonrpc: "2.0",
  method: "notifications/cancelled",
  params: { requestId }
})
const answers = (client: Client, id: unknown) =>
  client.received.filter((message) => message.id === id && !("method" in message))
const interrupted = (reason: string) => ({ code: McpError.Interrupted, message: reason })
const accepts = { answer: () => Effect.succeed(accept({})), capabilities: { elicitation: {} } }
const asksForever = { answer: () => Effect.never, capabilities: { elicitation: {} } } satisfies ConnectOptions

const rowOf = Effect.fnUntraced(function* ({ requests }: McpServer.Server, target: string) {
  const row = (yield* requests.list).find((one) => one.target === target)
  assert.isDefined(row, `No row of ${target}`)
  return row
})
const interrupt = ({ requests }: McpServer.Server, key: string, reason: string) =>
  Effect.tap(requests.interrupt(key, reason), () => quiesce)
const isEmpty = (server: McpServer.Server) =>
  Effect.map(server.requests.list, (rows) => assert.deepStrictEqual(rows, []))

for (const version of everyVersion()) {
  describe(`${version} requests in the view`, () => {
    it.effect("Interrupting a stuck tool among many sessions answers its client with the reason", () =>
      Effect.gen(function* () {
        const stuck = waiting("stuck")
        const other = waiting("other")
        const server = yield* serve({ features: Layer.merge(stuck.features, other.features) })
        const clients = yield* Effect.forEach(Array.from({ length: 20 }), () => connect(server, { version }))
        yield* isEmpty(server)
        for (const [at, client] of clients.entries()) client.send(call("r1", at === 13 ? "stuck" : "other", version))
        yield* quiesce
        const rows = yield* server.requests.list
        assert.strictEqual(rows.length, 20)
        assert.strictEqual(new Set(rows.map(({ key }) => key)).size, 20)
        const row = yield* rowOf(server, "stuck")
        assert.isTrue(yield* interrupt(server, row.key, "It was stuck"))
        assert.deepStrictEqual(answers(clients[13]!, "r1")[0].error, interrupted("It was stuck"))
        assert.deepStrictEqual([stuck.ended, other.ended], [["interrupted"], []])
        assert.isFalse(yield* interrupt(server, row.key, "Again"))
        yield* other.go.open
        yield* quiesce
        for (const [at, client] of clients.entries()) {
          if (at !== 13) assert.strictEqual(answers(client, "r1")[0].result.content[0].text, "other")
        }
        yield* isEmpty(server)
      })
    )

    it.effect("A view row shows tool, caller, client and revision, but no arguments or claims", () =>
      Effect.gen(function* () {
        const { features, go } = waiting("wait")
        const server = yield* serve({ features })
        yield* TestClock.setTime(1000)
        const principal = { subject: "ada", scopes: ["s3cret"], claims: { iss: "https://issuer", jti: "s3cret" } }
        const client = yield* connect(server, { version, principal })
        client.send(call("a", "wait", version, { arguments: { secret: "s3cret" } }, { "x/y": "s3cret" }))
        yield* quiesce
        yield* TestClock.adjust("1 second")
        const rows = yield* server.requests.list
        const { key, ...row } = rows[0]!
        assert.deepStrictEqual(row, {
          kind: "request",
          id: "a",
          method: "tools/call",
          target: "wait",
          state: "running",
          since: 1000,
          asking: [],
          asked: 0,
          wakesAt: undefined,
          progress: undefined,
          relatedTo: undefined,
          principal: { subject: "ada", issuer: "https://issuer" },
          session: client.session.id,
          client: { name: "raw", version: "0" },
          revision: version,
          transport: undefined
        })
        assert.strictEqual((yield* server.requests.list)[0]!.key, key)
        assert.notInclude(JSON.stringify(rows), "s3cret")
        yield* go.open
        yield* quiesce
        yield* isEmpty(server)
      })
    )

    it.effect("A view row shows the last progress sent, if the client wants progress", () =>
      Effect.gen(function* () {
        const go = Latch.makeUnsafe(false)
        const features = tool(
          "report",
          Progress.report(1, { total: 10, message: "one" }).pipe(
            Effect.andThen(Progress.report(2, { total: 10, message: "two" })),
            Effect.andThen(go.await),
            Effect.as("")
          )
        )
        const server = yield* serve({ features })
        const client = yield* connect(server, { version })
        client.send(call("r1", "report", version, {}, { progressToken: "t" }))
        client.send(call("r2", "report", version))
        yield* quiesce
        const progress = new Map((yield* server.requests.list).map(({ id, progress }) => [id, progress]))
        assert.deepStrictEqual(progress.get("r1"), { progress: 2, total: 10, message: "two" })
        assert.isUndefined(progress.get("r2"))
        yield* go.open
        yield* quiesce
        yield* isEmpty(server)
      })
    )

    it.effect("Requests with one id in two sessions have separate rows and keys", () =>
      Effect.gen(function* () {
        const { features, go } = waiting("wait")
        const server = yield* serve({ features })
        const clients = [yield* connect(server, { version }), yield* connect(server, { version })] as const
        for (const client of clients) client.send(call("same", "wait", version))
        yield* quiesce
        const rows = yield* server.requests.list
        assert.deepStrictEqual(
          rows.map(({ id }) => id),
          ["same", "same"]
        )
        const second = rows.find(({ session }) => session === clients[1].session.id)!
        yield* interrupt(server, second.key, "The second")
        assert.deepStrictEqual(answers(clients[1], "same")[0].error, interrupted("The second"))
        assert.deepStrictEqual(answers(clients[0], "same"), [])
        yield* go.open
        yield* quiesce
        assert.isDefined(answers(clients[0], "same")[0].result)
        yield* isEmpty(server)
      })
    )

    it.effect("An ended request's key does not interrupt a later request with the same id", () =>
      Effect.gen(function* () {
        const { ended, features, go } = waiting("wait")
        const server = yield* serve({ features })
        const client = yield* connect(server, { version })
        client.send(call("r1", "wait", version))
        yield* quiesce
        const first = yield* rowOf(server, "wait")
        client.send(cancelled("r1"))
        yield* quiesce
        client.send(call("r1", "wait", version))
        yield* quiesce
        assert.notStrictEqual((yield* rowOf(server, "wait")).key, first.key)
        assert.isFalse(yield* interrupt(server, first.key, "Too late"))
        yield* go.open
        yield* quiesce
        assert.deepStrictEqual(ended, ["interrupted", "done"])
        yield* isEmpty(server)
      })
    )

    it.effect("A request waiting for a permit is shown as pending and can be interrupted", () =>
      Effect.gen(function* () {
        const { ended, features, go } = waiting("wait")
        const server = yield* serve({ features, limits: { inFlight: 1 } })
        const client = yield* connect(server, { version })
        for (const id of ["r1", "r2", "r3"]) client.send(call(id, "wait", version))
        yield* quiesce
        const rows = yield* server.requests.list
        assert.deepStrictEqual(
          rows.map(({ id, state }) => [id, state]),
          [
            ["r1", "running"],
            ["r2", "pending"],
            ["r3", "pending"]
          ]
        )
        yield* interrupt(server, rows[1]!.key, "Not needed")
        assert.deepStrictEqual(answers(client, "r2")[0].error, interrupted("Not needed"))
        yield* go.open
        yield* quiesce
        assert.deepStrictEqual(ended, ["done", "done"])
        yield* isEmpty(server)
      })
    )

    it.effect("An uninterruptible handler is shown as ending, and its client is answered afterwards", () =>
      Effect.gen(function* () {
        const go = Latch.makeUnsafe(false)
        const server = yield* serve({ features: tool("masked", Effect.uninterruptible(Effect.as(go.await, "done"))) })
        const client = yield* connect(server, { version })
        client.send(call("r1", "masked", version))
        yield* quiesce
        const { key } = yield* rowOf(server, "masked")
        assert.isTrue(yield* interrupt(server, key, "Now"))
        assert.strictEqual((yield* rowOf(server, "masked")).state, "ending")
        assert.isTrue(yield* interrupt(server, key, "And again"))
        assert.deepStrictEqual(answers(client, "r1"), [])
        yield* go.open
        yield* quiesce
        assert.deepStrictEqual(answers(client, "r1")[0].error, interrupted("Now"))
        yield* isEmpty(server)
      })
    )

    it.effect("The view is empty after requests, connections and the server end", () =>
      Effect.gen(function* () {
        const { ended, features } = waiting("wait")
        const scope = yield* Scope.make()
        const server = yield* Scope.provide(serve({ features }), scope)
        const stays = yield* Scope.provide(connect(server, { version }), scope)
        const leaving = yield* Scope.make()
        const leaves = yield* Scope.provide(connect(server, { version }), leaving)
        for (const id of ["r1", "r2"]) for (const client of [stays, leaves]) client.send(call(id, "wait", version))
        yield* quiesce
        stays.send(cancelled("r1"))
        yield* quiesce
        assert.strictEqual((yield* server.requests.list).length, 3)
        yield* Scope.close(leaving, Exit.void)
        assert.deepStrictEqual(
          (yield* server.requests.list).map(({ id, session }) => [id, session]),
          [["r2", stays.session.id]]
        )
        yield* Scope.close(scope, Exit.void)
        yield* isEmpty(server)
        assert.strictEqual(ended.length, 4)
      })
    )

    it.effect("The view reports requests that start, wait and end, at most once per turn", () =>
      Effect.gen(function* () {
        const { features, go } = waiting("wait")
        const server = yield* serve({ features, limits: { inFlight: 1 } })
        const client = yield* connect(server, { version })
        const seen: Array<number> = []
        const look = Effect.map(server.requests.list, (rows) => void seen.push(rows.length))
        const reading = yield* Effect.forkChild(Stream.runForEach(server.requests.changes, () => look))
        yield* quiesce
        client.send(call("r1", "wait", version))
        yield* quiesce
        assert.deepStrictEqual(seen, [1])
        client.send(call("r2", "wait", version))
        yield* quiesce
        assert.deepStrictEqual(seen, [1, 2])
        yield* go.open
        yield* quiesce
        assert.strictEqual(seen.at(-1), 0)
        // Events that arrive before the reader looks are merged.
        assert.isAtMost(seen.length, 5)
        yield* Fiber.interrupt(reading)
      })
    )
  })
}

describe("Questions in the view", () => {
  const asking = tool("ask", Effect.as(Effect.ignore(Elicitation.confirm("Sure?")), "asked"))

  for (const version of versions("2025-06-18")) {
    it.effect(`A ${version} request that asks is shown as waiting for its question`, () =>
      Effect.gen(function* () {
        const server = yield* serve({ features: asking })
        const client = yield* connect(server, { version, ...asksForever })
        client.send(call("a", "ask", version))
        yield* client.nextAsk
        const [one, two] = yield* server.requests.list
        const request = one!.kind === "request" ? one! : two!
        const question = one!.kind === "request" ? two! : one!
        assert.deepInclude(request, { state: "asking", asking: ["elicitation/create"], asked: 1, target: "ask" })
        assert.deepInclude(question, { kind: "question", method: "elicitation/create", relatedTo: request.key })
        assert.notStrictEqual(question.key, request.key)
        yield* interrupt(server, request.key, "Enough")
        assert.deepStrictEqual(answers(client, "a")[0].error, interrupted("Enough"))
        const [cancel] = client.notes("notifications/cancelled")
        assert.deepStrictEqual(cancel.params, { requestId: question.id, reason: "Enough" })
        yield* isEmpty(server)
      })
    )

    it.effect(`Interrupting a ${version} question fails it in its handler and cancels it at the client`, () =>
      Effect.gen(function* () {
        const failed: Array<unknown> = []
        const features = tool(
          "ask",
          Elicitation.confirm("Sure?").pipe(
            Effect.matchEffect({
              onFailure: (error) => Effect.sync(() => void failed.push(error)),
              onSuccess: () => Effect.void
            }),
            Effect.as("went on")
          )
        )
        const server = yield* serve({ features })
        const client = yield* connect(server, { version, ...asksForever })
        client.send(call("a", "ask", version))
        yield* client.nextAsk
        const question = (yield* server.requests.list).find(({ kind }) => kind === "question")!
        yield* interrupt(server, question.key, "The user is away")
        assert.deepInclude(failed[0], interrupted("The user is away"))
        assert.strictEqual(answers(client, "a")[0].result.content[0].text, "went on")
        const [cancel] = client.notes("notifications/cancelled")
        assert.deepStrictEqual(cancel.params, { requestId: question.id, reason: "The user is away" })
        yield* isEmpty(server)
      })
    )
  }

  it.effect("A 2026-07-28 request counts questions of earlier rounds", () =>
    Effect.gen(function* () {
      const go = Latch.makeUnsafe(false)
      const answered = Latch.makeUnsafe(false)
      const both = tool(
        "both",
        Elicitation.confirm("Sure?").pipe(
          Effect.andThen(answered.open),
          Effect.andThen(go.await),
          Effect.as("done"),
          Effect.orDie
        )
      )
      const server = yield* serve({ features: both })
      const client = yield* join(server, { capabilities: { elicitation: {} } })
      const fiber = yield* Effect.forkChild(
        client.playTool("both", ({ params }) => {
          const [name = ""] = Object.keys(params.requestedSchema.properties)
          return accept({ [name]: true })
        })
      )
      yield* answered.await
      assert.deepInclude((yield* server.requests.list)[0], { target: "both", state: "running", asked: 1, asking: [] })
      yield* go.open
      yield* Fiber.join(fiber)
      yield* isEmpty(server)
    })
  )

  it.effect("An answered question leaves the view", () =>
    Effect.gen(function* () {
      const server = yield* serve({ features: asking })
      const client = yield* connect(server, accepts)
      yield* client.call("ask")
      yield* isEmpty(server)
    })
  )
})

describe("Subscriptions in the view", () => {
  const menu = Resources.layer({ uri: "menu://today", name: "menu" }, Effect.succeed("Soup"), Stream.never)

  it.effect("Interrupting subscriptions/listen in 2026-07-28 ends it with its result", () =>
    Effect.gen(function* () {
      const server = yield* serve({ features: menu })
      const client = yield* join(server)
      const listening = yield* client.listen({ resourceSubscriptions: ["menu://today"] })
      const [row] = yield* server.requests.list
      assert.deepInclude(row, { kind: "subscription", method: "subscriptions/listen", id: listening.id })
      assert.isTrue(yield* interrupt(server, row!.key, "The menu is closed"))
      const result = yield* Fiber.join(listening.fiber)
      assert.strictEqual(result._meta[Meta.subscriptionId], listening.id)
      assert.strictEqual(result.resultType, "complete")
      yield* isEmpty(server)
    })
  )

  for (const version of versions()) {
    it.effect(`A ${version} resource subscription can be ended and restarted`, () =>
      Effect.gen(function* () {
        const server = yield* serve({ features: menu })
        const client = yield* connect(server, { version })
        yield* client.request("resources/subscribe", { uri: "menu://today" })
        const row = yield* rowOf(server, "menu://today")
        assert.deepInclude(row, { kind: "subscription", method: "resources/subscribe", id: undefined })
        assert.isTrue(yield* interrupt(server, row.key, "Closed"))
        yield* isEmpty(server)
        yield* client.request("resources/subscribe", { uri: "menu://today" })
        assert.notStrictEqual((yield* rowOf(server, "menu://today")).key, row.key)
        yield* client.request("resources/unsubscribe", { uri: "menu://today" })
        yield* isEmpty(server)
      })
    )
  }
})

describe("Hostile requests in the view", () => {
  it.effect("Long client texts are truncated in the view", () =>
    Effect.gen(function* () {
      const { features } = waiting("wait")
      const server = yield* serve({ features, limits: { inFlight: 1 } })
      const client = yield* connect(server)
      client.send(call("r1", "wait"))
      const long = "x".repeat(10_000)
      client.send({ jsonrpc: "2.0", id: long, method: long, params: { name: "s3cret" } })
      client.send({ jsonrpc: "2.0", id: "r3", method: "tools/call", params: { name: long } })
      client.send({ jsonrpc: "2.0", id: "r4", method: "tools/call", params: { name: { s3cret: true } } })
      yield* quiesce
      const rows = yield* server.requests.list
      assert.strictEqual(rows.length, 4)
      assert.isBelow(JSON.stringify(rows).length, 4000)
      assert.notInclude(JSON.stringify(rows), "s3cret")
      const [, second] = rows
      assert.isTrue(yield* interrupt(server, second!.key, "Unknown"))
      assert.deepStrictEqual(answers(client, long)[0].error, interrupted("Unknown"))
    })
  )

  it.effect("A batch member can be interrupted by its key, and the whole batch is answered", () =>
    Effect.gen(function* () {
      const stuck = waiting("stuck")
      const other = waiting("other")
      const server = yield* serve({ features: Layer.merge(stuck.features, other.features) })
      const client = yield* connect(server, { version: "2025-03-26" })
      client.send([call("s", "stuck", "2025-03-26"), call("o", "other", "2025-03-26")])
      yield* quiesce
      yield* interrupt(server, (yield* rowOf(server, "stuck")).key, "Stuck")
      yield* other.go.open
      yield* quiesce
      const batch = client.received.at(-1)
      const members = new Map(batch.members.map(({ message }: any) => [message.id, message]))
      assert.deepInclude(members.get("s"), { error: interrupted("Stuck") })
      assert.isDefined((members.get("o") as { result: unknown }).result)
      yield* isEmpty(server)
    })
  )

  it.effect("An unknown key interrupts no request", () =>
    Effect.gen(function* () {
      const { features } = waiting("wait")
      const server = yield* serve({ features })
      const client = yield* connect(server)
      client.send(call("r1", "wait"))
      yield* quiesce
      for (const key of ["", "1", "undefined", "__proto__"]) assert.isFalse(yield* interrupt(server, key, "No"))
      assert.strictEqual((yield* server.requests.list).length, 1)
    })
  )
})
