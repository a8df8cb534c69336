/** Follows a call's task, or a task that another command left. A task outlives the connection that created it. */
import { type Created, CurrentTaskHandling } from "@effect-mcp/client/internal/relaying"
import type { CallEvent, ClientError } from "@effect-mcp/client/McpClient"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import type { Settings } from "../target/Settings.ts"
import type { CommandTarget } from "../target/Target.ts"
import { code, type CommandError, CommandFailure } from "../terminal/Exit.ts"
import { safeLine } from "../terminal/Style.ts"
import * as Unanswered from "../terminal/Unanswered.ts"
import * as Calling from "./Calling.ts"
import * as Session from "./Session.ts"

/** How long an interrupted call waits until the server has cancelled its task. */
const cancelTimeout = "5 seconds"
/** Maximum number of reconnection attempts, and the pause between them. */
const attempts = 60
const pause = "1 second"

const unanswered = new CommandFailure({
  code: code.server,
  message: "The task is waiting for an answer",
  detail: Unanswered.form
})

/** Streams a task's messages, then its result. Fails if the task asks a question that this command line cannot answer. */
const events = (
  { canAnswer, client, patient }: Session.CommandSession,
  id: string
): Stream.Stream<CallEvent<CallToolResult>, ClientError | CommandFailure> =>
  Stream.unwrap(
    Effect.map(client.taskById(id, patient), ({ result, states }) =>
      Stream.concat(
        Stream.map(
          Stream.tap(states, ({ status }) =>
            status === "input_required" && !canAnswer ? Effect.fail(unanswered) : Effect.void
          ),
          ({ message, status }) => ({
            _tag: "Progress" as const,
            progress: 0,
            message: message ?? status
          })
        ),
        Stream.map(Stream.fromEffect(result), (value) => ({ _tag: "Result" as const, value }))
      )
    )
  )

const isGone = ({ _tag }: CommandError): boolean => _tag === "Closed" || _tag === "TransportError"
const isLost = (error: CommandError): boolean => isGone(error) || error._tag === "Timeout"

/** Returns the command that fetches a task's result, without headers and variables, which may be secret. */
const command = Effect.fnUntraced(function* (id: string, { config, server }: Settings, target: CommandTarget) {
  // Loaded on demand, because it also loads the fuzzer.
  const { quoted, serverWords } = yield* Effect.promise(() => import("../testing/Concluding.ts"))
  const result = `effect-mcp tasks result ${quoted(id)}`
  if (config === undefined) return `${result} -- ${serverWords(target)}`
  return `${result} --config ${quoted(config)}${server === undefined ? "" : ` --server ${quoted(server)}`}`
})

/** Follows the task over a new connection. Retries while the server is unreachable. */
const again = (shown: Calling.Shown, id: string, left = attempts): ReturnType<typeof overAnother> =>
  Effect.catchIf(
    Effect.delay(overAnother(shown, id), pause),
    (error) => left > 1 && isGone(error),
    () => again(shown, id, left - 1)
  )

const overAnother = (shown: Calling.Shown, id: string) =>
  Session.use((session) => Calling.follow(session, shown, events(session, id)))

/** After losing the server, tells the user how to get the task's result. Keeps following if the server may come back (HTTP). */
const recover = Effect.fnUntraced(function* (
  { output, settings }: Session.CommandSession,
  shown: Calling.Shown,
  id: string,
  error: CommandError
) {
  const target = yield* Session.chosen(settings)
  yield* output.note(`The connection to the server was lost while it was running the task ${safeLine(id)}.`)
  yield* output.note(`If the server keeps its tasks, get the result with: ${yield* command(id, settings, target)}`)
  if (target.mayDemandLogin !== true || !isGone(error)) return yield* Effect.fail(error)
  yield* output.note(output.noteStyle.dim(`[waiting] Trying to reconnect for ${attempts} seconds`))
  return yield* again(shown, id)
})

/** Shows a task until it ends, then its result. Interrupting this does not cancel the task. */
export const follow = (session: Session.CommandSession, shown: Calling.Shown, id: string) =>
  Effect.catchIf(Calling.follow(session, shown, events(session, id)), isLost, (error) =>
    recover(session, shown, id, error)
  )

/** Shows a call until it ends, then its result. If this ends first, it cancels the task, unless the server was lost. */
export const call = Effect.fnUntraced(function* (
  session: Session.CommandSession,
  shown: Calling.Shown,
  events: Stream.Stream<CallEvent<CallToolResult>, ClientError>
) {
  let task: Created | undefined
  const handling = { asks: false, keeps: () => true, created: (created: Created) => void (task = created) }
  const attended = Stream.provideService(events, CurrentTaskHandling, handling)
  return yield* Calling.follow(session, shown, attended).pipe(
    Effect.onExit((exit) => {
      const error = Exit.findErrorOption(exit)
      return task === undefined || Exit.isSuccess(exit) || (error._tag === "Some" && isLost(error.value))
        ? Effect.void
        : Effect.ignore(Effect.timeoutOption(task.cancel, cancelTimeout))
    }),
    Effect.catchIf(isLost, (error) =>
      task === undefined ? Effect.fail(error) : recover(session, shown, task.id, error)
    )
  )
})
