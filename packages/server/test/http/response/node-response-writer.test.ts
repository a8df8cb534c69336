/**
 * Events written directly to a response of Effect's server. Middleware around the endpoint works as it does on a stream.
 */
import { NodeHttpServer } from "@effect/platform-node"
import * as Progress from "@effect-mcp/core/Progress"
import * as Http from "../../../src/http/RouterEndpoint.ts"
import * as McpServer from "@effect-mcp/server/McpServer"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Queue, Scope, Stream, type Types } from "effect"
import {
  HttpBody,
  HttpEffect,
  type HttpMiddleware,
  HttpRouter,
  HttpServer,
  type HttpServerRequest,
  HttpServerResponse
} from "effect/http"
import { createServer } from "node:http"
import { call, clientOf } from "../support/http.ts"
import * as Puppet from "../support/puppet.ts"
import { openSession } from "../support/session.ts"

type Answer = Effect.Effect<HttpServerResponse.HttpServerResponse, Types.unhandled>
/** Middleware of the router around the endpoint. */
type Around = (
  answer: Answer
) => Effect.Effect<HttpServerResponse.HttpServerResponse, Types.unhandled, HttpServerRequest.HttpServerRequest>
const asIs: Around = (answer) => answer

/**
 * Serves on Effect's own server. `written` records how each part of a stream was written: as text if our writer wrote it.
 */
const serve = Effect.fnUntraced(function* (around: Around = asIs, middleware?: HttpMiddleware.HttpMiddleware) {
  const puppet = yield* Puppet.make
  const written: Array<string> = []
  const node = () =>
    createServer().on("request", (_, response) => {
      const write = response.write.bind(response) as (part: unknown) => boolean
      response.write = (part: unknown) => {
        written.push(typeof part)
        return write(part)
      }
    })
  const scope = yield* Scope.fork(yield* Scope.Scope)
  const endpoint = Http.layer({ path: "/mcp" }).pipe(Layer.provide(HttpRouter.middleware(around).layer))
  const options = { disableLogger: true, disableListenLog: true }
  const server = McpServer.layer({ name: "test", version: "1", features: puppet.layer })
  const served = Http.serve(endpoint, middleware === undefined ? options : { ...options, middleware }).pipe(
    Layer.provideMerge(Layer.fresh(server)),
    Layer.provideMerge(NodeHttpServer.layer(node, { port: 0, host: "127.0.0.1" }))
  )
  const built = yield* Layer.buildWithScope(served, scope)
  const { address } = Context.get(built, HttpServer.HttpServer)
  const port = address._tag === "UnixPathAddress" ? 0 : address.port
  return { puppet, written, client: clientOf(port, Context.get(built, McpServer.McpServer), scope), port }
})

/** A call answered by a stream: one step, and then "done". */
const streaming = Effect.fnUntraced(function* ({ client, puppet }: Effect.Success<ReturnType<typeof serve>>) {
  yield* puppet.tell("a", Progress.report(1))
  const reply = yield* client.fetch(call("puppet", { name: "a" }, {}, { progressToken: 1 }))
  const first = yield* reply.next
  yield* puppet.tell("a", Puppet.answer("done"))
  return { reply, first, text: yield* reply.text }
})

describe("Event streams on Effect's Node server", () => {
  it.live("An event stream is written directly to the response", () =>
    Effect.gen(function* () {
      const opened = yield* serve()
      const { first, reply, text } = yield* streaming(opened)
      assert.deepStrictEqual([reply.status, reply.headers["content-type"]], [200, "text/event-stream"])
      assert.strictEqual(first.params.progress, 1)
      assert.include(text, "done")
      assert.deepStrictEqual([...new Set(opened.written)], ["string"])
      const session = yield* openSession(opened.client)
      yield* (yield* session.get()).event
      assert.deepStrictEqual([...new Set(opened.written)], ["string"])
    })
  )

  it.live("A stream has the headers that middleware added, and middleware sees its end", () =>
    Effect.gen(function* () {
      const seen = yield* Queue.unbounded<readonly [number, string | undefined, boolean]>()
      let ended = false
      const opened = yield* serve(
        (answer) =>
          Effect.andThen(
            HttpEffect.appendPreResponseHandler((_, response) =>
              Effect.succeed(HttpServerResponse.setHeader(response, "x-before", "1"))
            ),
            Effect.map(answer, HttpServerResponse.setHeader("x-mapped", "1"))
          ),
        (app) =>
          Effect.tap(app, ({ headers, status }) => Queue.offer(seen, [status, headers["content-type"], ended] as const))
      )
      yield* opened.puppet.tell("a", Progress.report(1))
      const reply = yield* opened.client.fetch(call("puppet", { name: "a" }, {}, { progressToken: 1 }))
      assert.deepStrictEqual([reply.headers["x-before"], reply.headers["x-mapped"]], ["1", "1"])
      yield* reply.next
      ended = true
      yield* opened.puppet.tell("a", Puppet.answer("done"))
      assert.include(yield* reply.text, "done")
      assert.deepStrictEqual(yield* Queue.take(seen), [200, "text/event-stream", true])
      assert.deepStrictEqual([...new Set(opened.written)], ["string"])
    })
  )

  it.live("A stream replaced by middleware is sent as the replacement", () =>
    Effect.gen(function* () {
      const shout = ({ body }: HttpServerResponse.HttpServerResponse) =>
        body._tag === "Stream"
          ? HttpBody.stream(
              Stream.map(body.stream, (bytes) => Buffer.from(Buffer.from(bytes).toString().replaceAll("done", "DONE"))),
              body.contentType
            )
          : body
      const mapped = (response: HttpServerResponse.HttpServerResponse) =>
        HttpServerResponse.setBody(response, shout(response))
      const ways: ReadonlyArray<Around> = [
        (answer) => Effect.map(answer, mapped),
        (answer) =>
          Effect.andThen(
            HttpEffect.appendPreResponseHandler((_, response) => Effect.succeed(mapped(response))),
            answer
          )
      ]
      for (const around of ways) {
        const opened = yield* serve(around)
        assert.include((yield* streaming(opened)).text, "DONE")
        assert.deepStrictEqual([...new Set(opened.written)], ["object"])
      }
    })
  )

  it.live("A stream keeps the cookies added by middleware", () =>
    Effect.gen(function* () {
      const opened = yield* serve((answer) => Effect.map(answer, HttpServerResponse.setCookieUnsafe("who", "me")))
      const { reply, text } = yield* streaming(opened)
      assert.deepStrictEqual(reply.headers["set-cookie"], ["who=me"])
      assert.include(text, "done")
    })
  )

  it.live("An invalid header results in a 500", () =>
    Effect.gen(function* () {
      const opened = yield* serve((answer) => Effect.map(answer, HttpServerResponse.setHeader("x-bad", "a\nb")))
      yield* opened.puppet.tell("a", Progress.report(1))
      const reply = yield* opened.client.fetch(call("puppet", { name: "a" }, {}, { progressToken: 1 }))
      assert.strictEqual(reply.status, 500)
      assert.deepStrictEqual(yield* Queue.take(opened.puppet.ended), ["a", "interrupted"])
    })
  )

  it.live.each([
    ["has a fixed length", HttpServerResponse.setHeader("content-length", "5"), undefined],
    ["is informational", HttpServerResponse.setStatus(101), 500]
  ] as const)("A stream that middleware turned into a response that %s is written by the server", ([, way, status]) =>
    Effect.gen(function* () {
      const opened = yield* serve((answer) => Effect.map(answer, way))
      yield* opened.puppet.tell("a", Progress.report(1))
      const asked = opened.client.fetch(call("puppet", { name: "a" }, {}, { progressToken: 1 }))
      const reply = yield* Effect.catchDefect(asked, () => Effect.undefined)
      assert.strictEqual(reply?.status, status)
      assert.deepStrictEqual(yield* Queue.take(opened.puppet.ended), ["a", "interrupted"])
    })
  )

  it.live("Disconnecting interrupts the stream's request", () =>
    Effect.gen(function* () {
      const ended = yield* Queue.unbounded<string>()
      const opened = yield* serve(asIs, (app) =>
        Effect.onExit(app, (exit) => Queue.offer(ended, Exit.hasInterrupts(exit) ? "interrupted" : exit._tag))
      )
      yield* opened.puppet.tell("a", Progress.report(1))
      const reply = yield* opened.client.fetch(call("puppet", { name: "a" }, {}, { progressToken: 1 }))
      yield* reply.next
      yield* reply.disconnect
      assert.deepStrictEqual(yield* Queue.take(opened.puppet.ended), ["a", "interrupted"])
      assert.strictEqual(yield* Queue.take(ended), "interrupted")
    })
  )
})
