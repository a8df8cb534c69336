/**
 * `effect-mcp tasks`: calls that outlive their request, by the id that `call --detach` prints.
 *
 * A server identifies a task's owner by login or connection. If each command starts a new server process, it doesn't know earlier tasks.
 */
import { Tasks } from "@effect-mcp/tasks"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Calling from "../session/Calling.ts"
import { code, CommandFailure } from "../terminal/Exit.ts"
import * as Following from "../session/Following.ts"
import * as Render from "../render/Tasks.ts"
import { json } from "../render/Text.ts"
import * as Session from "../session/Session.ts"
import { safeLine } from "../terminal/Style.ts"
import { all, outputFile, print, progressEvents } from "./Shared.ts"

const id = Argument.String("id").pipe(Argument.withDescription("The task's id"))

const noList = (version: string): CommandFailure =>
  new CommandFailure({
    code: code.server,
    message: `Revision ${version} cannot list tasks. Read a task by the id that call --detach printed`
  })

const list = Command.make("list", {}, () =>
  Session.use(
    Effect.fnUntraced(function* (session) {
      const { listTasks, revision } = session.client
      const tasks = revision.era === "stateless" ? yield* noList(revision.version) : yield* all(listTasks)
      yield* print(session, tasks, (view) => Render.list(view, tasks))
    }),
    { leavesTasks: true }
  )
).pipe(
  Command.withDescription("List this caller's tasks, if the server can list them (2025-11-25)"),
  Command.withExamples([{ command: "effect-mcp tasks list -- https://example.com/mcp" }])
)

const get = Command.make("get", { id }, ({ id }) =>
  Session.use(
    Effect.fnUntraced(function* (session) {
      const { request, revision } = session.client
      const task =
        revision.era === "stateless"
          ? yield* request(Tasks.extension.requests.get, { taskId: id })
          : yield* request(Tasks.core.requests.get, { taskId: id })
      yield* print(session, task, (view) => Render.task(view, task))
    }),
    { leavesTasks: true }
  )
).pipe(
  Command.withDescription("Show a task's status and its questions"),
  Command.withExamples([{ command: "effect-mcp tasks get ID -- https://example.com/mcp" }])
)

const result = Command.make(
  "result",
  { id, progress: progressEvents, output: outputFile },
  ({ id, output, progress }) =>
    Session.use(
      Effect.fnUntraced(function* (session) {
        const shown = { asEvents: session.settings.json && progress, file: output }
        const result = yield* Following.follow(session, shown, id)
        if (result !== undefined) yield* Calling.failing(session, result)
      })
    )
).pipe(
  Command.withDescription("Follow a task to its end, answer its questions, print its result; Ctrl+C leaves it alone"),
  Command.withShortDescription("Follow a task to its end, and print its result"),
  Command.withExamples([
    { command: "effect-mcp tasks result ID -- https://example.com/mcp" },
    { command: "effect-mcp tasks result ID --answer name=Ada -- https://example.com/mcp", description: "Answer it" }
  ])
)

const cancel = Command.make("cancel", { id }, ({ id }) =>
  Session.use(
    Effect.fnUntraced(function* (session) {
      const { output, settings } = session
      const { request, revision } = session.client
      const answer =
        revision.era === "stateless"
          ? yield* request(Tasks.extension.requests.cancel, { taskId: id })
          : yield* request(Tasks.core.requests.cancel, { taskId: id })
      yield* output.line(settings.json ? json(answer) : `Cancelled ${safeLine(id)}`)
    }),
    { leavesTasks: true }
  )
).pipe(
  Command.withDescription("Cancel a task"),
  Command.withExamples([{ command: "effect-mcp tasks cancel ID -- https://example.com/mcp" }])
)

export const tasks = Command.make("tasks").pipe(
  Command.withDescription("Calls that outlive their request: list, get, result, cancel"),
  Command.withSubcommands([list, get, result, cancel])
)
