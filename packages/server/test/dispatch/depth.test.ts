/**
 * Messages that are nested too deeply are rejected on every transport and in every revision, and nothing else is affected.
 */
import { NodeSocketServer } from "@effect/platform-node"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Headers from "@effect-mcp/protocol/Headers"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Equal, Layer, Queue, Schema, type Scope, Sink, Stdio, Stream } from "effect"
import { SocketServer } from "effect/socket"
import * as net from "node:net"
import * as Http from "../http/support/http.ts"
import * as Sse from "../http/legacy/support/sse.ts"
import { metaOf } from "../support/modern.ts"
import { everyVersion, versions } from "../support/raw.ts"

const modern = "2026-07-28"
const arrays = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`

/** The server from a client's point of view: it sends text and receives parsed JSON. */
interface Door {
  readonly say: (text: string) => Effect.Effect<void>
  readonly inbox: Queue.Queue<any>
}
type Open = (
  features: Layer.Layer<never, never, McpServer.Registries>,
  version: string
) => Effect.Effect<Door, unknown, Scope.Scope>

const lines = (inbox: Queue.Queue<any>) => {
  const decoder = new TextDecoder()
  let rest = ""
  return (chunk: string | Uint8Array) => {
    rest += typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true })
    const whole = rest.split("\n")
    rest = whole.pop() ?? ""
    for (const line of whole) Queue.offerUnsafe(inbox, JSON.parse(line))
  }
}

const stdio: Open = Effect.fnUntraced(function* (features) {
  const inbox = yield* Queue.unbounded<any>()
  const input = yield* Queue.unbounded<Uint8Array>()
  const read = lines(inbox)
  const streams = Stdio.layerTest({
    stdin: Stream.fromQueue(input),
    stdout: () => Sink.forEach((chunk: string | Uint8Array) => Effect.sync(() => read(chunk)))
  })
  yield* Effect.forkScoped(
    Effect.provide(McpServer.serveStdio(), [McpServer.layer({ name: "test", version: "0", features }), streams])
  )
  return { inbox, say: (text) => Queue.offer(input, new TextEncoder().encode(`${text}\n`)) }
})

const socket: Open = Effect.fnUntraced(function* (features) {
  const inbox = yield* Queue.unbounded<any>()
  const context = yield* Layer.build(
    Layer.merge(
      NodeSocketServer.layer({ host: "127.0.0.1", port: 0 }),
      McpServer.layer({ name: "test", version: "0", features })
    )
  )
  yield* Effect.forkScoped(Effect.provideContext(McpServer.serveSocket(), context))
  const { address } = Context.get(context, SocketServer.SocketServer)
  const port = address._tag === "UnixPathAddress" ? 0 : address.port
  const one = yield* Effect.acquireRelease(
    Effect.callback<net.Socket>((resume) => {
      const one = net.connect({ host: "127.0.0.1", port }, () => resume(Effect.succeed(one)))
    }),
    (one) => Effect.sync(() => one.destroy())
  )
  one.on("data", lines(inbox))
  return { inbox, say: (text) => Effect.sync(() => void one.write(`${text}\n`)) }
})

/** Headers of a message, computed separately because the body may be too deep to parse. */
const headersOf = (text: string) => ({
  [Headers.method]: /"method":"([^"]*)"/.exec(text)?.[1],
  [Headers.name]: /"name":"([^"]*)"/.exec(text)?.[1]
})

const http: Open = Effect.fnUntraced(function* (features, version) {
  const inbox = yield* Queue.unbounded<any>()
  const { fetch } = yield* Http.open(features)
  let session: string | undefined
  const say = Effect.fnUntraced(function* (text: string) {
    const first = text.includes(`"method":"initialize"`)
    const own = first ? {} : { [Headers.version]: version, "mcp-session-id": session }
    const reply = yield* fetch({ body: text, headers: { ...own, ...headersOf(text) } })
    session ??= reply.headers["mcp-session-id"] as string | undefined
    if (reply.status === 202) return
    if (reply.headers["content-type"] === "application/json") yield* Queue.offer(inbox, yield* reply.json)
    else {
      const take = Effect.flatMap(reply.event, ({ data }) => (data ? Queue.offer(inbox, data) : Effect.void))
      yield* Effect.ignore(Effect.forever(take))
    }
  })
  const scope = yield* Effect.scope
  // The first response carries the session id; the others may come late, or never.
  return {
    inbox,
    say: (text) =>
      session === undefined && version !== modern ? say(text) : Effect.asVoid(Effect.forkIn(say(text), scope))
  }
})

const sse: Open = Effect.fnUntraced(function* (features) {
  const inbox = yield* Queue.unbounded<any>()
  const { connect } = yield* Sse.open(features)
  const connected = yield* connect()
  yield* Effect.forkScoped(
    Effect.ignore(Effect.forever(Effect.flatMap(connected.message, (message) => Queue.offer(inbox, message))))
  )
  return { inbox, say: (text) => Effect.asVoid(connected.post(text)) }
})

const doors: ReadonlyArray<{ readonly door: string; readonly open: Open; readonly versions: ReadonlyArray<string> }> = [
  { door: "stdio", open: stdio, versions: everyVersion() },
  { door: "a socket", open: socket, versions: everyVersion() },
  { door: "Streamable HTTP", open: http, versions: everyVersion("2025-03-26") },
  { door: "HTTP with SSE", open: sse, versions: versions() }
]
const cases = doors.flatMap(({ door, open, versions }) => versions.map((version) => ({ door, open, version })))

const Value = { value: Schema.Json }
/** The features; `hang` reports when a call starts and is interrupted, and `wait` answers after `release`. */
const make = Effect.gen(function* () {
  const started = yield* Queue.unbounded<string>()
  const interrupted = yield* Deferred.make<void>()
  const release = yield* Deferred.make<void>()
  const features = Layer.mergeAll(
    Tools.layer(Tool.make("echo", { description: "", input: Value, output: Value }), (value) => Effect.succeed(value)),
    Tools.layer(Tool.raw("raw", { description: "", inputSchema: { type: "object" } }), (args) =>
      Effect.succeed({ content: [], structuredContent: args })
    ),
    Tools.layer(Tool.make("wait", { description: "" }), () =>
      Effect.andThen(Queue.offer(started, "wait"), Effect.as(Deferred.await(release), "waited"))
    ),
    Tools.layer(Tool.make("hang", { description: "" }), () =>
      Effect.andThen(
        Queue.offer(started, "hang"),
        Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined))
      )
    )
  )
  return { features, started, interrupted, release }
})

const speak = ({ inbox, say }: Door, version: string) => {
  const meta = version === modern ? `,"_meta":${JSON.stringify(metaOf())}` : ""
  const kept: Array<any> = []
  const text = (id: number | undefined, method: string, params: string) =>
    `{"jsonrpc":"2.0",${id === undefined ? "" : `"id":${id},`}"method":"${method}","params":{${params}${meta}}}`
  const until = Effect.fnUntraced(function* (fits: (message: any) => boolean) {
    const at = kept.findIndex(fits)
    if (at !== -1) return kept.splice(at, 1)[0]
    for (;;) {
      const message = yield* Queue.take(inbox)
      if (fits(message)) return message
      kept.push(message)
    }
  })
  return {
    inbox,
    say,
    text,
    until,
    call: (id: number, name: string, args = "{}") => text(id, "tools/call", `"name":"${name}","arguments":${args}`),
    answer: (id: number) => until((message) => message.id === id),
    /** An error that belongs to no request. */
    nameless: (error: object) =>
      until((message) => (message.id ?? undefined) === undefined && Equal.equals(message.error, error)),
    initialize: Effect.gen(function* () {
      if (version === modern) return
      yield* say(
        `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"${version}","capabilities":{},"clientInfo":{"name":"x","version":"0"}}}`
      )
      yield* until((message) => message.id === 0)
      yield* say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
    })
  }
}

const refusal = (depth: number) => ({
  code: -32600,
  message: `The message is nested ${depth} levels deep; at most 256 are allowed`
})

describe.each(cases)("over $door in $version", ({ open, version, door }) => {
  const test = (
    title: string,
    body: (
      client: ReturnType<typeof speak>,
      made: Effect.Success<typeof make>
    ) => Effect.Effect<void, unknown, Scope.Scope>
  ) =>
    it.live(title, () =>
      Effect.scoped(
        Effect.gen(function* () {
          const made = yield* make
          const client = speak(yield* open(made.features, version), version)
          yield* client.initialize
          yield* body(client, made)
        })
      )
    )

  test("A message nested too deeply is rejected without affecting other requests", (client, { release, started }) =>
    Effect.gen(function* () {
      const { answer, call, nameless, say, text } = client
      yield* say(call(1, "wait"))
      assert.strictEqual(yield* Queue.take(started), "wait")
      for (const depth of [257, 20_000]) {
        yield* say(call(2, "echo", `{"value":${arrays(depth - 3)}}`))
        assert.deepStrictEqual((yield* answer(2)).error, refusal(depth))
        yield* say(text(3, "no/such", `"a":${arrays(depth - 2)}`))
        assert.deepStrictEqual((yield* answer(3)).error, refusal(depth))
        yield* say(text(undefined, "notifications/progress", `"a":${arrays(depth - 2)}`))
        yield* nameless(refusal(depth))
        // Over HTTP a rejected message also gets an error status. On a stream of lines, a response never gets an answer.
        yield* say(`{"jsonrpc":"2.0","id":77,"result":{"a":${arrays(depth - 1)}}}`)
        yield* say(arrays(depth).slice(1))
        yield* nameless({ code: -32700, message: "Parse error: not valid JSON" })
      }
      yield* say(call(4, "echo", `{"value":1}`))
      assert.deepInclude((yield* answer(4)).result.content[0], { type: "text", text: `{"value":1}` })
      yield* Deferred.succeed(release, undefined)
      assert.deepInclude((yield* answer(1)).result.content[0], { text: "waited" })
    }))

  test("A message at the maximum depth reaches its handler or fails schema validation", ({ answer, call, say }) =>
    Effect.gen(function* () {
      const value = arrays(253)
      yield* say(call(1, "echo", `{"value":${value}}`))
      const { result } = yield* answer(1)
      assert.strictEqual(result.content[0].text, `{"value":${value}}`)
      yield* say(call(2, "raw", `{"a":${value}}`))
      const refused = yield* answer(2)
      assert.include(JSON.stringify(refused), "nested too deeply")
    }))

  // In the newest revision, closing the connection is what cancels a request over HTTP.
  if (version !== modern || door !== "Streamable HTTP") {
    test("A cancellation takes effect regardless of its reason", ({ call, say, text, answer }, {
      interrupted,
      started
    }) =>
      Effect.gen(function* () {
        yield* say(call(1, "hang"))
        assert.strictEqual(yield* Queue.take(started), "hang")
        yield* say(text(undefined, "notifications/cancelled", `"requestId":1,"reason":${arrays(20_000)}`))
        yield* Deferred.await(interrupted)
        yield* say(call(2, "echo", `{"value":1}`))
        assert.property(yield* answer(2), "result")
      }))
  }

  if (version === "2025-03-26") {
    test("Only the overly deep members of a batch are rejected", ({ call, inbox, say }) =>
      Effect.gen(function* () {
        yield* say(`[${call(1, "echo", `{"value":1}`)},${call(2, "echo", `{"value":${arrays(300)}}`)}]`)
        const answers: any = yield* Queue.take(inbox)
        assert.deepStrictEqual(answers.map(({ id, error }: any) => [id, error?.code]).toSorted(), [
          [1, undefined],
          [2, -32600]
        ])
      }))
  }
})
