/**
 * Transport for a server that runs as a child process (spec: basic/transports, stdio). Each line on stdin and stdout is one message; stderr
 * is for logs.
 *
 * When the scope closes, the transport closes the server's stdin. A server that doesn't exit in time receives SIGTERM, then SIGKILL. The
 * server inherits only a short list of environment variables. If it exits on its own, pending requests fail with its exit code and the last
 * lines it wrote to stderr.
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
import * as Sandbox from "./Sandbox.ts"

export interface Options extends Duplex.Options {
  /** Program to run, or a complete `ChildProcess` command. With a command, `args`, `env`, `cwd` and `stderr` are ignored. */
  readonly command: string | ChildProcess.Command
  /** Arguments of the program. Default none. */
  readonly args?: ReadonlyArray<string> | undefined
  /** Environment variables to set in addition to the inherited ones (`inheritedVariables`), which they override. Default none. */
  readonly env?: { readonly [name: string]: string | undefined } | undefined
  /** The server's working directory. Default: this process's working directory. */
  readonly cwd?: string | undefined
  /**
   * How to handle the server's stderr. `keep` exposes it as the transport's `stderr` and quotes its last lines in errors, `inherit`
   * forwards it to this process's stderr, and `ignore` discards it. Default `keep`.
   */
  readonly stderr?: "keep" | "inherit" | "ignore" | undefined
  /**
   * Confines the server: no network, and no writes outside the given folders. It can still read files, and this machine's tools may leave
   * further gaps, which the `report` option receives. Default: not confined.
   */
  readonly sandbox?: Sandbox.Options | undefined
  /** How long to wait for the server to exit after closing its stdin. Default 2 seconds. */
  readonly exitTimeout?: Duration.Input | undefined
  /** How long to wait for the server to exit after sending SIGTERM. Default 2 seconds. */
  readonly killTimeout?: Duration.Input | undefined
}

export type Requirements = ChildProcessSpawner

/** A transport to a child process. */
export interface StdioTransport extends Transport {
  readonly pid: number
  /**
   * Lines the server writes to stderr while the stream runs. Servers use stderr for logging, so a line isn't necessarily an error. Empty
   * unless the `stderr` option is `keep`.
   */
  readonly stderr: Stream.Stream<string>
}

/** Environment variables the server inherits: enough to find programs and the home directory, but no secrets. */
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

/** Returns this process's values of `inheritedVariables`, leaving out values that define a shell function. */
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

/** Returns the options with a confined command line. Fails if the command is a `ChildProcess` command, which can't be changed. */
const confined = (options: Options): Effect.Effect<Options, TransportError, ChildProcessSpawner> => {
  const { args = [], command, cwd = globalThis.process?.cwd() ?? "/", env, sandbox } = options
  if (sandbox === undefined) return Effect.succeed(options)
  if (typeof command !== "string")
    return Effect.fail(
      new TransportError({ reason: "Open", message: "The sandbox option requires a command that is a string" })
    )
  return Effect.map(
    Sandbox.confine({ command, args }, sandbox, Object.assign({ ...inheritedEnvironment() }, env), cwd),
    (line) => ({ ...options, command: line.command, args: line.args })
  )
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
      how: `was stopped: ${cause instanceof Error ? cause.message : message}`
    })
  })

/** How long to wait for the last output of an exited process. */
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
 * Starts a server that runs until the scope closes. Fails with a `TransportError` of reason `Open` if the program can't be started.
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
    spawner.spawn(commandOf(yield* confined(options))),
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
