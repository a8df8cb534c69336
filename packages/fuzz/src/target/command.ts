/** A server program that communicates line by line over stdin and stdout. Each connection starts a new process. */
import { inheritedEnvironment } from "@effect-mcp/client/Stdio"
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as ChildProcess from "effect/process/ChildProcess"
import { ChildProcessSpawner } from "effect/process/ChildProcessSpawner"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import { linesOf } from "../model/lines.ts"
import { type LineTarget, signalOf, TargetError, type Wire } from "./Target.ts"

export interface Options {
  readonly command: string
  readonly args?: ReadonlyArray<string> | undefined
  /** Environment variables to set in addition to the few that servers inherit. */
  readonly env?: { readonly [name: string]: string } | undefined
  readonly cwd?: string | undefined
  /** Called with the server's stderr output. Default: the output is discarded. */
  readonly stderr?: ((text: string) => void) | undefined
}

/** Returns a target that starts the program for each connection and stops it afterwards. */
export const command = (options: Options): Effect.Effect<LineTarget, never, ChildProcessSpawner> =>
  Effect.map(ChildProcessSpawner, (spawner): LineTarget => {
    const { args = [], cwd, env, stderr } = options
    const name = [options.command, ...args].join(" ")
    const child = ChildProcess.make(options.command, args, {
      env: { ...inheritedEnvironment(), ...env },
      ...(cwd === undefined ? undefined : { cwd }),
      stderr: stderr === undefined ? "ignore" : "pipe",
      killSignal: "SIGKILL"
    })
    return {
      name,
      transport: "stdio",
      open: Effect.fnUntraced(function* (receive) {
        const handle = yield* Effect.mapError(
          spawner.spawn(child),
          (cause) => new TargetError({ message: `Cannot start ${name}: ${cause.message}` })
        )
        const outgoing = yield* Queue.unbounded<string, Cause.Done>()
        const background = <E>(effect: Effect.Effect<void, E>) =>
          Effect.forkScoped(Effect.ignore(effect), { startImmediately: true })
        yield* background(Stream.run(Stream.encodeText(Stream.fromQueue(outgoing)), handle.stdin))
        const feed = linesOf((text) => receive({ _tag: "Line", text }))
        const output = Stream.runForEach(Stream.decodeText(handle.stdout), (text) => Effect.sync(() => feed(text)))
        const ended = Effect.match(handle.exitCode, {
          onSuccess: (code) => `it exited with code ${code}`,
          onFailure: (error) => `it was stopped by ${signalOf(error) ?? error.message}`
        })
        yield* background(
          Effect.andThen(
            Effect.ignore(output),
            Effect.map(ended, (how) => receive({ _tag: "Ended", how }))
          )
        )
        if (stderr !== undefined) {
          yield* background(
            Stream.runForEach(Stream.decodeText(handle.stderr), (text) => Effect.sync(() => stderr(text)))
          )
        }
        const wire: Wire = {
          send: (line) => void Queue.offerUnsafe(outgoing, `${line}\n`),
          end: Effect.asVoid(Queue.end(outgoing))
        }
        return wire
      })
    }
  })
