/**
 * Calls with progress and questions over a wire that is cut at random: calls that can be resumed end as without a cut, all others with a
 * typed error. No call hangs or runs twice. A failure names its seed.
 */
import { NodeHttpServer } from "@effect/platform-node"
import { McpClient } from "@effect-mcp/client"
import { Elicitation, Progress, Tool, Tools } from "@effect-mcp/core"
import type { Version } from "@effect-mcp/protocol/Revision"
import * as Node from "@effect-mcp/interop/reference/node"
import { McpServer } from "@effect-mcp/server"
import { scaled } from "@effect-mcp/spec/Scale"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Schema, type Scope } from "effect"
import { FetchHttpClient, HttpServer } from "effect/http"
import { createServer } from "node:http"
import * as TcpProxy from "../support/tcp-proxy.ts"

const seeds = Array.from({ length: scaled(1, 4) }, (_, n) => n + 1)
const sessions = scaled(60, 200)
const callsEach = 2
/** Probability that a chunk of bytes breaks its connection instead of passing. */
const likelihood = 0.06
/** Maximum duration of a call over all its connections before it counts as hanging. */
const patience = "100 seconds"

const Work = Tool.make("work", {
  description: "Reports progress, asks, and answers.",
  input: { n: Schema.Int },
  output: { n: Schema.Int, word: Schema.String }
})

/** Numbers from 0 to 1, based on a seed. */
const generator = (seed: number): (() => number) => {
  let state = seed | 0
  return () => {
    state = (state + 0x9e3779b9) | 0
    let z = state
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad)
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97)
    return ((z ^ (z >>> 15)) >>> 0) / 2 ** 32
  }
}

/** How often each call ran to its end at the server. */
const makeFeatures = (runs: Map<number, number>) =>
  Tools.layer(Work, ({ n }) =>
    Effect.gen(function* () {
      yield* Progress.report(1, { total: 3, message: "before the question" })
      const { word } = yield* Elicitation.form(`What is the word for ${n}?`, Schema.Struct({ word: Schema.String }))
      yield* Progress.report(2, { total: 3, message: "after the question" })
      runs.set(n, (runs.get(n) ?? 0) + 1)
      yield* Effect.yieldNow
      yield* Progress.report(3, { total: 3 })
      return { n, word }
    })
  )

/** The answer depends on the question, so that an answer to another question would show. */
const user = Elicitation.layer({
  form: ({ message }) => Effect.succeed({ action: "accept", content: { word: `word ${/\d+/.exec(message)?.[0]}` } })
})

/** A fetch that records which calls received an event id. */
const noting =
  (named: Set<number>): typeof fetch =>
  async (input, init) => {
    const text = init?.body instanceof Uint8Array ? new TextDecoder().decode(init.body) : undefined
    const message = text === undefined ? undefined : (JSON.parse(text) as { params?: { arguments?: { n?: number } } })
    const n = message?.params?.arguments?.n
    const response = await fetch(input, init)
    if (n === undefined || response.body === null) return response
    const reader = response.body.getReader()
    let seen = ""
    // Nothing is read ahead: whatever is recorded has reached the client.
    const body = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const { done, value } = await reader.read()
          if (done) return controller.close()
          seen += new TextDecoder().decode(value)
          if (/^id: ?\S[^\n]*\n(.*\n)*\r?\n/m.test(seen)) named.add(n)
          controller.enqueue(value)
        },
        cancel: (reason) => reader.cancel(reason)
      },
      { highWaterMark: 0 }
    )
    return new Response(body, { status: response.status, headers: response.headers })
  }

const options: McpServer.HttpOptions = {
  path: "/mcp",
  drain: "100 millis",
  resume: { streamAfter: "5 millis", retry: "20 millis" }
}

/** Serves in the scope, and returns the port. */
type Serve = (server: Layer.Layer<McpServer.McpServer>) => Effect.Effect<number, never, Scope.Scope>

const routed: Serve = Effect.fnUntraced(function* (server) {
  const built = yield* Layer.build(
    McpServer.serveHttp(McpServer.layerHttp(options), { disableLogger: true, disableListenLog: true }).pipe(
      Layer.provide(server),
      Layer.provideMerge(
        Layer.orDie(
          NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1", gracefulShutdownTimeout: "100 millis" })
        )
      )
    )
  )
  const { address } = Context.get(built, HttpServer.HttpServer)
  return address._tag === "UnixPathAddress" ? 0 : address.port
})
const onNode: Serve = (server) => Node.serve(server, options)

const storm = Effect.fnUntraced(function* (serve: Serve, version: Version, seed: number) {
  const runs = new Map<number, number>()
  const named = new Set<number>()
  const proxy = yield* TcpProxy.make(
    yield* serve(McpServer.layer({ name: "test", version: "0.0.0", features: makeFeatures(runs) }))
  )
  const clients = yield* Effect.forEach(
    Array.from({ length: sessions }),
    () =>
      Effect.map(
        Layer.build(
          McpClient.layerHttp({
            url: `http://127.0.0.1:${proxy.port}/mcp`,
            revisions: [version],
            timeout: "1 hour",
            maxTotal: "1 hour",
            reconnect: { delay: "10 millis", maxDelay: "100 millis" },
            resume: { attempts: 100, delay: "10 millis", maxDelay: "100 millis" }
          }).pipe(
            Layer.fresh,
            Layer.provide(user),
            Layer.provide(FetchHttpClient.layer),
            Layer.provide(Layer.succeed(FetchHttpClient.Fetch, noting(named)))
          )
        ),
        (context) => Context.get(context, McpClient.McpClient)
      ),
    { concurrency: 20 }
  )

  const random = generator(seed)
  proxy.onPiece = () => random() < likelihood
  const calls = Array.from({ length: sessions * callsEach }, (_, n) => n)
  const fibers = yield* Effect.forEach(calls, (n) => {
    const client = clients[n % sessions]
    if (client === undefined) return Effect.die("There is no such client")
    return Effect.forkChild(Effect.exit(client.callTool(Work, { n })))
  })
  const outcomes = yield* Effect.timeoutOrElse(Fiber.joinAll(fibers), {
    duration: patience,
    orElse: () => {
      const hanging = calls.filter((n) => fibers[n]?.pollUnsafe() === undefined)
      return Effect.die(
        new Error(`These hang: ${hanging.map((n) => `${n}${named.has(n) ? " (named)" : ""}`).join(", ")}`)
      )
    }
  })
  proxy.onPiece = undefined

  const count = { answered: 0, named: 0, closed: 0, other: 0 }
  for (const [n, outcome] of outcomes.entries()) {
    const ran = runs.get(n) ?? 0
    assert.isAtMost(ran, 1, `${n} ran twice`)
    if (named.has(n)) count.named++
    if (Exit.isSuccess(outcome)) {
      count.answered++
      assert.deepStrictEqual(outcome.value, { n, word: `word ${n}` })
      assert.strictEqual(ran, 1)
      continue
    }
    const error = yield* Effect.flip(outcome)
    if (version !== "2026-07-28") assert.isFalse(named.has(n), `${n} could be come back for, but: ${error.message}`)
    assert.include(["Closed", "ToolFailure"], error._tag)
    count[error._tag === "Closed" ? "closed" : "other"]++
  }
  return count
})

describe.each([
  ["2025-11-25", "a router", routed],
  ["2026-07-28", "node:http", onNode]
] as const)("A %s connection cut at random, to %s", (version, _, serve) => {
  it.live.each(seeds)("Random cuts fail no resumable call, hang none and run none twice (seed %d)", (seed) =>
    Effect.gen(function* () {
      const count = yield* storm(serve, version, seed)
      // Connections were cut, but not all calls were lost.
      assert.isAbove(count.closed, 0)
      assert.isAbove(count.answered, 0)
      if (version === "2025-11-25") assert.isAbove(count.named, 0)
    })
  )
})
