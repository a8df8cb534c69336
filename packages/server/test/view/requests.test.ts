/** `McpServer.requests`: what runs at a server, by all of its sessions, and what interrupts it. */
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
  describe(`Requests of ${version} in the view`, () => {
    it.effect("A stuck tool among many sessions is found by its name, and its client is answered by the reason", () =>
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

    it.effect(
      "A row of the view names the tool, the caller, the client and the revision, and holds no argument and no claim",
      () =>
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

    it.effect("A row of the view shows the last progress that was sent, and none where the client wants none", () =>
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

    it.effect("One id in two sessions is two rows of the view, and a key interrupts the request of one row", () =>
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

    it.effect("The key of an ended request in the view interrupts no later request of its id", () =>
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

    it.effect(
      "A request of the view that waits for a permit is pending, and is answered without running when interrupted",
      () =>
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

    it.effect(
      "A handler that masks interruption is shown as ending in the view, and its client is answered when the handler has ended",
      () =>
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

    it.effect("Nothing is left in the view after cancels, after the end of a connection, and of the server", () =>
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

    it.effect("Changes of the view tell of requests that begin, wait and end, at most once for those of one turn", () =>
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
        // Events that come before the reader has looked are one.
        assert.isAtMost(seen.length, 5)
        yield* Fiber.interrupt(reading)
      })
    )
  })
}

describe("A question in the view", () => {
  const asking = tool("ask", Effect.as(Effect.ignore(Elicitation.confirm("Sure?")), "asked"))

  for (const version of versions("2025-06-18")) {
    it.effect(`A request of ${version} that asks waits for the row of its question`, () =>
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

    it.effect(`A question of ${version} that is interrupted fails in its handler and is cancelled at the client`, () =>
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

  it.effect("A request of 2026-07-28 counts the questions of its earlier rounds, and waits for none", () =>
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

  it.effect("A question that is answered leaves the view", () =>
    Effect.gen(function* () {
      const server = yield* serve({ features: asking })
      const client = yield* connect(server, accepts)
      yield* client.call("ask")
      yield* isEmpty(server)
    })
  )
})

describe("A subscription in the view", () => {
  const menu = Resources.layer({ uri: "menu://today", name: "menu" }, Effect.succeed("Soup"), Stream.never)

  it.effect("subscriptions/listen of 2026-07-28 is ended by its result", () =>
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
    it.effect(`A resource subscription of ${version} is ended, and may begin again`, () =>
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

describe("A hostile request in the view", () => {
  it.effect("Long texts of a client are cut in the view, and a param of an unknown method is no target", () =>
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

  it.effect("A member of a batch is interrupted alone by its key, and the batch is answered whole", () =>
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

  it.effect("An unknown key of the view interrupts no request", () =>
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
