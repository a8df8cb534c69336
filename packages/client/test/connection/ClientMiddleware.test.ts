// @effect-diagnostics missingEffectError:off missingLayerContext:off -- the compiler says it first, as expected
/** Middleware around the requests that a client sends and the questions that it answers, in every revision. */
import * as ClientMiddleware from "@effect-mcp/client/ClientMiddleware"
import * as McpClient from "@effect-mcp/client/McpClient"
import * as Peer from "@effect-mcp/core/Peer"
import * as McpError from "@effect-mcp/protocol/McpError"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Latch, Layer, Stream } from "effect"
import { asker, refused } from "../support/asking.ts"
import { all, connected, quiesce } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"
import { answer, form, model, sampling } from "../support/questions.ts"
import { hangingFirst, recovering, tool, until } from "../support/recovering.ts"
import type * as Scripted from "../support/scripted.ts"

class Journal extends Context.Service<Journal, Array<string>>()("test/Journal") {}

const with_ = (...middleware: ReadonlyArray<ClientMiddleware.Middleware>) =>
  Effect.provide(ClientMiddleware.layer(...middleware))
const noting = (seen: Array<string>): ClientMiddleware.Middleware => ({
  request: ({ method }, next) =>
    Effect.andThen(
      Effect.sync(() => seen.push(method)),
      next()
    )
})
const page = (version: string, tools: ReadonlyArray<object> = []) =>
  version === Modern.version ? Modern.complete({ tools, ttlMs: 60_000, cacheScope: "private" }) : { tools }
const called = (version: string) => (version === Modern.version ? Modern.complete({ content: [] }) : { content: [] })

describe.each(all)("Client middleware in %s", (version) => {
  const handshake = version === Modern.version ? "server/discover" : "initialize"
  const answers = {
    "tools/list": () => page(version),
    "tools/call": () => called(version)
  }

  it.effect("Middleware sees the handshake and every outgoing request", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const { client } = yield* connected({ version, answers }, { revisions: [version] }).pipe(with_(noting(seen)))
      yield* client.callToolByName("t", {})
      yield* Stream.runDrain(client.listTools)
      yield* Stream.runDrain(client.listTools)
      yield* client.ping
      // Cached answers send no request, and a stateless ping is a discovery.
      const lists = version === Modern.version ? ["tools/list"] : ["tools/list", "tools/list"]
      const ping = version === Modern.version ? "server/discover" : "ping"
      assert.deepStrictEqual(seen, [handshake, "tools/call", ...lists, ping])
    })
  )

  it.effect("Middleware runs in the given order, outer layers first", () =>
    Effect.gen(function* () {
      const journal: Array<string> = []
      const note = (name: string): ClientMiddleware.Middleware<Journal> => ({
        request: ({ method }, next) =>
          Effect.flatMap(Journal, (journal) => {
            if (method === "tools/call") journal.push(name)
            return next()
          })
      })
      const middleware = ClientMiddleware.layer(note("second"), note("third")).pipe(
        Layer.provide(ClientMiddleware.layer(note("first"))),
        Layer.provide(Layer.succeed(Journal, journal))
      )
      const { client } = yield* Effect.provide(connected({ version, answers }), middleware)
      yield* client.callToolByName("t", {})
      assert.deepStrictEqual(journal, ["first", "second", "third"])
    })
  )

  it.effect("Middleware can change params and _meta, but not the request's declarations", () =>
    Effect.gen(function* () {
      const tenant: ClientMiddleware.Middleware = {
        request: (_, next) => next({ meta: { "com.acme/tenant": "acme" } })
      }
      const renaming: ClientMiddleware.Middleware = {
        request: ({ method, params }, next) =>
          method === "tools/call" ? next({ params: { ...params, name: "renamed" } }) : next()
      }
      const { client, server } = yield* connected({ version, answers }).pipe(with_(tenant, renaming))
      yield* client.callToolByName("t", {}, { meta: { "com.acme/own": 1 } })
      const [request] = server.requests("tools/call")
      assert.strictEqual(request?.params?.["name"], "renamed")
      assert.strictEqual(Modern.declared(request, "com.acme/tenant"), "acme")
      assert.strictEqual(Modern.declared(request, "com.acme/own"), 1)
      assert.strictEqual(Modern.declared(server.requests(handshake)[0], "com.acme/tenant"), "acme")
      if (version === Modern.version) {
        assert.strictEqual(Modern.declared(request, "io.modelcontextprotocol/protocolVersion"), version)
      }
    })
  )

  it.effect("Middleware can answer and resend a request, or reject it with a typed error", () =>
    Effect.gen(function* () {
      let tries = 0
      const failing: Scripted.Answer = () =>
        ++tries < 3 ? Effect.fail(McpError.limitExceeded("Busy")) : Effect.succeed(called(version))
      const middleware: ClientMiddleware.Middleware = {
        request: ({ method, params }, next) => {
          if (method !== "tools/call") return next()
          if (params?.["name"] === "cached") return Effect.succeed(called(version))
          if (params?.["name"] === "refused") return Effect.fail(McpError.forbidden("Not this one"))
          if (params?.["name"] === "offline") return Effect.fail(new Peer.Closed({ message: "offline" }))
          return Effect.retry(next(), { times: 5, while: ({ _tag }) => _tag === "McpError" })
        }
      }
      const script = { version, answers: { "tools/call": failing } }
      const { client, server } = yield* connected(script, { reconnect: false }).pipe(with_(middleware))
      assert.deepStrictEqual((yield* client.callToolByName("cached", {})).content, [])
      assert.strictEqual((yield* Effect.flip(client.callToolByName("refused", {})))._tag, "McpError")
      assert.strictEqual((yield* Effect.flip(client.callToolByName("offline", {})))._tag, "Closed")
      assert.lengthOf(server.requests("tools/call"), 0)
      yield* client.callToolByName("t", {})
      assert.lengthOf(server.requests("tools/call"), 3)
    })
  )

  it.effect("Interrupting a call interrupts its waiting middleware, and cancels the call if sent", () =>
    Effect.gen(function* () {
      const started = yield* Latch.make()
      const ends: Array<string> = []
      const waiting: ClientMiddleware.Middleware = {
        request: ({ method, params }, next) => {
          if (method !== "tools/call") return next()
          const wait = params?.["name"] === "before" ? Effect.andThen(started.open, Effect.never) : next()
          return Effect.onInterrupt(wait, () => Effect.sync(() => ends.push(String(params?.["name"]))))
        }
      }
      const script = { version, answers: { "tools/call": () => Effect.andThen(started.open, Effect.never) } }
      const { client, server } = yield* connected(script).pipe(with_(waiting))
      for (const name of ["before", "sent"]) {
        const call = yield* Effect.forkChild(client.callToolByName(name, {}), { startImmediately: true })
        yield* started.await
        yield* Fiber.interrupt(call)
        yield* started.close
      }
      yield* quiesce
      assert.deepStrictEqual(ends, ["before", "sent"])
      const [{ id } = { id: undefined }] = server.requests("tools/call")
      const cancels = server.heard.filter(
        (message) => "method" in message && message.method === "notifications/cancelled"
      )
      assert.deepStrictEqual(
        cancels.map((message) => "params" in message && message.params?.["requestId"]),
        [id]
      )
    })
  )

  it.effect("Middleware cannot make the client repeat a request that may have run", () =>
    Effect.gen(function* () {
      const retrying: ClientMiddleware.Middleware = {
        request: ({ method }, next) => (method === "tools/call" ? Effect.retry(next(), { times: 1 }) : next())
      }
      const plan = { version, script: hangingFirst({ "tools/call": () => tool, "tools/list": () => page(version) }) }
      const { client, opened, server } = yield* recovering(plan).pipe(with_(retrying))
      const call = yield* Effect.forkChild(Effect.flip(client.callToolByName("t", {})), { startImmediately: true })
      yield* until(() => server(0).requests("tools/call").length === 1)
      server(0).cut()
      const error = yield* Fiber.join(call)
      assert.isTrue(error._tag === "Closed" && error.unsent !== true)
      yield* Stream.runDrain(client.listTools)
      assert.deepStrictEqual(
        opened.map((server) => server.requests("tools/call").length),
        [1, 0]
      )
    })
  )

  it.effect("Middleware that rejects the handshake fails the connection", () =>
    Effect.gen(function* () {
      const refusing: ClientMiddleware.Middleware = {
        request: () => Effect.fail(McpError.forbidden("Not this server"))
      }
      const error = yield* Effect.flip(connected({ version }, { revisions: [version] }).pipe(with_(refusing)))
      assert.include(error.message, "Not this server")
    })
  )

  it.effect("Middleware can see, answer and reject questions", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const watching: ClientMiddleware.Middleware = {
        question: ({ method, server }, next) =>
          Effect.andThen(
            Effect.sync(() => seen.push(`${method} of ${server.name}`)),
            next
          )
      }
      const guarding: ClientMiddleware.Middleware = {
        question: ({ method, params }, next) => {
          if (method === "roots/list") return Effect.succeed({ roots: [{ uri: "file:///made", name: "made" }] })
          return params?.["maxTokens"] === 7 ? Effect.fail(McpError.forbidden("Too many")) : next
        }
      }
      const { ask } = yield* asker(version).pipe(Effect.provide(model()), with_(watching, guarding))
      assert.deepStrictEqual(yield* ask("sampling/createMessage", sampling), answer)
      assert.deepStrictEqual(yield* ask("roots/list"), { roots: [{ uri: "file:///made", name: "made" }] })
      const error = yield* Effect.flip(ask("sampling/createMessage", { ...sampling, maxTokens: 7 }))
      assert.strictEqual(error instanceof McpError.McpError && error.code, McpError.Forbidden)
      // A question that must not be asked is rejected in the way of its revision.
      const unasked = yield* Effect.flip(ask("elicitation/create", form()))
      const code = unasked instanceof McpError.McpError ? unasked.code : unasked._tag
      assert.strictEqual(code, refused(version, McpError.MethodNotFound))
      assert.deepStrictEqual(
        seen.map((one) => one.split(" of ")[0]),
        ["sampling/createMessage", "roots/list", "sampling/createMessage", "elicitation/create"]
      )
    })
  )
})

describe("Client middleware", () => {
  it.effect("Middleware can resend a subscription", () =>
    Effect.gen(function* () {
      let tries = 0
      const listen: Scripted.Answer = ({ notifications }, { peer, request }) => {
        if (++tries === 1) return Effect.fail(McpError.limitExceeded("Busy"))
        const _meta = { "io.modelcontextprotocol/subscriptionId": request.id }
        peer.notify("notifications/subscriptions/acknowledged", { _meta, notifications })
        return Effect.never
      }
      const retrying: ClientMiddleware.Middleware = { request: (_, next) => Effect.retry(next(), { times: 1 }) }
      const script = { version: Modern.version, answers: { "subscriptions/listen": listen } } as const
      const { client, server } = yield* connected(script).pipe(with_(retrying))
      const changes = yield* Effect.forkChild(Stream.runDrain(client.toolChanges), { startImmediately: true })
      yield* quiesce
      assert.lengthOf(server.requests("subscriptions/listen"), 2)
      yield* Fiber.interrupt(changes)
    })
  )

  it("Middleware errors and requirements are typed", () => {
    const needy: ClientMiddleware.Middleware<Journal> = { request: (_, next) => Effect.andThen(Journal, next()) }
    // @ts-expect-error Journal is missing
    const unmet: Layer.Layer<ClientMiddleware.ClientMiddleware> = ClientMiddleware.layer(needy)
    const met: Layer.Layer<ClientMiddleware.ClientMiddleware> = Layer.provide(
      ClientMiddleware.layer(needy),
      Layer.succeed(Journal, [])
    )
    // @ts-expect-error an error that no request has
    ClientMiddleware.layer({ request: () => Effect.fail("no") })
    assert.isDefined([unmet, met, McpClient.McpClient])
  })
})
