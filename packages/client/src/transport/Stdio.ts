/**
 * A server as a child process (spec: basic/transports, stdio): messages on stdin and stdout, one per line; logs on stderr.
 *
 * Owns the process. When the scope closes, its stdin is closed, then it gets SIGTERM, then SIGKILL, each after a bounded wait. It
 * inherits only a short list of environment variables. When it exits by itself, requests fail with its exit code and the end of stderr.
 */
import * as Duplex from "@effect-mcp/core/Duplex"
import * as Framing from "@effect-mcp/core/Framing"
import { type Transport, TransportError } from "@effect-mcp/core/Transport"
import type * as Duration from "effect/Duration"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as ChildProcess from "effect/process/ChildProcess"
import { type ChildProcessHandle, ChildProcessSpawner } from "effect/process/ChildProcessSpawner"
import type * as PlatformError from "effect/PlatformError"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import { Hub } from "../internal/Hub.ts"
import { exitWithParent } from "./lastResort.ts"

export interface Options extends Duplex.Options {
  /** The program, or a whole `ChildProcess` command, which then decides about environment, folder and stderr itself. */
  readonly command: string | ChildProcess.Command
  /** The arguments of the program. Default: none. */
  readonly args?: ReadonlyArray<string> | undefined
  /** Environment variables, beside the inherited ones (`inheritedVariables`), which they override. */
  readonly env?: { readonly [name: string]: string | undefined } | undefined
  /** The working folder. Default: that of this process. */
  readonly cwd?: string | undefined
  /** `keep`: `stderr` of the transport, and its last lines in errors. `inherit`: the stderr of this process. Default `keep`. */
  readonly stderr?: "keep" | "inherit" | "ignore" | undefined
  /** How long the server may take to exit once its stdin is closed. Default 2 seconds. */
  readonly exitTimeout?: Duration.Input | undefined
  /** How long the server may take to exit after SIGTERM. Default 2 seconds. */
  readonly killTimeout?: Duration.Input | undefined
}

export type Requirements = ChildProcessSpawner

/** A transport to a child process. */
export interface StdioTransport extends Transport {
  readonly pid: number
  /** The lines of stderr from now on; servers log there, so a line is no error. Empty unless `stderr` is `keep`. */
  readonly stderr: Stream.Stream<string>
}

/** The environment variables that a server inherits: enough to find programs and a home folder, and no secrets. */
export const inheritedVariables: ReadonlyArray<string> =
  globalThis.process?.platform === "win32"
    ? [
        "APPDATA",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "USERNAME",
        "USERPROFILE"
      ]
    : ["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"]

/** The values of `inheritedVariables` in this process. A value that defines a shell function is left out. */
export const inheritedEnvironment = (): { readonly [name: string]: string } =>
  Object.fromEntries(
    inheritedVariables.flatMap((name) => {
      const value = globalThis.process?.env[name]
      return value === undefined || value.startsWith("()") ? [] : [[name, value]]
    })
  )

/** The lines of stderr that errors show, and the characters of each; a longer line is read in pieces. */
const lastLines = 20
const lineLength = 500
const longestLine = 64 * 1024
/** The characters of a command line that errors show. */
const nameLength = 200

const commandOf = (options: Options): ChildProcess.Command => {
  const { args = [], command, cwd, env, stderr = "keep" } = options
  if (typeof command !== "string") return command
  return ChildProcess.make(command, args, {
    env: { ...inheritedEnvironment(), ...env },
    ...(cwd === undefined ? undefined : { cwd }),
    stderr: stderr === "keep" ? "pipe" : stderr,
    forceKillAfter: options.killTimeout ?? "2 seconds"
  })
}

/** The command line, as errors show it. */
const nameOf = ({ args = [], command }: Options): string => {
  if (typeof command === "string") return excerpt([command, ...args].join(" "), nameLength)
  if (command._tag !== "StandardCommand") return "the command"
  const shown = command.args.map((arg) => (typeof arg === "string" ? arg : "<redacted>"))
  return excerpt([command.command, ...shown].join(" "), nameLength)
}

const transportError = (reason: TransportError["reason"], message: string) => (cause: PlatformError.PlatformError) =>
  new TransportError({ reason, message: `${message}: ${cause.message}`, cause })

interface Stderr {
  readonly hub: Hub<string>
  readonly last: Array<string>
  /** Completes with the end of stderr. */
  readonly end: Effect.Effect<unknown>
}

/** Reads stderr to its end, for as long as the scope. */
const readStderr = Effect.fnUntraced(function* (
  handle: ChildProcessHandle
): Effect.fn.Return<Stderr, never, Scope.Scope> {
  const hub = new Hub<string>()
  const last: Array<string> = []
  let open = ""
  const take = (line: string): void => {
    last.push(excerpt(line, lineLength))
    if (last.length > lastLines) last.shift()
    hub.publish(line)
  }
  const fiber = yield* handle.stderr.pipe(
    Stream.decodeText,
    Stream.runForEach((text) =>
      Effect.sync(() => {
        const lines = (open + text).split(/\r?\n/)
        open = lines.pop() ?? ""
        for (const line of lines) take(line)
        if (open.length < longestLine) return
        take(open)
        open = ""
      })
    ),
    Effect.onExit(() =>
      Effect.sync(() => {
        if (open !== "") take(open)
        hub.close(Exit.void)
      })
    ),
    Effect.ignore,
    Effect.forkScoped({ startImmediately: true })
  )
  return { hub, last, end: Fiber.await(fiber) }
})

/** How the process ended: its exit code, or the signal. */
interface End {
  readonly exitCode: number | undefined
  readonly how: string
}

const endOf = (handle: ChildProcessHandle): Effect.Effect<End> =>
  Effect.match(handle.exitCode, {
    onSuccess: (code): End => ({ exitCode: code, how: `exited with code ${code}` }),
    // Without an exit code it was a signal, which only the cause names.
    onFailure: ({ cause, message }): End => ({
      exitCode: undefined,
      how: `was ended: ${cause instanceof Error ? cause.message : message}`
    })
  })

/** How long the last output of an ended process may take to arrive. */
const drainTime = "250 millis"
/** How long stderr of an ended process may stay open, which another process may hold: errors show its end. */
const stderrDrainTime = "1 second"
/** How long a server that has never written to stdout may take to exit, unless the options say otherwise. */
const silentExitTimeout = "250 millis"
/** How long a server whose stdout has ended may take to exit, so that errors can say how. */
const exitGrace = "1 second"

/**
 * The end of the process, in order: it may exit by itself, then gets SIGTERM, then SIGKILL. Its output is read meanwhile, since a full
 * pipe would block it.
 */
const stop = (
  handle: ChildProcessHandle,
  exited: Effect.Effect<End>,
  rest: Effect.Effect<unknown>,
  options: Options
): Effect.Effect<void> => {
  const { exitTimeout = "2 seconds", killTimeout = "2 seconds" } = options
  const terminate = Effect.ignore(handle.kill({ killSignal: "SIGTERM", forceKillAfter: killTimeout }))
  const ended = Effect.flatMap(Effect.timeoutOption(exited, exitTimeout), (end) =>
    Option.isSome(end) ? Effect.void : terminate
  )
  // Both sides run in their own fibers, which an interruption of the closing fiber does not interrupt.
  return Effect.raceFirst(Effect.interruptible(ended), Effect.interruptible(Effect.andThen(rest, Effect.never)))
}

/**
 * Starts a server, which runs for as long as the scope. Fails with a `TransportError` of reason `Open` when the program cannot start.
 *
 * @example
 * ```ts
 * import { McpClient, Stdio } from "@effect-mcp/client"
 * import { Effect, Stream } from "effect"
 *
 * export const program = Effect.gen(function* () {
 *   const transport = yield* Stdio.open({ command: "node", args: ["server.js"], env: { LOG_LEVEL: "debug" } })
 *   yield* Effect.forkScoped(Stream.runForEach(transport.stderr, (line) => Effect.logDebug(line)))
 *   const client = yield* McpClient.connect(transport)
 *   return client.serverInfo
 * })
 * ```
 */
export const open = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<StdioTransport, TransportError, Scope.Scope | Requirements> {
  const name = nameOf(options)
  const spawner = yield* ChildProcessSpawner
  const handle = yield* Effect.mapError(
    spawner.spawn(commandOf(options)),
    transportError("Open", `Cannot start ${name}`)
  )
  yield* exitWithParent(handle.pid)
  const stderr = yield* readStderr(handle)
  const ended = Deferred.makeUnsafe<End>()
  const exited = Deferred.await(ended)
  yield* Effect.forkScoped(Deferred.into(endOf(handle), ended), { startImmediately: true })
  let spoke = false
  const pull = Effect.map(yield* Stream.toPull(handle.stdout), (chunk) => {
    spoke = true
    return chunk
  })
  yield* Effect.addFinalizer(() =>
    stop(
      handle,
      exited,
      Effect.ignore(Effect.forever(pull)),
      spoke ? options : { exitTimeout: silentExitTimeout, ...options }
    )
  )

  // The end of stderr may still be on the way.
  const exitError: Effect.Effect<never, TransportError> = Effect.flatMap(exited, ({ exitCode, how }) =>
    Effect.flatMap(Effect.timeoutOption(stderr.end, stderrDrainTime), () =>
      Effect.fail(
        new TransportError({
          reason: "Exited",
          message: [`${name} ${how}${stderr.last.length > 0 ? "; the end of its stderr:" : ""}`, ...stderr.last].join(
            "\n"
          ),
          exitCode,
          stderr: stderr.last.join("\n")
        })
      )
    )
  )
  const crashed = Effect.andThen(exited, Effect.andThen(Effect.sleep(drainTime), exitError))

  const transport = yield* Duplex.make(
    {
      incoming: Stream.fromPull(Effect.succeed(pull)).pipe(
        Stream.mapError(transportError("Read", `Cannot read from ${name}`)),
        // A process that the server has started may keep stdout open.
        Stream.interruptWhen(crashed),
        // Stdout ends before the exit code is known.
        Stream.concat(Stream.fromEffectDrain(Effect.timeoutOption(exitError, exitGrace)))
      ),
      // When the scope closes, the outgoing stream ends, which closes stdin.
      write: (outgoing) =>
        Effect.catch(Stream.run(Stream.encodeText(outgoing), handle.stdin), (cause) =>
          // A pipe that broke because the process has exited is reported as that exit.
          Effect.andThen(
            Effect.timeoutOption(exitError, exitGrace),
            Effect.fail(transportError("Write", `Cannot write to ${name}`)(cause))
          )
        )
    },
    { ...options, maxMessageBytes: options.maxMessageBytes ?? Framing.defaultMaxAnswerBytes }
  )
  return { ...transport, address: name, pid: handle.pid, stderr: stderr.hub.stream(256) }
})
