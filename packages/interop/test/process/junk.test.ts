/** No line on stdin crashes the server or prevents it from answering the next request. */
import { NodeServices } from "@effect/platform-node"
import * as Everything from "@effect-mcp/interop/reference/everything"
import { McpServer } from "@effect-mcp/server"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it, layer } from "@effect/vitest"
import { Arbitrary, Effect, Schema, Sink, Stdio, Stream } from "effect"
import { ChildProcess } from "effect/process"
import { checkOutput, chunks, Line, session } from "../support/junk.ts"
import { serverFile } from "../support/official.ts"

/** Serves the whole input in this process, and returns the output. */
const serve = Effect.fnUntraced(function* (input: ReadonlyArray<Uint8Array>) {
  const decoder = new TextDecoder()
  let output = ""
  const stdio = Stdio.layerTest({
    stdin: Stream.fromIterable(input).pipe(Stream.rechunk(1)),
    stdout: () =>
      Sink.forEach((chunk: string | Uint8Array) =>
        Effect.sync(() => {
          output += typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true })
        })
      )
  })
  yield* Effect.provide(McpServer.serveStdio({ maxMessageBytes: 64 * 1024 }), stdio)
  return output
})

/** Sampled one by one; as an array, the lines would grow with their number. */
const junk = (count: number, seed: number) =>
  Effect.orDie(Arbitrary.sampleEffect(Arbitrary.schema(Line), { count, size: 6, seed }))

describe("Junk on stdin", () => {
  layer(Everything.layer())("An in-process server", (it) => {
    it.effect.prop(
      "Each valid request amid junk on stdin gets exactly one answer",
      { seed: Schema.Int, chunkSize: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5000 })) },
      ({ seed, chunkSize }) =>
        Effect.gen(function* () {
          const sent = session(yield* junk(200, seed), 10)
          const output = yield* serve(chunks(sent.input, chunkSize))
          checkOutput(output, sent)
        }),
      {
        ...verifies(
          "json-rpc.message.conformant",
          "json-rpc.response.same-id",
          "json-rpc.notification.no-response",
          "cancellation.invalid.unknown-id-ignored",
          "cancellation.invalid.malformed-ignored",
          "stdio.framing.newline"
        ),
        arbitrary: { runs: 50, size: 100, seed: 20251125 },
        timeout: 120_000
      }
    )
  })

  it.live("A server process survives junk on stdin, answers amid 10 000 lines and exits with code 0", () =>
    Effect.gen(function* () {
      const sent = session(yield* junk(10_000, 11), 50)
      const server = yield* ChildProcess.make(process.execPath, [serverFile, "--stdio"], {
        stderr: "ignore",
        stdin: Stream.fromIterable(chunks(sent.input, 64 * 1024))
      })
      const output = yield* server.stdout.pipe(Stream.decodeText, Stream.mkString)
      checkOutput(output, sent)
      assert.strictEqual(yield* server.exitCode, 0)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
