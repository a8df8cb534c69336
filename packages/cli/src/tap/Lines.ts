/** Forwards stdin and stdout between a client and a server process, while an ear listens. */
import { inheritedEnvironment } from "@effect-mcp/client/Stdio"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as ChildProcess from "effect/process/ChildProcess"
import { ChildProcessSpawner } from "effect/process/ChildProcessSpawner"
import { Stdio } from "effect/Stdio"
import * as Stream from "effect/Stream"
import { code, CommandFailure } from "../terminal/Exit.ts"
import type { Settings } from "../target/Settings.ts"
import type { LineEar } from "./Ear.ts"

/** How long a server may take to exit once its input has ended. */
const exitPatience = "5 seconds"

/** Runs until the server exits, or until some time after stdin has ended. The server inherits stderr. */
export const serve = Effect.fnUntraced(function* (
  [command, ...args]: readonly [string, ...ReadonlyArray<string>],
  { cwd, env }: Pick<Settings, "cwd" | "env">,
  ear: LineEar
) {
  const spawner = yield* ChildProcessSpawner
  const stdio = yield* Stdio
  const child = ChildProcess.make(command, args, {
    env: { ...inheritedEnvironment(), ...env },
    ...(cwd === undefined ? undefined : { cwd }),
    stderr: "inherit",
    forceKillAfter: "2 seconds"
  })
  const handle = yield* Effect.mapError(
    spawner.spawn(child),
    ({ message }) => new CommandFailure({ code: code.connection, message: `Cannot start ${command}: ${message}` })
  )
  const noInput = Latch.makeUnsafe(false)
  const heard = (hear: (chunk: Uint8Array) => void) =>
    Stream.tap<Uint8Array, void, never, never>((chunk) => Effect.sync(() => hear(chunk)))
  const input = stdio.stdin.pipe(heard(ear.sent), Stream.run(handle.stdin), Effect.exit)
  yield* Effect.forkScoped(
    Effect.andThen(
      input,
      Effect.suspend(() => {
        ear.inputEnded()
        return noInput.open
      })
    )
  )
  const output = handle.stdout.pipe(heard(ear.received), Stream.run(stdio.stdout({ endOnDone: false })), Effect.exit)
  const writing = yield* Effect.forkScoped(output)
  const exited = Effect.exit(handle.exitCode)
  const late = Effect.andThen(noInput.await, Effect.sleep(exitPatience))
  const end = yield* Effect.raceFirst(exited, Effect.as(late, undefined))
  if (end === undefined) return ear.stillRuns()
  yield* Fiber.await(writing)
  return ear.exited(Exit.isSuccess(end) ? `it exited with code ${end.value}` : "it was stopped by a signal")
}, Effect.scoped)
