/** Requests that the user makes: each runs in a separate fiber, reports to the board, and can be cancelled. */
import type { ClientError } from "@effect-mcp/client/ClientError"
import type * as McpClient from "@effect-mcp/client/McpClient"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberMap from "effect/FiberMap"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { UserRun, RunError } from "../messages/Events.ts"
import { type Board, cut } from "./Board.ts"
import type { RunHistory } from "./History.ts"
import type { WireRecorder } from "./Recorder.ts"

/** A client with the recorder of its connection. */
export interface Connected {
  readonly client: McpClient.Client
  readonly recorder: WireRecorder
  /** Sends the HTTP requests of this connection. */
  readonly fetch: typeof globalThis.fetch
}

/** Number of progress events and task states that a run keeps. */
const mostEvents = 50
/** Maximum length of their messages, and of an error's, in characters. */
const mostMessage = 2000
const cutMessage = (message: string | undefined) => message && cut(message, mostMessage)

/** The error, as shown on the page. */
const errorOf = (error: ClientError): RunError => ({
  tag: error._tag,
  message: cut(error.message, mostMessage),
  ...("code" in error && typeof error.code === "number" ? { code: error.code } : undefined),
  ...("data" in error ? { data: error.data } : undefined)
})

const outcomeOf = (exit: Exit.Exit<unknown, ClientError>): Pick<UserRun, "error" | "result" | "status"> => {
  if (Exit.isSuccess(exit)) return { status: "done", result: exit.value }
  if (Cause.hasInterruptsOnly(exit.cause)) return { status: "cancelled" }
  const failure = Option.getOrUndefined(Exit.findErrorOption(exit))
  const error = failure === undefined ? { tag: "Defect", message: Cause.pretty(exit.cause) } : errorOf(failure)
  return { status: error.tag === "TaskCancelled" ? "cancelled" : "failed", error }
}

/** A request before it is sent. */
export type UserRequest = Pick<UserRun, "asTask" | "input" | "kind" | "name">

/** A run's request, with the options for sending it. */
type Body = (connected: Connected, options: McpClient.CallOptions, run: LiveRun) => Effect.Effect<unknown, ClientError>

/** A run that has not ended. */
class LiveRun {
  current: UserRun
  /** Cancels the run's task on the server. */
  cancelTask: Effect.Effect<void, ClientError> | undefined
  private readonly board: Board
  readonly now: () => number

  constructor(run: UserRun, board: Board, now: () => number) {
    this.current = run
    this.board = board
    this.now = now
    board.run(run)
  }

  change(part: Partial<UserRun>): void {
    this.current = { ...this.current, ...part }
    this.board.run(this.current)
  }

  options(recorder: WireRecorder): McpClient.CallOptions {
    return {
      // A person may take minutes to answer a question, and can cancel.
      timeout: Duration.infinity,
      maxTotal: Duration.infinity,
      fresh: true,
      onSend: (id) => recorder.belongs(this.current.id, id),
      onProgress: ({ message, progress, total }) =>
        this.change({
          progress: [...this.current.progress, { at: this.now(), progress, total, message: cutMessage(message) }].slice(
            -mostEvents
          )
        })
    }
  }

  end(exit: Exit.Exit<unknown, ClientError>): UserRun {
    const ended = { ...this.current, ...outcomeOf(exit), took: this.now() - this.current.startedAt }
    this.change({ ...ended, size: JSON.stringify(ended).length })
    return this.current
  }
}

/** Follows the states of a task until it has a result. A call that did not become a task has only a result. */
const followed = Effect.fnUntraced(function* (
  run: LiveRun,
  { cancel, id, result, states }: McpClient.TaskHandle<CallToolResult>
): Effect.fn.Return<CallToolResult, ClientError> {
  if (id === undefined) return yield* result
  run.cancelTask = cancel
  const noted = Stream.runForEach(states, ({ message, status }) =>
    Effect.sync(() => {
      const state = { at: run.now(), id, status, message: cutMessage(message) }
      run.change({ tasks: [...run.current.tasks, state].slice(-mostEvents) })
    })
  )
  yield* Effect.forkChild(noted)
  return yield* result
})

const bodyOf = ({ asTask, input, kind, name }: UserRequest): Body => {
  switch (kind) {
    case "tool":
      return ({ client }, options, run): Effect.Effect<unknown, ClientError> =>
        asTask
          ? Effect.flatMap(client.startByName(name, input, options), (handle) => followed(run, handle))
          : client.callToolByName(name, input, options)
    case "task":
      return ({ client }, options, run) =>
        Effect.flatMap(client.taskById(name, options), (handle) => followed(run, handle))
    case "resource":
      return ({ client }, options) => client.readResource(name, options)
    case "ping":
      return ({ client }) => Effect.map(client.ping, (took) => ({ milliseconds: Duration.toMillis(took) }))
    default: {
      const texts = Object.fromEntries(Object.entries(input).map(([key, value]) => [key, String(value)]))
      return ({ client }, options) => client.getPromptByName(name, texts, options)
    }
  }
}

/** Creates a session's runs. */
export const make = Effect.fnUntraced(function* (board: Board, history: RunHistory, now: () => number) {
  const fibers = yield* FiberMap.make<number>()
  const live = new Map<number, LiveRun>()
  let last = Math.max(0, ...history.runs.map(({ id }) => id))
  /** Starts a request, and returns its ID at once. */
  const start = (connected: Connected, begun: UserRequest): Effect.Effect<number> =>
    Effect.suspend(() => {
      const id = ++last
      const revision = connected.client.revision.version
      const fresh: UserRun = { ...begun, id, revision, startedAt: now(), status: "running", progress: [], tasks: [] }
      const run = new LiveRun(fresh, board, now)
      live.set(id, run)
      const body = bodyOf(begun)(connected, run.options(connected.recorder), run)
      const running = Effect.onExit(body, (exit) => {
        live.delete(id)
        return history.add(run.end(exit))
      })
      return Effect.as(FiberMap.run(fibers, id, Effect.ignore(running)), id)
    })
  /** Cancels a run: its task if there is one, otherwise its request. */
  const cancel = (id: number): Effect.Effect<void, ClientError> =>
    Effect.suspend(() => {
      const { cancelTask } = live.get(id) ?? {}
      return cancelTask ?? FiberMap.remove(fibers, id)
    })
  return { start, cancel }
})
