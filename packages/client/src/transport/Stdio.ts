/**
 * A server as a child process (spec: basic/transports, stdio): messages on stdin and stdout, one per line, its words on stderr.
 *
 * Owns the process: when the Scope closes its stdin is closed, then it is asked (SIGTERM), then forced (SIGKILL) to go, each after a
 * bounded wait. It inherits only a short list of environment variables. When it dies by itself, everything that waits for it fails
 * with its exit code and its last words.
 */
import * as Duplex from "@effect-mcp/core/Duplex"
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
  /** The program; a `ChildProcess` command is started as it is, and then decides itself what it inherits. */
  readonly command: string | ChildProcess.Command
  readonly args?: ReadonlyArray<string> | undefined
  /** Beside the inherited variables (`inheritedVariables`), and before them. */
  readonly env?: { readonly [name: string]: string | undefined } | undefined
  readonly cwd?: string | undefined
  /** `keep`: as `stderr` of the connection, and the last lines in errors. `inherit`: on our own stderr. Default `keep`. */
  readonly stderr?: "keep" | "inherit" | "ignore" | undefined
  /** How long the server may take to exit once its stdin is closed. Default 2 seconds. */
  readonly exitTimeout?: Duration.Input | undefined
  /** How long it may take after SIGTERM before it is killed. Default 2 seconds. */
  readonly killTimeout?: Duration.Input | undefined
}

export type Requirements = ChildProcessSpawner

/** A wire to a child process. */
export interface StdioTransport extends Transport {
  readonly pid: number
  /** Lines on stderr from now on; no sign of an error by themselves. Empty unless they are kept. */
  readonly stderr: Stream.Stream<string>
}

/** What a server inherits of our environment: enough to find programs and a home, and no secrets. */
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

/** The variables of `inheritedVariables` as they are set here. A value that defines a shell function is left out. */
export const inheritedEnvironment = (): { readonly [name: string]: string } =>
  Object.fromEntries(
    inheritedVariables.flatMap((name) => {
      const value = globalThis.process?.env[name]
      return value === undefined || value.startsWith("()") ? [] : [[name, value]]
    })
  )

/** Lines of stderr kept for errors, and the characters of each; a longer line is read in pieces. */
const lastLines = 20
const lineLength = 500
const longestLine = 64 * 1024
/** How much of a command line is shown, in characters. */
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

interface Words {
  readonly hub: Hub<string>
  readonly last: Array<string>
  /** Completes with the end of stderr. */
  readonly end: Effect.Effect<unknown>
}

/** Reads stderr to its end, for as long as the scope lives. */
const listen = Effect.fnUntraced(function* (handle: ChildProcessHandle): Effect.fn.Return<Words, never, Scope.Scope> {
  const hub = new Hub<string>()
  const last: Array<string> = []
  let open = ""
  const hear = (line: string): void => {
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
        for (const line of lines) hear(line)
        if (open.length < longestLine) return
        hear(open)
        open = ""
      })
    ),
    Effect.onExit(() =>
      Effect.sync(() => {
        if (open !== "") hear(open)
        hub.close(Exit.void)
      })
    ),
    Effect.ignore,
    Effect.forkScoped({ startImmediately: true })
  )
  return { hub, last, end: Fiber.await(fiber) }
})

/** How the process ended: its code, or the signal in words. */
interface End {
  readonly exitCode: number | undefined
  readonly how: string
}

const endOf = (handle: ChildProcessHandle): Effect.Effect<End> =>
  Effect.match(handle.exitCode, {
    onSuccess: (code): End => ({ exitCode: code, how: `exited with code ${code}` }),
    // No exit code: a signal, which only the cause names.
    onFailure: ({ cause, message }): End => ({
      exitCode: undefined,
      how: `was ended: ${cause instanceof Error ? cause.message : message}`
    })
  })

/** How long what an ended process wrote may still take to arrive. */
const drainTime = "250 millis"
/** How long a server that never said anything may take to exit, unless the options say otherwise: there is no conversation to end. */
const silentExitTimeout = "250 millis"
/** How long a server whose stdout ended may take to exit, so that it can be said how. */
const exitGrace = "1 second"

/**
 * The end of the process, in order: first it may go by itself, then it is told to, then it is killed. What it still writes is read
 * meanwhile, since a full pipe would keep it from going.
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
  // Both sides run in fibers of their own, which are not interrupted although the one that closes the scope may be.
  return Effect.raceFirst(Effect.interruptible(ended), Effect.interruptible(Effect.andThen(rest, Effect.never)))
}

/** Starts the server. Fails with reason `Open` when there is no such program. */
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
  const words = yield* listen(handle)
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

  // Its last words may still be on the way.
  const obituary: Effect.Effect<never, TransportError> = Effect.flatMap(exited, ({ exitCode, how }) =>
    Effect.flatMap(Effect.timeoutOption(words.end, drainTime), () =>
      Effect.fail(
        new TransportError({
          reason: "Exited",
          message: [`${name} ${how}${words.last.length > 0 ? "; the end of its stderr:" : ""}`, ...words.last].join(
            "\n"
          ),
          exitCode,
          stderr: words.last.join("\n")
        })
      )
    )
  )
  const crashed = Effect.andThen(exited, Effect.andThen(Effect.sleep(drainTime), obituary))

  const transport = yield* Duplex.make(
    {
      incoming: Stream.fromPull(Effect.succeed(pull)).pipe(
        Stream.mapError(transportError("Read", `Cannot read from ${name}`)),
        // A child of its own may keep stdout open.
        Stream.interruptWhen(crashed),
        // The end of stdout is the end of the server: how it went is known a moment later.
        Stream.concat(Stream.fromEffectDrain(Effect.timeoutOption(obituary, exitGrace)))
      ),
      // When the scope closes, the end of what leaves closes stdin.
      write: (outgoing) =>
        Effect.catch(Stream.run(Stream.encodeText(outgoing), handle.stdin), (cause) =>
          // A pipe that broke because the process is gone is reported by how it went.
          Effect.andThen(
            Effect.timeoutOption(obituary, exitGrace),
            Effect.fail(transportError("Write", `Cannot write to ${name}`)(cause))
          )
        )
    },
    options
  )
  return { ...transport, address: name, pid: handle.pid, stderr: words.hub.stream(256) }
})
