/** One extension at our server and our client, defined by a single value, over every wire and revision. */
import { ClientExtension } from "@effect-mcp/client"
import { EncodedResult, Extension, Extensions, Progress, Tool, Tools } from "@effect-mcp/core"
import { Revision } from "@effect-mcp/protocol"
import { Middleware } from "@effect-mcp/server"
import { Harness, quiesce } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Option, Queue, Schema, Stream } from "effect"
import * as Harnesses from "../support/harnesses.ts"

const Counts = Schema.Record(Schema.String, Schema.Int)

const Notes = Extension.make("com.example/notes", {
  clientSettings: { colours: Schema.optionalKey(Schema.Boolean) },
  serverSettings: { shelf: Schema.String },
  requests: {
    find: Extension.request("com.example/notes/find", {
      params: { text: Schema.String },
      result: { ids: Schema.Array(Schema.Int), colours: Schema.Boolean },
      failure: Schema.Struct({ tooShort: Schema.Int }),
      nameParam: "text",
      readOnly: true,
      longRunning: true
    }),
    wait: Extension.request("com.example/notes/wait"),
    // Schemas that would take a `_meta` for one of their members.
    count: Extension.request("com.example/notes/count", { params: Counts, result: Counts })
  },
  questions: {
    pick: Extension.question("com.example/notes/pick", {
      params: { ids: Schema.Array(Schema.Int) },
      result: { id: Schema.Int },
      failure: Schema.Struct({ none: Schema.Boolean })
    }),
    recount: Extension.question("com.example/notes/recount", { params: Counts, result: Counts })
  },
  notifications: {
    added: Extension.notification("notifications/com.example/notes/added", {
      from: "server",
      params: { id: Schema.Int }
    }),
    seen: Extension.notification("notifications/com.example/notes/seen", { from: "client", params: { id: Schema.Int } })
  },
  subscriptions: { added: Extension.subscription("com.example/notes", Schema.Array(Schema.Int)) }
})

const Pick = Tool.make("pick", { description: "Asks for a note", input: { ids: Schema.Array(Schema.Int) } })

const pick = Tools.layer(Pick, ({ ids }) =>
  Effect.matchEffect(Extensions.ask(Notes.questions.pick, { ids }), {
    onFailure: (error) => ("none" in error ? Effect.succeed(`none: ${error.none}`) : Effect.die(error)),
    onSuccess: ({ id }) => Effect.as(Extensions.notify(Notes.notifications.added, { id }), `picked ${id}`)
  })
)

const Later = Tool.make("later", { description: "Is answered by a ticket" })

/** The tool never runs: its calls get a result of another kind, which a client exchanges for the final one. */
const later = Layer.merge(
  Tools.layer(Later, () => Effect.die("A ticket is the answer")),
  Middleware.layer((request, next) =>
    request.method === "tools/call" && request.params.name === Later.name
      ? Effect.succeed(EncodedResult.EncodedResult.of(Notes, "ticket", { ticket: "7" }))
      : next
  )
)

const features = (
  waiting: Deferred.Deferred<void>,
  ended: Deferred.Deferred<Exit.Exit<unknown, unknown>>,
  seen: Queue.Enqueue<number>
) =>
  Layer.mergeAll(
    pick,
    later,
    Extensions.layer(Notes, {
      settings: { shelf: "top" },
      requests: {
        find: ({ text }) =>
          Effect.gen(function* () {
            if (text.length < 2) return yield* Effect.fail({ tooShort: text.length })
            const settings = yield* Effect.orDie(Extensions.declared(Notes))
            yield* Progress.report(1)
            return { ids: [text.length], colours: Option.exists(settings, ({ colours }) => colours === true) }
          }),
        count: (counts) => Effect.orDie(Extensions.ask(Notes.questions.recount, counts)),
        wait: () =>
          Effect.andThen(Deferred.succeed(waiting, undefined), Effect.never).pipe(
            Effect.onExit((exit) => Deferred.succeed(ended, exit))
          )
      },
      notifications: { seen: ({ id }) => Effect.asVoid(Queue.offer(seen, id)) },
      subscriptions: {
        added: (asked) => {
          const granted = asked.filter((id) => id > 0)
          const messages = Stream.map(Stream.fromIterable(granted), (id) =>
            Extensions.message(Notes.notifications.added, { id })
          )
          return Effect.succeed(
            granted.length === 0 ? undefined : { granted, messages: Stream.concat(messages, Stream.never) }
          )
        }
      }
    })
  )

const { bytes, memory } = Harness
const { http, node, socket, sse, web } = Harnesses
const cases = [
  ...Harness.cases(Revision.all, [memory, bytes, socket, http, node, web]),
  ...Harness.cases(Revision.stateful, [sse])
]

describe.each(cases)("Extensions in $title", ({ open, revision }) => {
  const run = Effect.gen(function* () {
    const waiting = yield* Deferred.make<void>()
    const ended = yield* Deferred.make<Exit.Exit<unknown, unknown>>()
    const handled = yield* Queue.unbounded<number>()
    const seen = yield* Queue.unbounded<number>()
    const layer = ClientExtension.layer(Notes, {
      settings: { colours: true },
      questions: {
        pick: ({ ids: [id] }) => (id === undefined ? Effect.fail({ none: true }) : Effect.succeed({ id })),
        recount: (counts) => Effect.succeed({ ...counts, more: 1 })
      },
      notifications: { added: ({ id }) => Effect.asVoid(Queue.offer(handled, id)) },
      results: {
        resultType: "ticket",
        matches: ({ ticket }) => ticket !== undefined,
        follow: ({ ticket }) => Effect.succeed({ content: [{ type: "text", text: `ticket ${String(ticket)}` }] })
      }
    })
    const client = yield* Effect.provide(open(features(waiting, ended, seen)), layer)
    return { client, ended, handled, seen, waiting }
  })

  it.live("Requests have typed results, failures and progress, and both sides have settings", () =>
    Effect.gen(function* () {
      const { client } = yield* run
      const events: Array<number> = []
      const onProgress = ({ progress }: { readonly progress: number }) => void events.push(progress)
      const found = yield* client.request(Notes.requests.find, { text: "milk ☕" }, { onProgress })
      assert.deepStrictEqual(found, { ids: [6], colours: true })
      assert.deepStrictEqual(events, [1])
      assert.deepStrictEqual(yield* Effect.flip(client.request(Notes.requests.find, { text: "m" })), { tooShort: 1 })
      assert.deepStrictEqual(yield* client.serverSettings(Notes), Option.some({ shelf: "top" }))
    })
  )

  it.live("Questions, their failures and notifications work while a tool runs", () =>
    Effect.gen(function* () {
      const { client, handled } = yield* run
      const told = yield* Effect.forkChild(Stream.runHead(client.notifications(Notes.notifications.added)), {
        startImmediately: true
      })
      yield* quiesce
      const text = (ids: ReadonlyArray<number>) =>
        Effect.map(client.callToolByName("pick", { ids }), ({ content: [block] }) =>
          block?.type === "text" ? block.text : undefined
        )
      assert.strictEqual(yield* text([7]), "picked 7")
      assert.strictEqual(yield* text([]), "none: true")
      assert.strictEqual(yield* Queue.take(handled), 7)
      assert.deepStrictEqual(yield* Fiber.join(told), Option.some({ id: 7 }))
    })
  )

  it.live("The client exchanges custom results for the final ones", () =>
    Effect.gen(function* () {
      const { client } = yield* run
      const { content } = yield* client.callToolByName(Later.name, {})
      assert.deepStrictEqual(content, [{ type: "text", text: "ticket 7" }])
    })
  )

  it.live("The server handles client notifications in order of arrival", () =>
    Effect.gen(function* () {
      const { client, seen } = yield* run
      for (const id of [1, 2, 3]) yield* client.notify(Notes.notifications.seen, { id })
      assert.deepStrictEqual(yield* Queue.takeN(seen, 3), [1, 2, 3])
    })
  )

  it.live("Subscriptions are granted in part, only in the stateless era", () =>
    Effect.gen(function* () {
      const { client } = yield* run
      const listening = client.listen(Notes.subscriptions.added, [-1, 7, 8], Notes.notifications.added)
      if (revision.era === "stateful") {
        assert.strictEqual((yield* Effect.flip(Stream.runDrain(listening)))._tag, "CapabilityMissing")
        return
      }
      assert.deepStrictEqual(yield* Stream.runCollect(Stream.take(listening, 3)), [
        { _tag: "Listening", granted: [7, 8] },
        { _tag: "Notification", params: { id: 7 } },
        { _tag: "Notification", params: { id: 8 } }
      ])
      const none = client.listen(Notes.subscriptions.added, [-1], Notes.notifications.added)
      assert.strictEqual((yield* Effect.flip(Stream.runDrain(none)))._tag, "CapabilityMissing")
    })
  )

  it.live("Params and results can have any names, alongside their messages' _meta", () =>
    Effect.gen(function* () {
      const { client } = yield* run
      const options = { meta: { "com.example/key": "text" } }
      assert.deepStrictEqual(yield* client.request(Notes.requests.count, { notes: 2 }, options), { notes: 2, more: 1 })
    })
  )

  it.live("Interrupting an extension request ends its handler", () =>
    Effect.gen(function* () {
      const { client, ended, waiting } = yield* run
      const call = yield* Effect.forkChild(client.request(Notes.requests.wait, {}), { startImmediately: true })
      yield* Deferred.await(waiting)
      yield* Fiber.interrupt(call)
      assert.isTrue(Exit.hasInterrupts(yield* Deferred.await(ended)))
    })
  )

  it.live("An extension's method is rejected for a client that did not declare the extension", () =>
    Effect.gen(function* () {
      const waiting = yield* Deferred.make<void>()
      const ended = yield* Deferred.make<Exit.Exit<unknown, unknown>>()
      const client = yield* open(features(waiting, ended, yield* Queue.unbounded<number>()))
      const error = yield* Effect.flip(client.raw.request(Notes.requests.wait.method))
      assert.deepInclude(error, {
        _tag: "McpError",
        code: revision.rules.missingCapability === "error" ? -32021 : -32601
      })
    })
  )
})
