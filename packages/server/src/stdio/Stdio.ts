/**
 * Serves over standard input and output (spec: basic/transports, stdio).
 *
 * While it runs, it owns stdout. Other process output, such as a stray `console.log`, goes to stderr so that stdout carries only MCP
 * messages. Serving ends when stdin ends; in-flight requests then have `grace` to finish.
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

/**
 * There are no per-caller shares: the process has a single peer, and the limits on line length and waiting requests already bound the
 * memory it can use.
 */
export interface Options extends Duplex.Options {
  /** How long in-flight requests may keep running after stdin ends. Default 1 second. */
  readonly grace?: Duration.Input | undefined
  /** How long in-flight requests may keep running when serving is interrupted, for example by SIGTERM. Defaults to the server's `drain`. */
  readonly drain?: Duration.Input | undefined
}

/** Returns the `Stdio` service's streams. */
const ofService = (stdio: Stdio, own: (text: string) => Uint8Array): Duplex.Bytes => ({
  incoming: Stream.mapError(
    stdio.stdin,
    (cause) => new TransportError({ reason: "Read", message: "Failed to read stdin", cause })
  ),
  write: (outgoing) =>
    Effect.mapError(
      Stream.run(Stream.map(outgoing, own), stdio.stdout({ endOnDone: false })),
      (cause) => new TransportError({ reason: "Write", message: "stdout is closed", cause })
    )
})

/** Standard input and output as a transport, using the `Stdio` service in the context, or else the process streams. */
export const transport = Effect.fnUntraced(function* (
  options: Duplex.Options = {}
): Effect.fn.Return<Transport, never, Scope.Scope> {
  const stdio = yield* Effect.serviceOption(Stdio)
  const own = yield* guardStdout
  const bytes = Option.isSome(stdio) ? ofService(stdio.value, own) : yield* ofProcess
  return yield* Duplex.make(bytes, options)
})

/** Serves until stdin ends or this fiber is interrupted. Fails if stdout breaks. Logs go to stderr. */
export const serve = (options: Options = {}): Effect.Effect<void, TransportError, McpServer> =>
  Effect.scoped(
    Effect.gen(function* () {
      const server = yield* McpServer
      const session = yield* server.connect(yield* transport(options), {
        grace: options.grace ?? "1 second",
        kind: "stdio"
      })
      const { drain } = options
      if (drain !== undefined) yield* Effect.addFinalizer(() => session.drain(drain))
      yield* session.peer.awaitClosed
    })
  ).pipe(Effect.provideService(Logger.LogToStderr, true))

/**
 * Builds the server and serves it; usually the whole program. From then on, stdout carries only MCP messages, so anything that layers log
 * while the server is built, and any build failure, also goes to stderr.
 */
export const run = <E, R>(
  server: Layer.Layer<McpServer, E, R>,
  options?: Options
): Effect.Effect<void, E | TransportError, R> =>
  Effect.andThen(
    Scope.provide(guardStdout, Scope.makeUnsafe()),
    Effect.provide(serve(options), server).pipe(Effect.provideService(Logger.LogToStderr, true))
  )
