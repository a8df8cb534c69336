/**
 * Serves over standard input and output (spec: basic/transports, stdio).
 *
 * Owns stdout while it runs: other output of the process (a stray `console.log`) goes to stderr, so that stdout carries only MCP. Ends
 * when stdin ends; requests in flight then have `grace` to finish.
 */
import * as Duplex from "@effect-mcp/core/Duplex"
import { type Transport, TransportError } from "@effect-mcp/core/Transport"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { Stdio } from "effect/Stdio"
import * as Stream from "effect/Stream"
import { McpServer } from "../dispatch/Server.ts"
import { ofProcess } from "./ProcessStreams.ts"
import { guardStdout } from "./StdoutGuard.ts"

export interface Options extends Duplex.Options {
  /** How long requests in flight may still run when stdin ends. Default 1 second. */
  readonly grace?: Duration.Input | undefined
}

/** The streams of the `Stdio` service. */
const ofService = (stdio: Stdio, own: (text: string) => Uint8Array): Duplex.Bytes => ({
  incoming: Stream.mapError(
    stdio.stdin,
    (cause) => new TransportError({ reason: "Read", message: "stdin is broken", cause })
  ),
  write: (outgoing) =>
    Effect.mapError(
      Stream.run(Stream.map(outgoing, own), stdio.stdout({ endOnDone: false })),
      (cause) => new TransportError({ reason: "Write", message: "stdout is closed", cause })
    )
})

/** Standard input and output as a transport: those of the `Stdio` in the context, else those of this process. */
export const transport = Effect.fnUntraced(function* (
  options: Duplex.Options = {}
): Effect.fn.Return<Transport, never, Scope.Scope> {
  const stdio = yield* Effect.serviceOption(Stdio)
  const own = yield* guardStdout
  const bytes = Option.isSome(stdio) ? ofService(stdio.value, own) : yield* ofProcess
  return yield* Duplex.make(bytes, options)
})

/** Serves until stdin ends (or this fiber is interrupted). Fails when stdout breaks. Logs go to stderr. */
export const serve = (options: Options = {}): Effect.Effect<void, TransportError, McpServer> =>
  Effect.scoped(
    Effect.gen(function* () {
      const server = yield* McpServer
      const session = yield* server.connect(yield* transport(options), {
        grace: options.grace ?? "1 second",
        kind: "stdio"
      })
      yield* session.peer.awaitClosed
    })
  ).pipe(Effect.provideService(Logger.LogToStderr, true))

/**
 * Builds the server and serves it: the whole program. For the rest of the process stdout carries only MCP: logs of layers that are built,
 * and reports of their failure, go to stderr too.
 */
export const run = <E, R>(
  server: Layer.Layer<McpServer, E, R>,
  options?: Options
): Effect.Effect<void, E | TransportError, R> =>
  Effect.andThen(
    Scope.provide(guardStdout, Scope.makeUnsafe()),
    Effect.provide(serve(options), server).pipe(Effect.provideService(Logger.LogToStderr, true))
  )
