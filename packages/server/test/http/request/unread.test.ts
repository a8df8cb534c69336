/** Answers that clients do not read: the bytes they may hold, and whose connection is closed beyond that. */
import { Principal } from "@effect-mcp/core/Principal"
import * as Progress from "@effect-mcp/core/Progress"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as Node from "../../../src/http/NodeListener.ts"
import * as McpServer from "@effect-mcp/server/McpServer"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { createServer } from "node:http"
import { connect, type Socket } from "node:net"
import { call, listen, open, type Sent } from "../support/http.ts"

const mib = 1024 * 1024

/** Answers with as many bytes as it is asked for, after a notification if the call has a progress token. */
const large = Tools.layer(
  Tool.make("large", { description: "Returns a long text.", input: { size: Schema.Number } }),
  ({ size }) => Effect.as(Progress.report(1), "x".repeat(size))
)
const limits = { tool: { bytes: Infinity } }
const userOf = (subject: string | undefined) => ({ subject, scopes: [], claims: { iss: "issuer" } })

const named = HttpRouter.middleware<{ provides: Principal }>()((handler) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) =>
    Effect.provideService(handler, Principal, userOf(headers["x-user"]))
  )
).layer

/** Serve with answers of 64 MiB, half of it for one caller, and return the port. */
const servers = {
  "the router": Effect.gen(function* () {
    const around = (endpoint: Layer.Layer<never, never, HttpRouter.HttpRouter | McpServer.McpServer>) =>
      Layer.provide(endpoint, named)
    return (yield* open(large, { around, answerBytes: 64 * mib }, { limits })).port
  }),
  "the listener": Effect.gen(function* () {
    const server = Layer.fresh(McpServer.layer({ name: "test", version: "1", features: large, limits }))
    const listener = yield* Effect.provide(
      Node.make({ answerBytes: 64 * mib, principal: ({ headers }) => userOf(String(headers["x-user"])) }),
      yield* Layer.build(server)
    )
    const http = createServer(listener)
    yield* Effect.addFinalizer(() => Effect.sync(() => http.close().closeAllConnections()))
    return yield* listen(http)
  })
}

/** The request as it is on the wire. */
const rawOf = ({ body = "", headers }: Sent): string => {
  const accept = "application/json, text/event-stream"
  const all = {
    "content-type": "application/json",
    accept,
    host: "127.0.0.1",
    ...headers,
    "content-length": body.length
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${String(value)}\r\n`)
  return `POST /mcp HTTP/1.1\r\n${lines.join("")}\r\n${String(body)}`
}

/** Calls the tool, and waits until the first bytes of the answer are there, without reading on. */
const begin = (port: number, user: string, size: number, token?: number, times = 1): Effect.Effect<Socket> =>
  Effect.callback((resume) => {
    const socket = connect(port, "127.0.0.1")
    socket.on("error", () => {})
    const meta = token === undefined ? undefined : { progressToken: token }
    socket.write(rawOf(call("large", { size }, { "x-user": user }, meta)).repeat(times))
    socket.once("readable", () => resume(Effect.succeed(socket)))
  })

/** Reads until the connection is closed or as much has arrived, and returns how much it was. */
const read = (socket: Socket, expected: number): Effect.Effect<number> =>
  Effect.callback((resume) => {
    let length = 0
    const over = () => {
      socket.destroy()
      resume(Effect.succeed(length))
    }
    socket.on("data", (chunk: Buffer) => {
      length += chunk.length
      if (length >= expected) over()
    })
    socket.on("close", over)
  })

describe.each(["the router", "the listener"] as const)("Unread answers in %s", (name) => {
  it.live.each([
    { form: "JSON", token: undefined },
    { form: "events", token: 1 }
  ])("A caller with too many unread bytes loses its oldest connections: $form", ({ token }) =>
    Effect.gen(function* () {
      const port = yield* servers[name]
      const size = 15 * mib
      const other = yield* begin(port, "b", size, token)
      const own: Array<Socket> = []
      for (let calls = 0; calls < 4; calls++) own.push(yield* begin(port, "a", size, token))
      const [first = 0, second = 0, ...last] = yield* Effect.forEach(own, (socket) => read(socket, size))
      assert.isBelow(first, size)
      assert.isBelow(second, size)
      for (const length of last) assert.isAtLeast(length, size)
      assert.isAtLeast(yield* read(other, size), size)
    })
  )

  it.live("A caller's only answer is sent in full, even above the caller's share", () =>
    Effect.gen(function* () {
      const port = yield* servers[name]
      const size = 40 * mib
      assert.isAtLeast(yield* read(yield* begin(port, "a", size), size), size)
    })
  )

  it.live("Answers to all requests on one connection count together", () =>
    Effect.gen(function* () {
      const port = yield* servers[name]
      const size = 600 * 1024
      const socket = yield* begin(port, "a", size, undefined, 100)
      assert.isBelow(yield* read(socket, 100 * size), 100 * size)
      const next = yield* begin(port, "a", size)
      assert.isAtLeast(yield* read(next, size), size)
    })
  )

  it.live("A client that keeps reading gets its answers, regardless of their total size", () =>
    Effect.gen(function* () {
      const port = yield* servers[name]
      const size = 15 * mib
      for (let calls = 0; calls < 5; calls++) {
        const socket = yield* begin(port, "a", size, calls % 2 === 0 ? undefined : 1)
        assert.isAtLeast(yield* read(socket, size), size)
      }
    })
  )
})
