/**
 * A `node:http` listener: middleware before it may have used the request, and nothing catches an error that it throws.
 */
import * as Progress from "@effect-mcp/core/Progress"
import * as Node from "../../src/http/NodeListener.ts"
import * as McpServer from "@effect-mcp/server/McpServer"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Option, Queue } from "effect"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { connect } from "node:net"
import { anonymous } from "@effect-mcp/core/Principal"
import * as Puppet from "./support/puppet.ts"
import { callOf, initialize, revisions } from "./support/session.ts"
import { call, echo, type Sent } from "./support/http.ts"

type Wrap = (listener: Node.Listener) => (request: IncomingMessage, response: ServerResponse) => void

const listening = Effect.fnUntraced(function* (server: Pick<Server, "listen" | "address" | "close">, end: () => void) {
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        end()
      })
  )
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
})

const serverOf = (features: Layer.Layer<never, never, McpServer.Registries>) =>
  // Some answers exceed the default size limit of a tool.
  Layer.fresh(McpServer.layer({ name: "test", version: "1", features, limits: { tool: { bytes: Infinity } } }))
const server = serverOf(echo)

/** Serves with middleware around the listener. */
const serve = Effect.fnUntraced(function* (
  wrap: Wrap,
  options?: Node.Options,
  features: Layer.Layer<never, never, McpServer.Registries> = echo
) {
  const context = yield* Layer.build(serverOf(features))
  const listener = yield* Effect.provide(Node.make(options), context)
  const http = createServer(wrap(listener))
  return yield* listening(http, () => http.closeAllConnections())
})

const basic = { "content-type": "application/json", accept: "application/json, text/event-stream" }
const post = (port: number, { body, headers }: Sent) =>
  Effect.promise(async () => {
    const reply = await globalThis.fetch(`http://127.0.0.1:${port}/mcp`, {
      method: "POST",
      headers: { ...basic, ...(headers as Record<string, string>) },
      body: body as string
    })
    const id = reply.headers.get("mcp-session-id")
    return { status: reply.status, text: await reply.text(), ...(id !== null && { id }) }
  })

/** The request as raw HTTP/1.1 text. */
const rawOf = ({ body, headers }: Sent): string => {
  const lines = Object.entries({ ...basic, ...headers, host: "127.0.0.1", "content-length": String(body).length })
  return `POST /mcp HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${String(value)}\r\n`).join("")}\r\n${String(body)}`
}

const said = call("echo", { text: "hi" })

describe("node:http listener", () => {
  it.live("A request whose `principal` throws gets 500, and the next one is served", () =>
    Effect.gen(function* () {
      const port = yield* serve((listener) => listener, {
        principal: ({ headers }) => {
          if (headers["x-bad"] !== undefined) throw new Error("secret")
          return undefined
        }
      })
      const bad = yield* post(port, { ...said, headers: { ...said.headers, "x-bad": "1" } })
      assert.strictEqual(bad.status, 500)
      assert.notInclude(bad.text, "secret")
      assert.strictEqual((yield* post(port, said)).status, 200)
    })
  )

  it.live("A principal that cannot be compared gets 500", () =>
    Effect.gen(function* () {
      let claims: Record<string, unknown> = {}
      const port = yield* serve((listener) => listener, { principal: () => ({ ...anonymous, subject: "me", claims }) })
      const opened = { body: JSON.stringify(initialize("2025-11-25")) }
      const session = yield* post(port, opened)
      claims = { iss: 1n }
      // The same for a request handled in a fiber.
      const opening = yield* Effect.option(Effect.catchDefect(post(port, opened), () => Effect.fail("cut off")))
      assert.strictEqual(Option.getOrUndefined(opening)?.status, 500)
      const headers = { "mcp-session-id": session.id ?? "" }
      const body = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "ping" })
      assert.strictEqual((yield* post(port, { body, headers })).status, 500)
      claims = {}
      assert.strictEqual((yield* post(port, { body, headers })).status, 200)
    })
  )

  it.live("A request without a host or with an invalid URL gets 400", () =>
    Effect.gen(function* () {
      const port = yield* serve((listener) => listener)
      const reply = yield* Effect.callback<string>((resume) => {
        let text = ""
        const socket = connect(port, "127.0.0.1", () =>
          socket.write("POST http://a:99999999/mcp HTTP/1.0\r\ncontent-length: 0\r\n\r\n")
        )
        socket.on("data", (part) => (text += part.toString()))
        socket.on("close", () => resume(Effect.succeed(text)))
      })
      assert.match(reply, /^HTTP\/1\.1 403/)
      assert.strictEqual((yield* post(port, said)).status, 200)
    })
  )

  it.live.each(["content-length: 104857600", "transfer-encoding: chunked"])(
    "A client that keeps sending after a 413 is cut off with %s",
    (length) =>
      Effect.gen(function* () {
        const port = yield* serve((listener) => listener, { maxMessageBytes: 1000 })
        const part = Buffer.alloc(65_536, " ")
        const whole = length.startsWith("t")
          ? Buffer.concat([Buffer.from("10000\r\n"), part, Buffer.from("\r\n")])
          : part
        const [reply, sent] = yield* Effect.callback<readonly [string, number]>((resume) => {
          let text = ""
          let parts = 0
          const socket = connect(port, "127.0.0.1")
          const send = (error?: Error | null): void => {
            if (!error && parts++ < 1600) socket.write(whole, send)
          }
          socket.write(
            `POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${length}\r\n\r\n`,
            send
          )
          socket.on("data", (data) => (text += data.toString()))
          socket.on("error", () => {})
          socket.on("close", () => resume(Effect.succeed([text, parts])))
        })
        assert.match(reply, /^HTTP\/1\.1 413/)
        assert.isBelow(sent, 800)
        assert.strictEqual((yield* post(port, said)).status, 200)
      })
  )

  it.live("An absolute-form request line is served, and its host is checked", () =>
    Effect.gen(function* () {
      const port = yield* serve((listener) => listener, { path: "/mcp" })
      const statusOf = (target: string) =>
        Effect.callback<string>((resume) => {
          const socket = connect(port, "127.0.0.1", () => socket.write(rawOf(said).replace("/mcp", target)))
          socket.once("data", (data) => {
            socket.destroy()
            resume(Effect.succeed(data.toString().slice(9, 12)))
          })
        })
      assert.strictEqual(yield* statusOf("http://localhost/mcp"), "200")
      assert.strictEqual(yield* statusOf("http://localhost:3000/mcp?a=b"), "200")
      assert.strictEqual(yield* statusOf("http://localhost/other"), "404")
      assert.strictEqual(yield* statusOf("http://evil.example/mcp"), "403")
    })
  )

  it.live("A request with a consumed body gets 500 at once and is no longer counted", () =>
    Effect.gen(function* () {
      const port = yield* serve(
        (listener) => (request, response) => {
          if (request.headers["x-read"] === undefined) return listener(request, response)
          request.on("end", () => listener(request, response)).resume()
        },
        { inFlight: 1 }
      )
      for (let turn = 0; turn < 4; turn++) {
        const read = yield* post(port, { ...said, headers: { ...said.headers, "x-read": "1" } })
        assert.strictEqual(read.status, 500)
        assert.include(read.text, "already read the body")
      }
      assert.strictEqual((yield* post(port, said)).status, 200)
    })
  )

  it.live.each([...revisions, "2026-07-28"])("A node:http listener accepts a parsed `request.body` in %s", (version) =>
    Effect.gen(function* () {
      const forms: { readonly [form: string]: (text: string) => unknown } = {
        parsed: (text) => JSON.parse(text),
        text: (text) => text,
        bytes: (text) => new TextEncoder().encode(text)
      }
      const port = yield* serve(
        (listener) => (request, response) => {
          const form = forms[String(request.headers["x-form"])]
          if (form === undefined) return listener(request, response)
          let text = ""
          request.setEncoding("utf8").on("data", (part: string) => (text += part))
          request.on("end", () => listener(Object.assign(request, { body: form(text) }), response))
        },
        { inFlight: 2, maxMessageBytes: 2000 }
      )
      const headers: { [name: string]: string } = { "mcp-protocol-version": version }
      if (version !== "2026-07-28") {
        const body = JSON.stringify(initialize(version))
        const opened = yield* post(port, { body, headers: { "x-form": "parsed" } })
        headers["mcp-session-id"] = String(opened.id)
      }
      const sent = (text: string, form: string): Sent => {
        const own = { ...headers, "x-form": form }
        return version === "2026-07-28"
          ? call("echo", { text }, own)
          : { body: JSON.stringify(callOf("echo", { text })), headers: own }
      }
      for (const form of ["parsed", "text", "bytes", "unread", "parsed"]) {
        const answer = yield* post(port, sent(`${form} é`, form))
        assert.strictEqual(answer.status, 200)
        assert.strictEqual(JSON.parse(answer.text).result.content[0].text, `${form} é`)
        const large = yield* post(port, { ...sent("x".repeat(2000), form) })
        assert.strictEqual(large.status, 413)
      }
      if (version === "2025-03-26") {
        const body = JSON.stringify([callOf("echo", { text: "a" }, 1), callOf("echo", { text: "b" }, 2)])
        const answer = yield* post(port, { body, headers: { ...headers, "x-form": "parsed" } })
        assert.strictEqual(JSON.parse(answer.text).length, 2)
      }
    })
  )

  it.live("Listeners share layers through their memo map", () =>
    Effect.gen(function* () {
      let built = 0
      const shared = Layer.effectDiscard(Effect.sync(() => void built++))
      const memoMap = yield* Layer.makeMemoMap
      yield* Layer.buildWithMemoMap(shared, memoMap, yield* Effect.scope)
      const { dispose, listener } = McpServer.toNodeListener(Layer.provide(server, shared), { memoMap })
      const http = createServer(listener)
      const port = yield* listening(http, () => http.closeAllConnections())
      assert.strictEqual((yield* post(port, said)).status, 200)
      assert.strictEqual(built, 1)
      yield* Effect.promise(dispose)
    })
  )

  it.live.each(["/mcp", "/elsewhere"])("A listener at %s ignores an already answered response", (path) =>
    Effect.gen(function* () {
      const port = yield* serve(
        (listener) => (request, response) => {
          if (request.headers["x-answered"] === undefined) return listener(request, response)
          response.writeHead(202).flushHeaders()
          request.on("close", () => response.end("mine"))
          listener(request, response)
          setImmediate(() => request.resume())
        },
        { path }
      )
      const reply = yield* post(port, { ...said, headers: { ...said.headers, "x-answered": "1" } })
      assert.deepStrictEqual(reply, { status: 202, text: "mine" })
      assert.strictEqual((yield* post(port, said)).status, path === "/mcp" ? 200 : 404)
    })
  )

  it.live("A stream that middleware ended is not written again", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const port = yield* serve(
        (listener) => (request, response) => {
          const write = response.write.bind(response) as (part: unknown) => boolean
          let events = 0
          response.write = (part: unknown) => {
            if (++events === 2) response.end()
            return write(part)
          }
          listener(request, response)
        },
        {},
        puppet.layer
      )
      for (const step of [1, 2])
        yield* puppet.tell("a", Effect.andThen(Progress.report(step), Effect.sleep("5 millis")))
      const { status, text } = yield* post(port, call("puppet", { name: "a" }, {}, { progressToken: 1 }))
      assert.strictEqual(status, 200)
      assert.include(text, '"progress":1')
      assert.deepStrictEqual(yield* Queue.take(puppet.ended), ["a", "interrupted"])
    })
  )

  it.live("A request abandoned before the listener runs is not counted as in flight", () =>
    Effect.gen(function* () {
      const gone = yield* Deferred.make<() => void>()
      const port = yield* serve(
        (listener) => (request, response) => {
          if (request.headers["x-slow"] === undefined) return listener(request, response)
          request.socket.on("close", () =>
            setImmediate(() => {
              for (let turn = 0; turn < 4; turn++) listener(request, response)
              Deferred.doneUnsafe(
                gone,
                Effect.succeed(() => {})
              )
            })
          )
          request.socket.destroy()
        },
        { inFlight: 1 }
      )
      yield* Effect.promise(() =>
        globalThis
          .fetch(`http://127.0.0.1:${port}/mcp`, {
            method: "POST",
            headers: { ...basic, ...(said.headers as Record<string, string>), "x-slow": "1" },
            body: said.body as string
          })
          .catch(() => undefined)
      )
      yield* Deferred.await(gone)
      assert.strictEqual((yield* post(port, said)).status, 200)
    })
  )

  it.live("A client counts as in flight until it has read its large answer", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      const port = yield* serve((listener) => listener, { inFlight: 1 }, Layer.merge(echo, puppet.layer))
      yield* puppet.tell("a", Puppet.answer("x".repeat(32 * 1024 * 1024)))
      const socket = connect(port, "127.0.0.1")
      yield* Effect.callback<void>((resume) => {
        socket.once("readable", () => resume(Effect.void))
        socket.write(rawOf(call("puppet", { name: "a" })))
      })
      assert.strictEqual((yield* post(port, said)).status, 429)
      socket.destroy()
      yield* Effect.repeat(post(port, said), { until: ({ status }) => status === 200 })
    })
  )

  it.live("Pipelined requests on one connection share one close listener", () =>
    Effect.gen(function* () {
      const puppet = yield* Puppet.make
      let listeners = (): number => 0
      const wrap: Wrap = (listener) => (request, response) => {
        listeners = () => request.socket.listenerCount("close")
        listener(request, response)
      }
      const socket = connect(yield* serve(wrap, {}, puppet.layer), "127.0.0.1")
      yield* puppet.tell("b", Progress.report(1))
      const asked = call("puppet", { name: "b" }, {}, { progressToken: 1 })
      const silent = rawOf(call("puppet", { name: "c" }))
      socket.write(rawOf(call("puppet", { name: "a" })) + rawOf(asked) + silent.repeat(20))
      for (let calls = 0; calls < 22; calls++) yield* Queue.take(puppet.entered)
      yield* Effect.promise(() => new Promise(setImmediate))
      assert.isBelow(listeners(), 10)
      socket.destroy()
      const lost = (yield* Queue.takeN(puppet.ended, 22)).map(([name]) => name)
      assert.deepStrictEqual([...new Set(lost)].toSorted(), ["a", "b", "c"])
    })
  )
})

describe("Servers that fail to build", () => {
  it.live("A server whose layer fails answers 500 and releases its resources", () =>
    Effect.gen(function* () {
      let open = 0
      const held = Layer.effectDiscard(
        Effect.acquireRelease(
          Effect.sync(() => void open++),
          () => Effect.sync(() => void open--)
        )
      )
      const failing = Layer.effectDiscard(Effect.fail("no"))
      const built = McpServer.toNodeListener(Layer.merge(server, Layer.provideMerge(failing, held)))
      const http = createServer(built.listener)
      const port = yield* listening(http, () => http.closeAllConnections())
      assert.strictEqual((yield* post(port, said)).status, 500)
      assert.strictEqual(open, 0)
      yield* Effect.promise(built.dispose)
    })
  )

  it.live("A server stuck while building is interrupted and released on dispose", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      let open = 0
      const held = Layer.effectDiscard(
        Effect.acquireRelease(
          Effect.sync(() => void open++),
          () => Effect.sync(() => void open--)
        )
      )
      const stuck = Layer.effectDiscard(Effect.andThen(Deferred.succeed(begun, undefined), Effect.never))
      const built = McpServer.toNodeListener(Layer.merge(server, Layer.provideMerge(stuck, held)))
      const http = createServer(built.listener)
      const port = yield* listening(http, () => http.closeAllConnections())
      yield* Deferred.await(begun)
      const asked = yield* Effect.forkChild(post(port, said), { startImmediately: true })
      assert.strictEqual(open, 1)
      yield* Effect.promise(built.dispose)
      assert.strictEqual(open, 0)
      assert.strictEqual((yield* Fiber.join(asked)).status, 500)
      assert.strictEqual((yield* post(port, said)).status, 500)
      yield* Effect.promise(built.dispose)
    })
  )
})
