/** Messages with methods that the gateway does not know pass through it untouched, in every pair of revisions. */
import { ClientExtension } from "@effect-mcp/client"
import { Requester } from "@effect-mcp/client/Requester"
import { Extension, Extensions, Memory, Progress, RequestContext } from "@effect-mcp/core"
import { EncodedResult } from "@effect-mcp/core/EncodedResult"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Middleware from "@effect-mcp/server/Middleware"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, Option, Queue, Schema, Stream } from "effect"
import * as Gateway from "../src/Gateway.ts"
import { join, pairs } from "./support/gateway.ts"
import { post } from "./support/post.ts"

const Word = { word: Schema.String }
const Echo = Extension.make("com.example/echo", {
  clientSettings: { loud: Schema.Boolean },
  serverSettings: { since: Schema.Int },
  requests: {
    say: Extension.request("com.example/echo/say", {
      params: Word,
      result: { word: Schema.String, meta: Schema.String }
    }),
    count: Extension.request("com.example/echo/count"),
    ask: Extension.request("com.example/echo/ask", { result: Word }),
    tell: Extension.request("com.example/echo/tell"),
    hang: Extension.request("com.example/echo/hang"),
    fail: Extension.request("com.example/echo/fail"),
    later: Extension.request("com.example/echo/later"),
    named: Extension.request("com.example/echo/named", { params: Word, result: Word, nameParam: "word" })
  },
  questions: { which: Extension.question("com.example/echo/which", { params: Word, result: Word }) },
  notifications: {
    told: Extension.notification("notifications/com.example/echo/told", { from: "server", params: Word }),
    heard: Extension.notification("notifications/com.example/echo/heard", { from: "client", params: Word }),
    spoken: Extension.notification("notifications/com.example/echo/spoken", { from: "server", params: Word })
  },
  subscriptions: { words: Extension.subscription("com.example/echo/words", Schema.Array(Schema.String)) }
})

const declared = ClientExtension.layer(Echo, {
  settings: { loud: true },
  questions: {
    which: ({ word }: { readonly word: string }) =>
      Effect.map(Requester, (requester) => {
        requester?.progress?.({ progress: 1, total: 2 })
        return { word: `${word}!` }
      })
  }
})

/** The gateway before a server with the extension, and the messages that the server records. */
const setup = Effect.fnUntraced(function* (
  upstream: Revision.Revision,
  options?: Partial<Gateway.Options<never, never>>
) {
  const heard = yield* Queue.unbounded<string>()
  const started = yield* Deferred.make<void>()
  const interrupted = yield* Deferred.make<void>()
  const told = (word: string, on: "request" | "connection") =>
    Extensions.notify(Echo.notifications.told, { word }, { on })
  const own = Extensions.layer(Echo, {
    settings: { since: 7 },
    requests: {
      say: ({ word }) =>
        Effect.map(RequestContext.RequestContext, ({ meta }) => ({
          word,
          meta: JSON.stringify(meta["com.example/x"])
        })),
      count: () =>
        Effect.as(
          Effect.forEach([1, 2, 3], (n) => Progress.report(n, { total: 3 })),
          {}
        ),
      ask: () =>
        Effect.gen(function* () {
          const progress: Array<number> = []
          const onProgress = (event: { readonly progress: number }) => void progress.push(event.progress)
          const { word } = yield* Extensions.ask(Echo.questions.which, { word: "this" }, { onProgress })
          return { word: `${word}${progress.join()}` }
        }),
      tell: () => Effect.as(Effect.andThen(told("beside", "request"), told("alone", "connection")), {}),
      hang: () =>
        Effect.andThen(
          Deferred.succeed(started, undefined),
          Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined))
        ),
      fail: () => Effect.fail(new McpError.McpError({ code: 4711, message: "broken", data: { why: "so" } })),
      later: () => Effect.succeed({}),
      named: ({ word }) => Effect.succeed({ word })
    },
    subscriptions: {
      words: (words) => {
        const granted = words.filter((word) => word !== "secret")
        const messages = Stream.fromIterable(granted)
        return Effect.succeed({
          granted,
          messages: Stream.map(messages, (word) => Extensions.message(Echo.notifications.spoken, { word }))
        })
      }
    },
    notifications: { heard: ({ word }) => Queue.offer(heard, word) }
  })
  const laterKind = Middleware.layer((_request, next) =>
    Effect.flatMap(RequestContext.RequestContext, ({ method }) =>
      method === Echo.requests.later.method
        ? Effect.succeed(EncodedResult.of(Echo, "com.example/later", { ticket: 1 }))
        : next
    )
  )
  const behind = McpServer.layer({ name: "behind", version: "1", features: Layer.merge(own, laterKind) })
  const server = Context.get(yield* Layer.build(Layer.fresh(behind)), McpServer.McpServer)
  const connector = Effect.gen(function* () {
    const [client, end] = yield* Memory.pair()
    yield* server.connect(end)
    return client
  })
  const gateway = yield* Layer.build(
    Layer.fresh(Gateway.layer({ connector, client: { revisions: [upstream.version] }, ...options }))
  )
  return { gateway, heard, interrupted, started }
})

describe.each(pairs)("$title", ({ downstream, upstream }) => {
  const test = <A, E>(
    title: string,
    body: (
      behind: Effect.Success<ReturnType<typeof setup>>
    ) => Effect.Effect<A, E, Gateway.Gateway | Effect.Services<ReturnType<typeof join>>>
  ) =>
    it.effect(title, () =>
      Effect.scoped(
        Effect.flatMap(setup(upstream), (behind) =>
          Effect.provide(Effect.provide(body(behind), behind.gateway), declared)
        )
      )
    )

  test("Each side's extension is declared to the other", () =>
    Effect.gen(function* () {
      const client = yield* join(downstream)
      assert.deepStrictEqual(yield* client.serverSettings(Echo), Option.some({ since: 7 }))
      assert.deepStrictEqual(Object.keys(client.serverCapabilities[downstream.rules.extensions] ?? {}), [Echo.id])
    }))

  test("An unknown request is forwarded with its params, result and progress", () =>
    Effect.gen(function* () {
      const { request } = yield* join(downstream)
      const said = yield* request(Echo.requests.say, { word: "hi" }, { meta: { "com.example/x": { y: 1 } } })
      assert.deepStrictEqual(said, { word: "hi", meta: `{"y":1}` })
      const progress: Array<number> = []
      yield* request(Echo.requests.count, {}, { onProgress: (event) => void progress.push(event.progress) })
      assert.deepStrictEqual(progress, [1, 2, 3])
      const error = yield* Effect.flip(request(Echo.requests.fail, {}))
      assert.deepInclude(error, { code: 4711, message: "broken", data: { why: "so" } })
    }))

  test("A server's unknown question is forwarded between sessions with its answer", () =>
    Effect.gen(function* () {
      const { request } = yield* join(downstream)
      const inSessions = downstream.era === "stateful" && upstream.era === "stateful"
      assert.deepStrictEqual(yield* request(Echo.requests.ask, {}), { word: inSessions ? "this!1" : "this!" })
      assert.strictEqual((yield* Gateway.Gateway).calls(), 0)
    }))

  test("A server's unknown notifications are forwarded", () =>
    Effect.gen(function* () {
      const { notifications, request } = yield* join(downstream)
      const words = upstream.era === "stateful" ? ["beside", "alone"] : ["beside"]
      const told = yield* Effect.forkChild(
        Stream.runCollect(Stream.take(notifications(Echo.notifications.told), words.length)),
        { startImmediately: true }
      )
      yield* request(Echo.requests.tell, {})
      assert.deepStrictEqual(
        (yield* Fiber.join(told)).map(({ word }) => word),
        words
      )
    }))

  test("A client's cancellation cancels the request upstream", ({ interrupted, started }) =>
    Effect.gen(function* () {
      const { request } = yield* join(downstream)
      const fiber = yield* Effect.forkChild(request(Echo.requests.hang, {}))
      yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)
      yield* Deferred.await(interrupted)
      assert.strictEqual((yield* Gateway.Gateway).calls(), 0)
    }))

  test("A method unknown to both sides is rejected", () =>
    Effect.gen(function* () {
      const { raw } = yield* join(downstream)
      assert.propertyVal(yield* Effect.flip(raw.request("com.example/nothing")), "code", -32601)
    }))

  if (downstream.era === "stateful") {
    test("Unknown notifications from a session's client are forwarded", ({ heard }) =>
      Effect.gen(function* () {
        const { notify } = yield* join(downstream)
        yield* notify(Echo.notifications.heard, { word: "one" })
        yield* notify(Echo.notifications.heard, { word: "two" })
        assert.deepStrictEqual([yield* Queue.take(heard), yield* Queue.take(heard)], ["one", "two"])
      }))
  }

  if (downstream.era === "stateless") {
    test("Custom subscriptions are forwarded if the server has subscriptions", () =>
      Effect.gen(function* () {
        const { listen } = yield* join(downstream)
        const events = listen(Echo.subscriptions.words, ["one", "secret", "two"], Echo.notifications.spoken)
        if (upstream.era === "stateful") {
          const refused = yield* Effect.flip(Stream.runDrain(events))
          assert.propertyVal(refused, "_tag", "CapabilityMissing")
        } else {
          assert.deepStrictEqual(yield* Stream.runCollect(Stream.take(events, 3)), [
            { _tag: "Listening", granted: ["one", "two"] },
            { _tag: "Notification", params: { word: "one" } },
            { _tag: "Notification", params: { word: "two" } }
          ])
        }
      }))
  }

  if (upstream.era === "stateless") {
    test("Custom result types are forwarded only if the client's revision has them", () =>
      Effect.gen(function* () {
        const { raw } = yield* join(downstream)
        const exit = yield* Effect.result(raw.request(Echo.requests.later.method))
        if (downstream.era === "stateful") {
          assert.include(exit._tag === "Failure" ? exit.failure.message : "", "com.example/later")
        } else
          assert.deepInclude(exit._tag === "Success" ? exit.success : {}, {
            ticket: 1,
            resultType: "com.example/later"
          })
      }))
  }
})

describe.each(Revision.stateless)("Extensions known only to the server, in $version", (newest) => {
  it.effect("A subscription to a server-only extension fails with -32021, naming the extension", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { gateway } = yield* setup(newest)
        const { raw } = yield* Effect.provide(join(newest), gateway)
        const refused = yield* Effect.flip(Stream.runDrain(raw.listen({ [Echo.subscriptions.words.key]: ["one"] })))
        assert.deepInclude(refused, {
          code: -32021,
          data: { requiredCapabilities: { extensions: { [Echo.id]: {} } } }
        })
      })
    )
  )
})

describe.each(Revision.stateless)("Mcp-Name of an unknown method in $version", (newest) => {
  const send = (
    headers: { readonly [name: string]: string } | undefined,
    options?: Partial<Gateway.Options<never, never>>
  ) =>
    Effect.scoped(
      Effect.gen(function* () {
        const { gateway } = yield* setup(newest, options)
        const { method } = Echo.requests.named
        const envelope = headers && {
          headers: { "mcp-protocol-version": newest.version, "mcp-method": method, ...headers }
        }
        const capabilities = { extensions: { [Echo.id]: { loud: true } } }
        const sent = post(method, { word: "mine" }, { capabilities, ...(envelope && { envelope }) })
        return yield* Effect.provide(sent, gateway)
      })
    )

  it.effect("Mcp-Name is checked against the param defined by a known extension", () =>
    Effect.gen(function* () {
      const known = { extensions: [Echo] }
      assert.deepInclude((yield* send({ "mcp-name": "mine" }, known)).result, { word: "mine" })
      assert.propertyVal((yield* send({ "mcp-name": "yours" }, known)).error, "code", -32020)
      assert.propertyVal((yield* send({}, known)).error, "code", -32020)
      assert.deepInclude((yield* send(undefined, known)).result, { word: "mine" })
    })
  )

  it.effect("Mcp-Name is not checked for an extension unknown to the gateway", () =>
    Effect.gen(function* () {
      assert.deepInclude((yield* send({ "mcp-name": "yours" })).result, { word: "mine" })
    })
  )
})
