/**
 * The server a command talks to: what the user wrote after `--`.
 *
 * The one place that knows how a server is named on the command line, and the only one that opens a wire.
 */
import * as Stdio from "@effect-mcp/client/Stdio"
import { type Transport, TransportError } from "@effect-mcp/core/Transport"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"

/** How to start or reach the server, and where its stderr goes. */
export interface Options {
  /** Beside the few variables that servers inherit. */
  readonly env: { readonly [name: string]: string }
  readonly cwd: string | undefined
  /** Sent with every request over HTTP. */
  readonly headers: { readonly [name: string]: string }
  /** What is spoken over HTTP. */
  readonly transport: "auto" | "streamable" | "sse"
  /** Tells the user what to do when a server behind HTTP demands a login; undefined without a terminal. */
  readonly tell: ((text: string) => Effect.Effect<void>) | undefined
  /** Called with the lines of the server's stderr, if it has one; errors have the last of them in any case. */
  readonly words: (lines: Stream.Stream<string>) => Effect.Effect<void>
}

/** A server that can be connected to. `name` is how people recognise it: their own words, not the server's. */
export interface CommandTarget {
  readonly name: string
  /** What was given after `--`; undefined where the target came in another way. */
  readonly words?: ReadonlyArray<string> | undefined
  /** Whether it may demand a login before it answers. */
  readonly mayDemandLogin?: boolean | undefined
  readonly connect: (options: Options) => Effect.Effect<Transport, TransportError, Scope.Scope | Stdio.Requirements>
}

/** What was given after `--`, or nothing. */
export type Words = ReadonlyArray<string> | undefined

/** Takes a command line apart at the first `--`: ours before it, the server's after it, untouched. */
export const split = (argv: ReadonlyArray<string>): { readonly own: ReadonlyArray<string>; readonly server: Words } => {
  const at = argv.indexOf("--")
  return at === -1 ? { own: argv, server: undefined } : { own: argv.slice(0, at), server: argv.slice(at + 1) }
}

/** The server these words name, by its command or its URL; nothing if there are none. */
export const parse = (words: Words): CommandTarget | undefined => {
  const [command, ...args] = words ?? []
  if (command === undefined || command === "") return undefined
  return /^https?:\/\//i.test(command) ? remote(command, args) : process(command, args)
}

const remote = (url: string, more: ReadonlyArray<string>): CommandTarget => ({
  name: url,
  words: [url, ...more],
  mayDemandLogin: true,
  connect: ({ headers, tell, transport }) =>
    more.length > 0
      ? Effect.fail(new TransportError({ reason: "Open", message: `A URL takes no arguments: ${more.join(" ")}` }))
      : // Loaded when needed: a server that is a process does not wait for HTTP to load.
        Effect.flatMap(
          Effect.promise(() => import("./Remote.ts")),
          ({ open }) => open({ url, headers, transport, tell })
        )
})

const process = (command: string, args: ReadonlyArray<string>): CommandTarget => ({
  name: [command, ...args].join(" "),
  words: [command, ...args],
  connect: Effect.fnUntraced(function* ({ cwd, env, words }) {
    const transport = yield* Stdio.open({ command, args, env, cwd })
    yield* words(transport.stderr)
    return transport
  })
})
