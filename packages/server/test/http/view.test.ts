/** `McpServer.requests` over HTTP: requests of sessions, of POSTs without one, and of 2026-07-28. */
import * as Resources from "@effect-mcp/core/Resources"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import type * as McpServer from "@effect-mcp/server/McpServer"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Latch, Queue, Scope, Stream } from "effect"
import { call, type Client, messages, open, type Reply } from "./support/http.ts"
import * as Puppet from "./support/puppet.ts"
import { callOf, openSession, revisions } from "./support/session.ts"

const stateless = "2026-07-28"
const sessionless = (version: string) => `${version} without sessions`

/** Ways to POST a call of the puppet with an id. */
const ways = [
  ...revisions.map((version) => ({ title: version, version, options: {}, session: true })),
  ...revisions.map((version) => ({
    title: sessionless(version),
    version,
    options: { sessions: false } as const,
    session: false
  })),
  { title: stateless, version: stateless, options: {}, session: false }
]
type Way = (typeof ways)[number]

/** Starts calls of the puppet, each from a separate client and with the id 1. */
const callerOf = ({ session, version }: Way, client: Client) =>
  Effect.gen(function* () {
    if (version === stateless) return (name: string) => client.fetch(call("puppet", { name }))
    if (session) {
      const opened = yield* openSession(client, version as (typeof revisions)[number])
      return (name: string) => opened.call("puppet", { name })
    }
    const headers = { "mcp-protocol-version": version }
    return (name: string) => client.fetch({ headers, body: JSON.stringify(callOf("puppet", { name })) })
  })

const answerOf = (reply: Reply) =>
  Effect.map(reply.text, (text) => JSON.parse(text.replace(/^[^]*\ndata: /, "").replace(/^data: /, "")))
const gone = ({ requests }: McpServer.Server) => Effect.repeat(requests.list, { until: (rows) => rows.length === 0 })

describe.each(ways)("Request view over HTTP: $title", (way) => {
  it.live("Interrupting a stuck call among many clients answers its client with the reason", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const client = yield* open(puppet.layer, way.options)
      const { requests } = client.server
      const calls = yield* Effect.forEach(["a", "b", "c", "d"], (name) =>
        Effect.flatMap(callerOf(way, client), (begin) =>
          Effect.andThen(Effect.forkChild(begin(name), { startImmediately: true }), (fiber) =>
            Effect.as(Queue.take(puppet.entered), fiber)
          )
        )
      )
      const rows = yield* requests.list
      for (const row of rows) {
        assert.deepInclude(row, {
          id: 1,
          kind: "request",
          method: "tools/call",
          revision: way.version,
          state: "running"
        })
        assert.deepInclude(row, { target: "puppet", transport: "http" })
      }
      assert.strictEqual(new Set(rows.map(({ key }) => key)).size, 4)
      assert.strictEqual(new Set(rows.map(({ session }) => session)).size, way.session ? 4 : 1)
      assert.isTrue(yield* requests.interrupt(rows[2]!.key, "It was stuck"))
      assert.deepStrictEqual(yield* Queue.take(puppet.ended), ["c", "interrupted"])
      const { error } = yield* Effect.flatMap(Fiber.join(calls[2]!), answerOf)
      assert.deepStrictEqual(error, { code: McpError.Interrupted, message: "It was stuck" })
      assert.isFalse(yield* requests.interrupt(rows[2]!.key, "Again"))
      for (const [at, name] of [
        [0, "a"],
        [1, "b"],
        [3, "d"]
      ] as const) {
        yield* puppet.tell(name, Puppet.answer(name))
        const { result } = yield* Effect.flatMap(Fiber.join(calls[at]!), answerOf)
        assert.strictEqual(result.content[0].text, name)
      }
      yield* gone(client.server)
    })
  )

  it.live("The view is empty after shutdown", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const client = yield* open(puppet.layer, { ...way.options, drain: 0 })
      const begin = yield* callerOf(way, client)
      const fiber = yield* Effect.forkChild(Effect.exit(begin("a")), { startImmediately: true })
      yield* Queue.take(puppet.entered)
      assert.strictEqual((yield* client.server.requests.list).length, 1)
      yield* client.shutdown
      assert.deepStrictEqual(yield* client.server.requests.list, [])
      yield* Fiber.join(fiber)
    })
  )
})

describe("Request view over HTTP", () => {
  it.live("A 2026-07-28 call leaves the view when its client disconnects", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const client = yield* open(puppet.layer)
      const scope = yield* Scope.make()
      yield* Scope.provide(client.abandon(call("puppet", { name: "a" })), scope)
      yield* Queue.take(puppet.entered)
      assert.strictEqual((yield* client.server.requests.list).length, 1)
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(yield* Queue.take(puppet.ended), ["a", "interrupted"])
      yield* gone(client.server)
    })
  )

  it.live("An uninterruptible 2026-07-28 call is shown as ending after its client disconnects", () =>
    Effect.gen(function* () {
      const [entered, go] = [yield* Latch.make(), yield* Latch.make()]
      const masked = Tools.layer(Tool.make("masked", { description: "" }), () =>
        Effect.as(Effect.uninterruptible(Effect.andThen(entered.open, go.await)), "")
      )
      const client = yield* open(masked)
      // Even if an assertion fails, because the server waits for the handler.
      yield* Effect.addFinalizer(() => go.open)
      const scope = yield* Scope.make()
      yield* Scope.provide(client.abandon(call("masked")), scope)
      yield* entered.await
      const states = Effect.map(client.server.requests.list, (rows) => rows.map(({ state }) => state))
      assert.deepStrictEqual(yield* states, ["running"])
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(
        yield* Effect.repeat(states, { until: ([state]) => state !== "running", times: 100_000 }),
        ["ending"]
      )
      yield* go.open
      yield* gone(client.server)
    })
  )

  it.live("subscriptions/listen in 2026-07-28 appears in the view without a session", () =>
    Effect.gen(function* () {
      const menu = Resources.layer({ uri: "menu://today", name: "menu" }, Effect.succeed("Soup"), Stream.never)
      const client = yield* open(menu)
      const reply = yield* client.post("subscriptions/listen", {
        notifications: { resourceSubscriptions: ["menu://today"] }
      })
      const [row] = yield* client.server.requests.list
      assert.deepInclude(row, { kind: "subscription", method: "subscriptions/listen", session: undefined })
      yield* client.server.requests.interrupt(row!.key, "The menu is closed")
      const last = (yield* messages(reply)).at(-1)
      assert.strictEqual(last.result._meta[Meta.subscriptionId], 1)
      yield* gone(client.server)
    })
  )
})
