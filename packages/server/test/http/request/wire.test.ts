/**
 * Requests that HTTP libraries rarely send, written to a socket: absolute-form targets, upgrades, and GET and DELETE with a body.
 */
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { connect } from "node:net"
import { call, echo, isFetch, open } from "../support/http.ts"

const said = call("echo", { text: "hi" })

interface Raw {
  readonly method?: string
  readonly target?: string
  readonly headers?: { readonly [name: string]: string }
}

const headOf = ({ headers = {}, method = "POST", target = "/mcp" }: Raw): string => {
  const all = {
    host: "127.0.0.1",
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...headers
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${target} HTTP/1.1\r\n${lines.join("")}\r\n`
}

/** The first part of the response to a call of `echo`. */
const answer = (port: number, { headers, ...raw }: Raw = {}) =>
  Effect.callback<string>((resume) => {
    const length = String(Buffer.byteLength(String(said.body)))
    const head = headOf({
      ...raw,
      headers: { ...(said.headers as Record<string, string>), "content-length": length, ...headers }
    })
    const socket = connect(port, "127.0.0.1", () => socket.write(`${head}${String(said.body)}`))
    socket.once("data", (data) => {
      socket.destroy()
      resume(Effect.succeed(data.toString()))
    })
    socket.on("error", () => {})
    socket.on("close", () => resume(Effect.succeed("")))
  })

const statusOf = (...sent: Parameters<typeof answer>) => Effect.map(answer(...sent), (text) => text.slice(9, 12))

const parsed = needs(!isFetch, "a fetch handler gets requests that a library has parsed")

describe("Handwritten requests", () => {
  it.live(
    "An absolute-form target is served",
    () =>
      Effect.gen(function* () {
        const { port } = yield* open(echo)
        assert.strictEqual(yield* statusOf(port, { target: "http://localhost/mcp" }), "200")
        assert.strictEqual(yield* statusOf(port, { target: "http://localhost:3000/mcp?a=b" }), "200")
        assert.strictEqual(yield* statusOf(port, { target: "http://localhost/other" }), "404")
      }),
    parsed
  )

  it.live(
    "The host of an absolute-form target takes precedence over the header",
    () =>
      Effect.gen(function* () {
        const { port } = yield* open(echo)
        assert.strictEqual(yield* statusOf(port, { target: "http://evil.example/mcp" }), "403")
      }),
    parsed
  )

  it.live.each(["websocket", "WebSocket"])("A POST that requests an upgrade to %s gets 400", (protocol) =>
    Effect.gen(function* () {
      const { port } = yield* open(echo)
      const text = yield* answer(port, { headers: { connection: "Upgrade", upgrade: protocol } })
      assert.match(text, /^HTTP\/1\.1 400/)
      assert.include(text, "without the Upgrade header")
    })
  )

  it.live("A POST that offers HTTP/2 is served over HTTP/1.1", () =>
    Effect.gen(function* () {
      const { port } = yield* open(echo)
      const headers = {
        connection: "Upgrade, HTTP2-Settings",
        upgrade: "h2c",
        "http2-settings": "AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA"
      }
      assert.strictEqual(yield* statusOf(port, { headers }), "200")
    })
  )

  it.live.each(["GET", "DELETE", "PUT"])(
    "A client that keeps sending a %s body is cut off",
    (method) =>
      Effect.gen(function* () {
        const { port } = yield* open(echo)
        const part = Buffer.alloc(65_536, " ")
        const sent = yield* Effect.callback<number>((resume) => {
          let parts = 0
          const socket = connect(port, "127.0.0.1")
          const send = (error?: Error | null): void => {
            if (error) return
            if (parts++ < 1600) socket.write(part, send)
            else socket.destroy()
          }
          socket.write(headOf({ method, headers: { "content-length": "104857600" } }), send)
          socket.on("data", () => {})
          socket.on("error", () => {})
          socket.on("close", () => resume(Effect.succeed(parts)))
        })
        assert.isBelow(sent, 800)
        assert.strictEqual(yield* statusOf(port), "200")
      }),
    parsed
  )
})
