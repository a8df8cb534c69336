/**
 * The transport for a server that runs as a child process (spec: basic/transports, stdio): one message per line on stdin and stdout, logs
 * on stderr.
 *
 * When the scope closes, the server's stdin is closed; if it does not exit in time it receives SIGTERM, then SIGKILL. It inherits only a
 * short list of environment variables. If it exits on its own, requests fail with its exit code and its last lines of stderr.
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
  /** The program to run, or a complete `ChildProcess` command, to which `args`, `env`, `cwd` and `stderr` do not apply. */
  readonly command: string | ChildProcess.Command
  /** Arguments of the program. Default none. */
  readonly args?: ReadonlyArray<string> | undefined
  /** Environment variables to add to, or override, the inherited ones (`inheritedVariables`). Default none. */
  readonly env?: { readonly [name: string]: string | undefined } | undefined
  /** Working directory of the server. Default: the working directory of this process. */
  readonly cwd?: string | undefined
  /**
   * Where the server's stderr goes. `keep` makes it available as `stderr` of the transport and quotes its last lines in errors; `inherit`
   * writes it to the stderr of this process; `ignore` discards it. Default `keep`.
   */
  readonly stderr?: "keep" | "inherit" | "ignore" | undefined
  /** How long to wait for the server to exit after its stdin is closed. Default 2 seconds. */
  readonly exitTimeout?: Duration.Input | undefined
  /** How long to wait for the server to exit after SIGTERM. Default 2 seconds. */
  readonly killTimeout?: Duration.Input | undefined
}

export type Requirements = ChildProcessSpawner

/** A transport to a child process. */
export interface StdioTransport extends Transport {
  readonly pid: number
  /**
   * Lines that the server writes to stderr while the stream runs. Servers log there, so a line need not be an error. Empty unless the
   * option `stderr` is `keep`.
   */
  readonly stderr: Stream.Stream<string>
}

/** Environment variables that a server inherits: enough to find programs and the home directory, but no secrets. */
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

/** Returns the values of `inheritedVariables` in this process, except values that define a shell function. */
export const inheritedEnvironment = (): { readonly [name: string]: string } =>
  Object.fromEntries(
    inheritedVariables.flatMap((name) => {
      const value = globalThis.process?.env[name]
      return value === undefined || value.startsWith("()") ? [] : [[name, value]]
    })
  )

/** Number of stderr lines in errors, and their maximum length. Longer lines are read in pieces. */
const lastLines = 20
const lineLength = 500
const longestLine = 64 * 1024
/** Maximum length of a command line in errors. */
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

/** Returns the command line for errors. */
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
  /** Completes when stderr ends. */
  readonly end: Effect.Effect<unknown>
}

/** Reads stderr to its end while the scope is open. */
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

/** How the process ended: with an exit code, or by a signal. */
interface End {
  readonly exitCode: number | undefined
  readonly how: string
}

const endOf = (handle: ChildProcessHandle): Effect.Effect<End> =>
  Effect.match(handle.exitCode, {
    onSuccess: (code): End => ({ exitCode: code, how: `exited with code ${code}` }),
    // Without an exit code the process was killed by a signal, which only the cause names.
    onFailure: ({ cause, message }): End => ({
      exitCode: undefined,
      how: `was ended: ${cause instanceof Error ? cause.message : message}`
    })
  })

/** How long to wait for the last output of a process that exited. */
const drainTime = "250 millis"
/** How long to wait for the end of stderr, which errors quote. Another process may keep it open. */
const stderrDrainTime = "1 second"
/** Default time to exit for a server that has never written to stdout. */
const silentExitTimeout = "250 millis"
/** How long to wait for the exit code after stdout ends, so that errors can report it. */
const exitGrace = "1 second"

/**
 * Stops the process: waits for it to exit, then sends SIGTERM, then SIGKILL. Keeps reading its output, because a full pipe would block it.
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
  // Both sides run in their own fibers, so that interrupting the closing fiber does not interrupt them.
  return Effect.raceFirst(Effect.interruptible(ended), Effect.interruptible(Effect.andThen(rest, Effect.never)))
}

/**
 * Starts a server that runs until the scope closes. Fails with a `TransportError` of reason `Open` if the program cannot be started.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio
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

  // The last lines of stderr may not have arrived yet.
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
        // Another process that the server started may keep stdout open.
        Stream.interruptWhen(crashed),
        // Stdout ends before the exit code is known.
        Stream.concat(Stream.fromEffectDrain(Effect.timeoutOption(exitError, exitGrace)))
      ),
      // The outgoing stream ends when the scope closes. That closes stdin.
      write: (outgoing) =>
        Effect.catch(Stream.run(Stream.encodeText(outgoing), handle.stdin), (cause) =>
          // If the pipe broke because the process exited, report the exit instead.
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
