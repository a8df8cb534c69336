/** How long a client waits for a server that does not answer at all, and the error it then reports. */
import * as Http from "@effect-mcp/client/Http"
import * as Sse from "@effect-mcp/client/Sse"
import * as McpClient from "@effect-mcp/client/McpClient"
import * as Memory from "@effect-mcp/core/Memory"
import * as Revision from "@effect-mcp/protocol/Revision"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Queue, Stream } from "effect"
import { HttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import * as Fake from "../support/fake.ts"
import { start, withProcesses } from "../support/processes.ts"

const everyRevision = Revision.all.map(({ version }) => version)
const allowed: ReadonlyArray<readonly [name: string, revisions: ReadonlyArray<Revision.Version>, method: string]> = [
  ["all revisions", everyRevision, "initialize"],
  ["2026-07-28", ["2026-07-28"], "server/discover"],
  ...everyRevision.slice(0, -1).map((version) => [version, [version], "initialize"] as const)
]

describe.each(allowed)("%s clients of a silent server", (_, revisions, method) => {
  for (const timeout of ["1 second", "4 seconds", "20 seconds"] as const) {
    it.effect(`A client gives up on a silent server after ${timeout} in total with a clear error`, () =>
      Effect.gen(function* () {
        const [transport] = yield* Memory.pair()
        const connecting = yield* Effect.forkChild(
          Effect.flip(Effect.scoped(McpClient.connect(transport, { timeout, revisions }))),
          { startImmediately: true }
        )
        yield* TestClock.adjust(timeout)
        const error = yield* Fiber.join(connecting)
        assert.strictEqual(error._tag, "Timeout")
        const seconds = timeout.split(" ")[0]
        assert.strictEqual(
          error.message,
          `The server did not respond to ${method} within ${seconds}s. ` +
            "Check that it is an MCP server and that it has started, or increase `timeout`."
        )
      })
    )
  }

  it.effect("A handshake timeout names the server's URL without its query", () =>
    Effect.gen(function* () {
      const connector = Http.open({ url: "https://mcp.example.com/mcp?key=secret" })
      const connecting = yield* Effect.forkChild(
        Effect.flip(Effect.scoped(McpClient.open(connector, { timeout: "4 seconds", revisions }))).pipe(
          Effect.provideService(
            HttpClient.HttpClient,
            Fake.client(() => Effect.never)
          ),
          Effect.provideService(Http.ServerEraCache, new Map())
        ),
        { startImmediately: true }
      )
      yield* TestClock.adjust("4 seconds")
      const { message } = yield* Fiber.join(connecting)
      assert.match(message, new RegExp(`^https://mcp\\.example\\.com/mcp did not respond to ${method} within 4s\\.`))
    })
  )
})

describe("Servers slow to answer the probe", () => {
  it.effect("A server that does not answer the probe gets the legacy handshake after half the timeout", () =>
    Effect.gen(function* () {
      const [transport, server] = yield* Memory.pair()
      const methods = yield* Queue.unbounded<string>()
      const connecting = yield* Effect.forkChild(
        Effect.flip(Effect.scoped(McpClient.connect(transport, { timeout: "2 seconds" }))),
        { startImmediately: true }
      )
      yield* Effect.forkChild(
        Stream.runForEach(server.incoming, (inbound) =>
          Effect.sync(() => {
            if (inbound._tag === "Message" && "method" in inbound.message) {
              Queue.offerUnsafe(methods, inbound.message.method)
            }
          })
        ),
        { startImmediately: true }
      )
      assert.strictEqual(yield* Queue.take(methods), "server/discover")
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* Queue.take(methods), "initialize")
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(connecting))._tag, "Timeout")
    })
  )
})

describe("HTTP with SSE servers without an endpoint event", () => {
  it.effect("The error for a missing endpoint event names the URL and what to check", () =>
    Effect.gen(function* () {
      const body = () => new ReadableStream<Uint8Array>({ start: () => {} })
      const answer = () => new Response(body(), { headers: { "content-type": "text/event-stream" } })
      const opening = yield* Effect.forkChild(
        Effect.flip(Effect.scoped(Sse.open({ url: "https://mcp.example.com/sse?key=secret" }))).pipe(
          Effect.provideService(HttpClient.HttpClient, Fake.client(answer))
        ),
        { startImmediately: true }
      )
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(
        (yield* Fiber.join(opening)).message,
        "https://mcp.example.com/sse opened a stream but did not announce where to send messages. " +
          "Check that it supports HTTP with SSE (2024-11-05)."
      )
    })
  )
})

const script = (code: string) => ({ command: process.execPath, args: ["-e", code] })

describe("Programs that are not MCP servers", () => {
  it.live("The error for a silent program includes its command line", () =>
    withProcesses(
      Effect.gen(function* () {
        const silent = { ...script("setInterval(() => {}, 1000)"), timeout: "200 millis" } as const
        const { message } = yield* Effect.flip(Effect.scoped(start(silent)))
        assert.include(message, "-e setInterval(() => {}, 1000) did not respond to initialize within 200ms.")
      })
    )
  )

  it.live("The error for a program that exits includes command, exit code and stderr", () =>
    withProcesses(
      Effect.gen(function* () {
        const { message } = yield* Effect.flip(
          Effect.scoped(start(script("console.error('no such file'); process.exit(3)")))
        )
        assert.strictEqual(
          message,
          `${process.execPath} -e console.error('no such file'); process.exit(3) exited with code 3; ` +
            "the end of its stderr:\nno such file"
        )
      })
    )
  )

  it.live("The error for a program that floods stderr quotes a limited, sanitized tail", () =>
    withProcesses(
      Effect.gen(function* () {
        const flood =
          "const line = '\\u001b[2J\\u202e' + 'x'.repeat(1e5) + '\\n';" +
          "for (let i = 0; i < 30; i++) process.stderr.write(line);" +
          "process.stderr.write('last', () => process.exit(3))"
        const error = yield* Effect.flip(Effect.scoped(start(script(flood))))
        assert.strictEqual(error._tag, "Closed")
        const stderr = error._tag === "Closed" ? (error.cause?.stderr ?? "") : ""
        const lines = stderr.split("\n")
        assert.strictEqual(lines.length, 20)
        assert.strictEqual(lines.at(-1), "last")
        assert.isTrue(lines.every((line) => line.length <= 520))
        assert.isTrue(lines.some((line) => line.startsWith(String.raw`\u001b[2J\u202exxx`)))
        // oxlint-disable-next-line no-control-regex -- what must not be there
        assert.notMatch(error.message, /[\u001b\u202e]/)
      })
    )
  )

  it.live("The error truncates a long command line", () =>
    withProcesses(
      Effect.gen(function* () {
        const { message } = yield* Effect.flip(Effect.scoped(start(script(`process.exit(3) // ${"y".repeat(5000)}`))))
        assert.match(message, /y… exited with code 3$/)
        assert.isBelow(message.length, 300)
      })
    )
  )
})
