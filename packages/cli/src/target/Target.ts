/**
 * The server that a command talks to, given by the words after `--`.
 *
 * Only this module interprets these words and opens connections.
 */
import * as Sandbox from "@effect-mcp/client/Sandbox"
import * as Stdio from "@effect-mcp/client/Stdio"
import { type Transport, TransportError } from "@effect-mcp/core/Transport"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"

/** How to start or reach the server, and where its stderr goes. */
export interface Options {
  /** Environment variables in addition to the few that servers inherit. */
  readonly env: { readonly [name: string]: string }
  readonly cwd: string | undefined
  /** How to confine a process. Default: not at all. */
  readonly confinement?: Pick<Sandbox.Options, "network" | "report" | "write"> | undefined
  /** Headers to send with every HTTP request. */
  readonly headers: { readonly [name: string]: string }
  /** Transport to use over HTTP. */
  readonly transport: "auto" | "streamable" | "sse"
  /** Shows instructions to the user when an HTTP server requires a login, or `undefined` without a terminal. */
  readonly tell: ((text: string) => Effect.Effect<void>) | undefined
  /** Called with the lines of the server's stderr, if it has one. Errors include the last lines in any case. */
  readonly words: (lines: Stream.Stream<string>) => Effect.Effect<void>
}

/** A server to connect to. `name` comes from the command line, not from the server. */
export interface CommandTarget {
  readonly name: string
  /** The words after `--`, or `undefined` if the target was given in another way. */
  readonly words?: ReadonlyArray<string> | undefined
  /** True if it may require a login before it answers. */
  readonly mayDemandLogin?: boolean | undefined
  readonly connect: (options: Options) => Effect.Effect<Transport, TransportError, Scope.Scope | Stdio.Requirements>
}

/** The words after `--`, if any. */
export type Words = ReadonlyArray<string> | undefined

/** True if the target is a command on this machine. */
export const isCommand = ({ words = [] }: CommandTarget): boolean =>
  words[0] !== undefined && !/^https?:\/\//i.test(words[0])

/** Splits a command line at the first `--`. The words after it belong to the server and stay unchanged. */
export const split = (argv: ReadonlyArray<string>): { readonly own: ReadonlyArray<string>; readonly server: Words } => {
  const at = argv.indexOf("--")
  return at === -1 ? { own: argv, server: undefined } : { own: argv.slice(0, at), server: argv.slice(at + 1) }
}

/** Returns the server for a command or a URL, or `undefined` if there are no words. */
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
      ? Effect.fail(new TransportError({ reason: "Open", message: `A URL does not take arguments: ${more.join(" ")}` }))
      : // Loaded on demand, so that stdio servers don't wait for HTTP modules.
        Effect.flatMap(
          Effect.promise(() => import("./Remote.ts")),
          ({ open }) => open({ url, headers, transport, tell })
        )
})

/** Returns a confined command line. Fails if nothing on this machine can confine it. */
const confined = (
  line: { readonly command: string; readonly args: ReadonlyArray<string> },
  { confinement, cwd, env }: Options
) =>
  confinement === undefined
    ? Effect.succeed(line)
    : Sandbox.confine(
        line,
        confinement,
        { ...Stdio.inheritedEnvironment(), ...env },
        cwd ?? globalThis.process.cwd()
      ).pipe(
        Effect.flatMap(({ args, command, confinement: { by } }) =>
          by === "nothing"
            ? Effect.fail(
                new TransportError({
                  reason: "Open",
                  message: `Nothing on this machine can confine ${line.command}. Install bwrap, or leave out --sandbox`
                })
              )
            : Effect.succeed({ command, args })
        )
      )

const process = (command: string, args: ReadonlyArray<string>): CommandTarget => ({
  name: [command, ...args].join(" "),
  words: [command, ...args],
  connect: Effect.fnUntraced(function* (options) {
    const { cwd, env, words } = options
    const line = yield* confined({ command, args }, options)
    const transport = yield* Stdio.open({ ...line, env, cwd })
    yield* words(transport.stderr)
    return transport
  })
})
