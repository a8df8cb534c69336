/**
 * The server a command talks to: what the user wrote after `--`.
 *
 * The one place that knows how a server is named on the command line, and the only one that opens a wire.
 */
import * as Stdio from "@effect-mcp/client/connector/Stdio"
import type { Transport, TransportError } from "@effect-mcp/core/Transport"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"

/** How to start the server, and who listens to what is not MCP. */
export interface Options {
  /** Beside the few variables that servers inherit. */
  readonly env: { readonly [name: string]: string }
  readonly cwd: string | undefined
  /** Given the server's own words, line by line, if there are any; errors have the last of them in any case. */
  readonly words: (lines: Stream.Stream<string>) => Effect.Effect<void>
}

/** A server that can be connected to. `name` is how people recognise it: their own words, not the server's. */
export interface Target {
  readonly name: string
  readonly connect: (options: Options) => Effect.Effect<Transport, TransportError, Scope.Scope | Stdio.Requirements>
}

/** What was given after `--`, or nothing. */
export type Words = ReadonlyArray<string> | undefined

/** Takes a command line apart at the first `--`: ours before it, the server's after it, untouched. */
export const split = (argv: ReadonlyArray<string>): { readonly own: ReadonlyArray<string>; readonly server: Words } => {
  const at = argv.indexOf("--")
  return at === -1 ? { own: argv, server: undefined } : { own: argv.slice(0, at), server: argv.slice(at + 1) }
}

/** The server these words name; nothing if there are none. */
export const parse = (words: Words): Target | undefined => {
  const [command, ...args] = words ?? []
  return command === undefined || command === "" ? undefined : process(command, args)
}

const process = (command: string, args: ReadonlyArray<string>): Target => ({
  name: [command, ...args].join(" "),
  connect: Effect.fnUntraced(function* ({ cwd, env, words }) {
    const transport = yield* Stdio.open({ command, args, env, cwd })
    yield* words(transport.stderr)
    return transport
  })
})
