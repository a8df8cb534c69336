/**
 * A server as a child process (spec: basic/transports, stdio): messages on stdin and stdout, one per line, its words on stderr.
 *
 * Owns the process: when the Scope closes its stdin is closed, then it is asked (SIGTERM), then forced (SIGKILL) to go, each after a
 * bounded wait. It inherits only a short list of environment variables. When it dies by itself, everything that waits for it fails
 * with its exit code and its last words.
 */
import * as Outbox from "@effect-mcp/core/Outbox"
import { type Transport, TransportError } from "@effect-mcp/core/Transport"
import type * as Duration from "effect/Duration"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as ChildProcess from "effect/process/ChildProcess"
import { type ChildProcessHandle, ChildProcessSpawner } from "effect/process/ChildProcessSpawner"
import type * as PlatformError from "effect/PlatformError"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { Hub } from "../internal/Hub.ts"
import { exitWithParent } from "../internal/lastResort.ts"
import * as Lines from "./Lines.ts"

export interface Options extends Lines.Options, Pick<Outbox.Options, "highWater" | "controlCap"> {
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

/** Lines of stderr kept for errors. */
const lastLines = 20

const commandOf = (options: Options): ChildProcess.Command => {
  const { args = [], command, cwd, env, stderr = "keep" } = options
  if (typeof command !== "string") return command
  return ChildProcess.make(command, args, {
    env: { ...inheritedEnvironment(), ...env },
    ...(cwd === undefined ? undefined : { cwd }),
    stderr: stderr === "keep" ? "pipe" : stderr
  })
}

const nameOf = ({ command }: Options): string =>
  typeof command === "string" ? command : command._tag === "StandardCommand" ? command.command : "the command"

const transportError = (reason: TransportError["reason"], message: string) => (cause: PlatformError.PlatformError) =>
  new TransportError({ reason, message: `${message}: ${cause.message}`, cause })

interface Words {
  readonly hub: Hub<string>
  readonly last: Array<string>
}

/** Reads stderr to its end, for as long as the scope lives. */
const listen = Effect.fnUntraced(function* (handle: ChildProcessHandle): Effect.fn.Return<Words, never, Scope.Scope> {
  const words: Words = { hub: new Hub(), last: [] }
  yield* handle.stderr.pipe(
    Stream.decodeText,
    Stream.splitLines,
    Stream.runForEach((line) =>
      Effect.sync(() => {
        words.last.push(line)
        if (words.last.length > lastLines) words.last.shift()
        words.hub.publish(line)
      })
    ),
    Effect.ignore,
    Effect.forkScoped({ startImmediately: true })
  )
  return words
})

/** How the process ended: its code, or the signal's name in words. */
type Ended = { readonly exitCode: number | undefined; readonly how: string }

const endOf = (handle: ChildProcessHandle): Effect.Effect<Ended> =>
  Effect.match(handle.exitCode, {
    onSuccess: (code): Ended => ({ exitCode: code, how: `exited with code ${code}` }),
    onFailure: (error): Ended => ({ exitCode: undefined, how: `was ended (${error.message})` })
  })

/** How long what an ended process wrote may still take to arrive. */
const drainTime = "250 millis"

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
  const ended = Deferred.makeUnsafe<Ended>()
  yield* Effect.forkScoped(Deferred.into(endOf(handle), ended), { startImmediately: true })
  const decode = Lines.decoder(options)
  const pull = yield* Stream.toPull(handle.stdout)

  // What the server still writes is read until it is gone: a full pipe must not keep it from exiting.
  const drain = Effect.ignore(Effect.forever(pull))
  const exited = Deferred.await(ended)
  const stop = Effect.timeoutOption(exited, options.exitTimeout ?? "2 seconds").pipe(
    Effect.andThen(
      Effect.suspend(() =>
        Deferred.isDoneUnsafe(ended)
          ? Effect.void
          : Effect.ignore(handle.kill({ killSignal: "SIGTERM", forceKillAfter: options.killTimeout ?? "2 seconds" }))
      )
    )
  )
  yield* Effect.addFinalizer(() => Effect.interruptible(Effect.raceFirst(stop, Effect.andThen(drain, Effect.never))))
  // Closing the scope writes what is queued and then ends stdin.
  const outbox = yield* Outbox.make(
    (outgoing) =>
      Stream.run(Stream.encodeText(outgoing), handle.stdin).pipe(
        // A pipe that broke because the process is gone is reported with how it went.
        Effect.mapError(transportError("Write", `Cannot write to ${name}`)),
        Effect.catch((error) => Effect.andThen(Effect.timeoutOption(exited, drainTime), gone(error)))
      ),
    options
  )

  const failure = ({ exitCode, how }: Ended): TransportError =>
    new TransportError({
      reason: "Exited",
      message: [`${name} ${how}`, ...words.last].join("\n"),
      exitCode,
      stderr: words.last.join("\n")
    })
  const gone = (otherwise: TransportError): Effect.Effect<never, TransportError> =>
    Effect.suspend(() =>
      Deferred.isDoneUnsafe(ended) ? Effect.flatMap(exited, (end) => Effect.fail(failure(end))) : Effect.fail(otherwise)
    )
  const crashed = Effect.flatMap(exited, (end) =>
    // Its last answers and last words may still be on the way.
    Effect.andThen(
      Effect.sleep(drainTime),
      Effect.suspend(() => Effect.fail(failure(end)))
    )
  )

  const read = Stream.fromPull(Effect.succeed(pull)).pipe(
    Stream.mapError(transportError("Read", `Cannot read from ${name}`)),
    Stream.map(decode),
    Stream.flattenIterable
  )
  return {
    // The end of stdout is the end of the server: how it went is known a moment later.
    incoming: Stream.concat(
      Stream.interruptWhen(read, crashed),
      Stream.fromEffectDrain(Effect.timeoutOption(crashed, "1 second"))
    ),
    sink: outbox.sink,
    broken: outbox.broken,
    pid: handle.pid,
    stderr: words.hub.stream(256)
  }
})
