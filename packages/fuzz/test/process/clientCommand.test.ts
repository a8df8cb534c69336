/** Verdicts on a client program by its exit code or signal. */
import { NodeHttpServer, NodeServices, NodeSocketServer } from "@effect/platform-node"
import { Revision } from "@effect-mcp/protocol"
import * as FuzzClient from "@effect-mcp/fuzz/FuzzClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { createServer } from "node:http"

const services = Layer.merge(NodeServices.layer, NodeSocketServer.layer({ port: 0, host: "127.0.0.1" }))

const program = (code: string) => FuzzClient.stdioCommand({ command: process.execPath, args: ["-e", code] })

const endingOf = (code: string) =>
  Effect.gen(function* () {
    const { run } = yield* program(code)
    const nothing = { answer: () => Promise.resolve(new Response()), start: () => () => undefined }
    return (yield* run(nothing, Revision.latestStateful.version)).kind
  }).pipe(Effect.scoped, Effect.provide(services))

describe("Client programs", () => {
  it.live.each([
    ["process.exit(0)", "done"],
    ["process.exit(1)", "failed"],
    // The code -1 of many languages.
    ["process.exit(255)", "failed"],
    // The exit code of a shell when the reader of a pipe has closed it.
    ["process.exit(141)", "failed"],
    // The exit codes of a shell for an abort and an invalid memory access.
    ["process.exit(134)", "crashed"],
    ["process.exit(139)", "crashed"],
    ["process.abort()", "crashed"],
    ["process.kill(process.pid, 'SIGTERM')", "failed"]
  ] as const)(
    "A client crashes only if its own fault ends it with a signal, not by exit code: %s is %s",
    ([code, kind]) => Effect.map(endingOf(code), (ending) => assert.strictEqual(ending, kind))
  )

  it.live("A client that sends no message is reported even with exit code 0", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(
        FuzzClient.run(yield* program(""), { revisions: [Revision.latestStateful] })
      )
      assert.include(message, "in 2025-11-25 it is done, and sent no request")
    }).pipe(Effect.provide(services))
  )

  it.live("An HTTP client gets the GET stream's headers before its first message", () =>
    Effect.gen(function* () {
      const code = "fetch(process.argv[1], { headers: { accept: 'text/event-stream' } }).then(() => process.exit(0))"
      const target = yield* FuzzClient.command({ command: process.execPath, args: ["-e", code] })
      const { ending } = yield* FuzzClient.play(target, FuzzClient.right("2025-11-25"), { rules: [] })
      assert.strictEqual(ending.kind, "done")
    }).pipe(
      Effect.scoped,
      Effect.provide([
        NodeServices.layer,
        NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1", disablePreemptiveShutdown: true })
      ])
    )
  )

  it.effect.each([
    { _tag: "Huge", characters: 1e12 },
    { _tag: "Huge", characters: -1 },
    { _tag: "Late", milliseconds: Number.MAX_SAFE_INTEGER },
    { _tag: "Pieces", count: 0 },
    { _tag: "Status", status: 99, type: "text/plain", body: "" }
  ])("A recording with a fault no server can have is rejected with its position: %j", (act) =>
    Effect.gen(function* () {
      const server = { ...FuzzClient.right("2025-11-25"), faults: [{ on: "tools/list", act }] }
      const decode = Schema.decodeUnknownEffect(FuzzClient.ClientRecording)
      const { message } = yield* Effect.flip(decode({ key: "k", detail: "", server }))
      assert.include(message, '["server"]["faults"][0]["act"]')
    })
  )
})
