/** Runs from earlier starts, in a file with one run per line. A file that can't be read or written costs only the history. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { UserRun } from "../messages/Events.ts"
import { mostRuns } from "./Board.ts"

/** Maximum length of a run in the file, in characters. A longer run is kept without its result. */
const mostText = 256 * 1024
const mostBytes = 32 * 1024 * 1024

const optional = Schema.optionalKey
const Stored = Schema.fromJsonString(
  Schema.Struct({
    id: Schema.Int,
    kind: Schema.Literals(["tool", "resource", "prompt", "ping"]),
    name: Schema.String,
    input: Schema.Record(Schema.String, Schema.Unknown),
    asTask: Schema.Boolean,
    revision: Schema.String,
    startedAt: Schema.Finite,
    status: Schema.Literals(["done", "failed", "cancelled"]),
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
const decode = Schema.decodeUnknownResult(Stored)

export interface RunHistory {
  /** Runs from earlier starts, oldest first. */
  readonly runs: ReadonlyArray<UserRun>
  readonly add: (run: UserRun) => Effect.Effect<void>
  readonly forget: Effect.Effect<void>
}

const line = (run: UserRun): string => {
  const whole = JSON.stringify(run)
  return whole.length > mostText ? JSON.stringify({ ...run, result: undefined, input: {} }) : whole
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
  const text = size > mostBytes ? "" : yield* Effect.orElseSucceed(fs.readFileString(file), () => "")
  const lines = text.split("\n").filter((each) => each !== "")
  const runs = lines.slice(-mostRuns).flatMap((each) =>
    Result.getOrElse(
      Result.map(decode(each), (run) => [run]),
      () => []
    )
  )
  // Keeps the file from growing endlessly.
  if (size > mostBytes || lines.length > 2 * mostRuns) yield* write(runs.map((run) => `${line(run)}\n`).join(""), "w")
  const history: RunHistory = {
    runs: runs.map((run, index) => ({ ...run, id: index + 1 })),
    add: (run) => write(`${line(run)}\n`, "a"),
    forget: write("", "w")
  }
  return history
})
