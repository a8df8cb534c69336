/** Runs `record`: forwards real traffic and writes it to a cassette. */
import * as Cassette from "@effect-mcp/fuzz/Cassette"
import type * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FileSystem from "effect/FileSystem"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import * as Endings from "../terminal/Exit.ts"
import { Output } from "../terminal/Output.ts"
import type { Settings } from "../target/Settings.ts"
import { privateMode } from "../terminal/Files.ts"
import { safeLine } from "../terminal/Style.ts"
import { type TapAddress, serve } from "../tap/Tap.ts"
import type { CommandTarget } from "../target/Target.ts"

interface Flags {
  readonly file: string
  /** Names of fields that are secrets. */
  readonly redact: ReadonlyArray<string>
}

/** Records until the server exits or a signal stops the command. */
export const record = Effect.fnUntraced(function* (
  server: CommandTarget,
  settings: Settings,
  place: TapAddress,
  flags: Flags
) {
  const { file, redact } = flags
  const output = yield* Output
  const fs = yield* FileSystem.FileSystem
  const clock = yield* Clock.Clock
  const start = clock.currentTimeMillisUnsafe()
  const lines = yield* Queue.unbounded<string, Cause.Done>()
  const failed = ({ message }: { readonly message: string }) => Endings.usage(`Cannot write ${file}: ${message}`)
  // Fails before the server starts if the file can't be written. The file is private, because redaction can't recognize every secret.
  yield* Effect.mapError(fs.writeFileString(file, "", { flag: "a", mode: privateMode }), failed)
  // Each message is written immediately. The first one replaces an earlier recording.
  let flag: "w" | "a" = "w"
  const append = Stream.runForEach(Stream.fromQueue(lines), (line) =>
    Effect.suspend(() => {
      const opened = flag
      flag = "a"
      return fs.writeFileString(file, `${line}\n`, { flag: opened })
    })
  )
  const writing = yield* Effect.forkDetach(Effect.mapError(append, failed))
  const recorder = new Cassette.Recorder({
    server: server.name,
    now: () => clock.currentTimeMillisUnsafe() - start,
    names: redact,
    write: (line) => void Queue.offerUnsafe(lines, line)
  })
  const conclude = Effect.gen(function* () {
    yield* Queue.end(lines)
    yield* Fiber.join(writing)
    const secrets = [...recorder.redacted]
    const which = secrets.length === 0 ? "no secrets were seen" : `redacted: ${secrets.map(safeLine).join(", ")}`
    yield* output.note(
      recorder.messages === 0
        ? `No messages were recorded; ${file} is unchanged`
        : `Wrote ${recorder.messages} messages to ${file}, without headers; ${which}`
    )
  })
  const interrupted = Effect.andThen(conclude, Endings.endWith(Endings.code.ok))
  yield* Effect.onInterrupt(serve(server, settings, place, recorder), () => Effect.ignore(interrupted))
  yield* conclude
})
