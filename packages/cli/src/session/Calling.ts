/** Shows a running call, as a request or as a task: its progress and its result, for people or as lines of JSON. */
import type { ClientError } from "@effect-mcp/client/ClientError"
import type { CallEvent } from "@effect-mcp/client/McpClient"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { code, type CommandFailure, silent } from "../terminal/Exit.ts"
import * as ProgressLine from "../terminal/ProgressLine.ts"
import * as Unanswered from "../terminal/Unanswered.ts"
import { binaryOf, callResult } from "../render/Content.ts"
import { bare, json, jsonLine } from "../render/Text.ts"
import * as Save from "./Save.ts"
import type { CommandSession } from "./Session.ts"

/** How to show a call. */
export interface Shown {
  /** Whether to print progress and the result as lines of JSON. */
  readonly asEvents: boolean
  /** File for the binary data of the result. */
  readonly file: Option.Option<string>
}

/** Shows progress as it arrives, and the result at the end. */
const show =
  ({ output }: CommandSession, { asEvents }: Shown) =>
  (event: CallEvent<CallToolResult>) => {
    if (event._tag === "Result") {
      return Effect.andThen(
        output.live(undefined),
        asEvents ? output.line(jsonLine({ event: "result", result: event.value })) : Effect.void
      )
    }
    const { message, progress, total } = event
    return asEvents
      ? output.line(jsonLine({ event: "progress", progress, total, message }))
      : output.live(ProgressLine.line(event, output.noteWidth, output.noteStyle))
  }

/** Shows a call's events until it ends, then returns its result. */
export const follow = Effect.fnUntraced(function* (
  session: CommandSession,
  shown: Shown,
  events: Stream.Stream<CallEvent<CallToolResult>, ClientError | CommandFailure>
) {
  const { output } = session
  const last = yield* events.pipe(
    Stream.tap(show(session, shown)),
    Stream.runLast,
    Effect.ensuring(output.live(undefined))
  )
  if (Option.isNone(last) || last.value._tag !== "Result") return undefined
  const result = last.value.value
  yield* print(session, shown, result)
  return result
})

/** Prints a result, or writes it to the file. */
export const print = Effect.fnUntraced(function* (
  { output, settings }: CommandSession,
  { asEvents, file }: Shown,
  result: CallToolResult
) {
  if (Option.isSome(file)) {
    const parts = result.content.flatMap((block) => binaryOf(block) ?? [])
    yield* Save.save(file.value, parts, callResult(bare, result))
  } else if (!asEvents) yield* output.line(settings.json ? json(result) : callResult(output, result))
})

/** Ends the command with the code for server errors if the tool failed. The message was shown already; suggests flags if it could not ask. */
export const failing = ({ output }: CommandSession, result: CallToolResult): Effect.Effect<void, CommandFailure> => {
  if (result.isError !== true) return Effect.void
  const flags = Unanswered.flagsOfResult(result)
  const said = flags === undefined ? Effect.void : output.note(flags)
  return Effect.andThen(said, Effect.fail(silent(code.server)))
}
