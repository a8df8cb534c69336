/** The session behind the page: a connection to the server, and everything that the user did with it. */
import * as Revision from "@effect-mcp/protocol/Revision"
import type { Root } from "@effect-mcp/protocol/model/Root"
import { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import type { PageCommand } from "../messages/Commands.ts"
import { Board } from "./Board.ts"
import * as Connections from "./Connections.ts"
import * as History from "./History.ts"
import type { Options, ViewedCall } from "./Options.ts"
import { OpenQuestions } from "./Questions.ts"
import * as Runs from "./Runs.ts"

/** The command cannot be executed now. `message` says why. */
export class CommandUnavailable extends Data.TaggedError("CommandUnavailable")<{ readonly message: string }> {}

type Answer = { readonly [name: string]: unknown }

export interface UiSession {
  readonly board: Board
  /** Executes a command from the page, and returns the JSON to answer with. */
  readonly perform: (command: PageCommand) => Effect.Effect<Answer, CommandUnavailable>
}

/** Commands that need a connection. */
type Talk = Exclude<
  PageCommand,
  { readonly _tag: "Answer" | "Cancel" | "Connect" | "Disconnect" | "Forget" | "Settings" }
>

const nothing: Answer = {}
const unavailable = (message: string) => Effect.fail(new CommandUnavailable({ message }))

/** Parts of a session that execute commands. */
interface Doing {
  readonly board: Board
  readonly runs: Effect.Success<ReturnType<typeof Runs.make>>
  readonly view: Options["view"]
  readonly origin: string
}

/** Maximum number of tasks to list. */
const mostTasks = 500
/** Maximum number of views that are served at once. The oldest is closed. */
const mostViews = 8

/** Returns a function that serves a view in a scope that a connection's end closes, or a later view. */
const opening = (view: NonNullable<Options["view"]>) => {
  const open: Array<Scope.Closeable> = []
  return Effect.fnUntraced(function* ({ client, scope }: Connections.CurrentConnection, call: ViewedCall) {
    const own = yield* Scope.fork(scope)
    open.push(own)
    const [oldest] = open.length > mostViews ? open.splice(0, 1) : []
    if (oldest !== undefined) yield* Scope.close(oldest, Exit.void)
    return yield* Scope.provide(view(client, call), own)
  })
}

const isResult = Schema.is(CallToolResult)

/** Executes commands that need a connection. */
const talking = ({ board, origin, runs, view }: Doing) => {
  const openView = view && opening(view)
  const start = (connection: Runs.Connected, begun: Runs.UserRequest) =>
    Effect.map(runs.start(connection, begun), (run): Answer => ({ run }))

  return (
    connection: Connections.CurrentConnection,
    command: Talk
  ): Effect.Effect<Answer, { readonly message: string }> => {
    const { client, watching } = connection
    switch (command._tag) {
      case "Call": {
        const { arguments: input, task, tool } = command
        return start(connection, { kind: "tool", name: tool, input, asTask: task })
      }
      case "Read":
        return start(connection, { kind: "resource", name: command.uri, input: {}, asTask: false })
      case "Get":
        return start(connection, { kind: "prompt", name: command.prompt, input: command.arguments, asTask: false })
      case "Ping":
        return start(connection, { kind: "ping", name: "ping", input: {}, asTask: false })
      case "Follow":
        return start(connection, { kind: "task", name: command.task, input: {}, asTask: true })
      case "Tasks":
        return Effect.map(Stream.runCollect(Stream.take(client.listTasks, mostTasks)), (tasks) => ({ tasks }))
      case "Refresh":
        return Effect.as(Connections.refresh(board, client), nothing)
      case "Complete": {
        const { argument, others, ref } = command
        const context = Object.keys(others).length > 0 ? { context: { arguments: others } } : undefined
        return Effect.map(client.complete({ ref, argument, ...context }), ({ values }) => ({ values }))
      }
      case "Watch":
        return Effect.as(command.on ? watching.watch(command.uri) : watching.unwatch(command.uri), nothing)
      case "LogLevel":
        return Effect.as(client.setLogLevel(command.level), nothing)
      default: {
        if (openView === undefined) return unavailable("Views can't be opened here")
        const run = board.state.runs.find(({ id }) => id === command.run)
        if (run?.kind !== "tool" || !isResult(run.result)) {
          return unavailable(`Run ${command.run} has no result that a view could show`)
        }
        const call = { tool: run.name, arguments: run.input, result: run.result, embedder: origin }
        return Effect.map(openView(connection, call), (url) => ({ url }))
      }
    }
  }
}

/** Opens a session for a page at this origin, and connects for the first time. It ends with its scope. */
export const make = Effect.fnUntraced(function* <R>(options: Options<R>, origin: string) {
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()
  const history = yield* History.open(options.history)
  const roots = yield* SubscriptionRef.make<ReadonlyArray<Root>>(options.roots ?? [])
  const { name, replies = [], revision, url, view, words } = options
  const board = new Board({
    name: { name, words, url, hasViews: view !== undefined },
    revisions: Revision.all.map(({ version }) => version),
    runs: history.runs,
    settings: { roots: options.roots ?? [], replies }
  })
  const questions = new OpenQuestions(board, now)
  const connections = yield* Connections.make(options, { board, questions, roots, now })
  const runs = yield* Runs.make(board, history, now)

  const talk = talking({ board, origin, runs, view })

  const perform = (command: PageCommand): Effect.Effect<Answer, { readonly message: string }> => {
    switch (command._tag) {
      case "Connect":
        return Effect.as(connections.connect(command.revision), nothing)
      case "Disconnect":
        return Effect.as(connections.disconnect, nothing)
      case "Cancel":
        return Effect.as(runs.cancel(command.run), nothing)
      case "Answer":
        return questions.answer(command)
          ? Effect.succeed(nothing)
          : unavailable("The question no longer waits for an answer")
      case "Settings": {
        const { replies, roots: next } = command
        questions.restartReplies()
        board.settings({ roots: next, replies })
        return Effect.as(SubscriptionRef.set(roots, next), nothing)
      }
      case "Forget":
        board.runs(board.state.runs.filter(({ status }) => status === "running"))
        return Effect.as(history.forget, nothing)
      default: {
        const current = connections.current()
        return current === undefined
          ? unavailable("There is no connection. Connect first")
          : Effect.provideService(talk(current, command), FetchHttpClient.Fetch, current.fetch)
      }
    }
  }

  yield* connections.connect(revision ?? null)
  const session: UiSession = {
    board,
    perform: (command) =>
      Effect.suspend(() => perform(command)).pipe(
        // A program's function may throw.
        Effect.catchDefect((defect) =>
          Effect.andThen(
            Effect.logError(`The command ${command._tag} failed`, defect),
            unavailable(`The command ${command._tag} failed: ${String(defect)}`)
          )
        ),
        Effect.mapError(({ message }) => new CommandUnavailable({ message }))
      )
  }
  return session
})
