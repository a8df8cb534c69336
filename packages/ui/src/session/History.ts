/** Runs from earlier starts, in a file with one run per line. A file that can't be read or written costs only the history. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { mostRuns, shortened } from "../messages/apply.ts"
import type { UserRun } from "../messages/Events.ts"

/** Maximum length of a run in the file, in characters. A longer run is kept without its input and result. */
const mostText = 256 * 1024
/** How much of the end of the file to read. */
const mostBytes = 32 * 1024 * 1024

const optional = Schema.optionalKey
const Stored = Schema.fromJsonString(
  Schema.Struct({
    id: Schema.Int,
    kind: Schema.Literals(["tool", "resource", "prompt", "ping", "task"]),
    name: Schema.String,
    input: Schema.Record(Schema.String, Schema.Unknown),
    asTask: Schema.Boolean,
    revision: Schema.String,
    startedAt: Schema.Finite,
    status: Schema.Literals(["done", "failed", "cancelled"]),
    size: optional(Schema.Int),
    took: optional(Schema.Finite),
    progress: Schema.Array(
      Schema.Struct({
        at: Schema.Finite,
        progress: Schema.Finite,
        total: optional(Schema.Finite),
        message: optional(Schema.String)
      })
    ),
    tasks: Schema.Array(
      Schema.Struct({
        at: Schema.Finite,
        id: Schema.String,
        status: Schema.String,
        message: optional(Schema.String)
      })
    ),
    result: optional(Schema.Unknown),
    error: optional(
      Schema.Struct({
        tag: Schema.String,
        message: Schema.String,
        code: optional(Schema.Finite),
        data: optional(Schema.Unknown)
      })
    )
  })
)
const decode = Schema.decodeUnknownOption(Stored)

export interface RunHistory {
  /** Runs from earlier starts, oldest first. */
  readonly runs: ReadonlyArray<UserRun>
  readonly add: (run: UserRun) => Effect.Effect<void>
  readonly forget: Effect.Effect<void>
}

const line = (run: UserRun): string => {
  const whole = JSON.stringify(run)
  return `${whole.length > mostText ? JSON.stringify(shortened(run)) : whole}\n`
}

/** Opens the history in a file, which only its user may read. Without a file, nothing is kept. */
export const open = Effect.fnUntraced(function* (file: string | undefined) {
  const none: RunHistory = { runs: [], add: () => Effect.void, forget: Effect.void }
  if (file === undefined) return none
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const write = (text: string, flag: "a" | "w") =>
    Effect.ignore(
      Effect.andThen(
        fs.makeDirectory(path.dirname(file), { recursive: true, mode: 0o700 }),
        fs.writeFileString(file, text, { flag, mode: 0o600 })
      )
    )
  const size = yield* Effect.orElseSucceed(
    Effect.map(fs.stat(file), ({ size }) => Number(size)),
    () => 0
  )
  const offset = Math.max(0, size - mostBytes)
  const text = yield* Effect.orElseSucceed(Stream.mkString(Stream.decodeText(fs.stream(file, { offset }))), () => "")
  // The first line may be cut.
  const lines = text
    .split("\n")
    .slice(offset === 0 ? 0 : 1)
    .filter((each) => each !== "")
  const runs = lines
    .slice(-mostRuns)
    .flatMap((each) => Option.match(decode(each), { onNone: () => [], onSome: (run): ReadonlyArray<UserRun> => [run] }))
  // Keeps the file from growing endlessly.
  if (offset > 0 || lines.length > 2 * mostRuns) yield* write(runs.map(line).join(""), "w")
  const history: RunHistory = {
    runs: runs.map((run, index) => ({ ...run, id: index + 1 })),
    add: (run) => write(line(run), "a"),
    forget: write("", "w")
  }
  return history
})
