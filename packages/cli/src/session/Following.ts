/** Follows a task: the task of a call, or a task that another command left. A task outlives the connection that it was made on. */
import { type Created, CurrentTaskHandling } from "@effect-mcp/client/internal/TaskHandling"
import type { CallEvent, ClientError } from "@effect-mcp/client/McpClient"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import type { Settings } from "../target/Settings.ts"
import type { CommandTarget } from "../target/Target.ts"
import type { CommandError } from "../terminal/Exit.ts"
import { safeLine } from "../terminal/Style.ts"
import * as Calling from "./Calling.ts"
import * as Session from "./Session.ts"

/** How long the end of a call waits until the server has cancelled its task. */
const cancelTimeout = "5 seconds"
/** How often, and after which pause, the task is looked for again when its server has gone away. */
const attempts = 60
const pause = "1 second"

/** Returns the messages of a task, then its result. */
const events = (
  { client, patient }: Session.CommandSession,
  id: string
): Stream.Stream<CallEvent<CallToolResult>, ClientError> =>
  Stream.unwrap(
    Effect.map(client.taskById(id, patient), ({ result, states }) =>
      Stream.concat(
        Stream.map(states, ({ message, status }) => ({
          _tag: "Progress" as const,
          progress: 0,
          message: message ?? status
        })),
        Stream.map(Stream.fromEffect(result), (value) => ({ _tag: "Result" as const, value }))
      )
    )
  )

const isGone = ({ _tag }: CommandError): boolean => _tag === "Closed" || _tag === "TransportError"
const isLost = (error: CommandError): boolean => isGone(error) || error._tag === "Timeout"

/** The command that gets the result of a task, without headers and variables: they may be secrets. */
const command = Effect.fnUntraced(function* (id: string, { config, server }: Settings, target: CommandTarget) {
  // Loaded when needed: it knows how to quote words without their secrets, and loads the fuzzer.
  const { quoted, serverWords } = yield* Effect.promise(() => import("../testing/Concluding.ts"))
  const result = `effect-mcp tasks result ${quoted(id)}`
  if (config === undefined) return `${result} -- ${serverWords(target)}`
  return `${result} --config ${quoted(config)}${server === undefined ? "" : ` --server ${quoted(server)}`}`
})

/** Follows the task over a new connection, again and again while its server cannot be reached. */
const again = (shown: Calling.Shown, id: string, left = attempts): ReturnType<typeof overAnother> =>
  Effect.catchIf(
    Effect.delay(overAnother(shown, id), pause),
    (error) => left > 1 && isGone(error),
    () => again(shown, id, left - 1)
  )

const overAnother = (shown: Calling.Shown, id: string) =>
  Session.use((session) => Calling.follow(session, shown, events(session, id)))

/** Says how to get at a task whose server was lost, and follows it on if the server can come back: a server over HTTP. */
const recover = Effect.fnUntraced(function* (
  { output, settings }: Session.CommandSession,
  shown: Calling.Shown,
  id: string,
  error: CommandError
) {
  const target = yield* Session.chosen(settings)
  yield* output.note(`The connection to the server was lost while it ran the task ${safeLine(id)}.`)
  yield* output.note(`If the server keeps its tasks, this gets the result: ${yield* command(id, settings, target)}`)
  if (target.mayDemandLogin !== true || !isGone(error)) return yield* Effect.fail(error)
  yield* output.note(output.noteStyle.dim(`[waiting] Trying to reach it again for ${attempts} seconds`))
  return yield* again(shown, id)
})

/** Shows a task by its id until it ends, then its result. Leaves the task alone when it is interrupted. */
export const follow = (session: Session.CommandSession, shown: Calling.Shown, id: string) =>
  Effect.catchIf(Calling.follow(session, shown, events(session, id)), isLost, (error) =>
    recover(session, shown, id, error)
  )

/** Shows a call until it ends, then its result. Cancels its task when it ends before the task does, unless the server was lost. */
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
