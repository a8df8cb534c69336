/** Tools for following tasks, for clients that don't support tasks. */
import * as Progress from "@effect-mcp/core/Progress"
import { RequestContext, type RequestServices } from "@effect-mcp/core/RequestContext"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import type { ToolRegistry } from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Answer, Task } from "../model/Task.ts"
import * as Decision from "./Decision.ts"
import { accepted } from "./FormAnswer.ts"
import { asksModel, formsFor, stateOf } from "./HandledCall.ts"
import { wait } from "./HandleWait.ts"
import type { Handles } from "./Handles.ts"
import { callerOf, ownerOf } from "./Owner.ts"
import { canonicalResult, resultOf, type Service } from "./Service.ts"

/** The tools' own limits don't apply: a wait ends by itself, a state is short, and a result was checked when its task ended. */
const unlimited = { limits: { time: "Infinity", bytes: Infinity } } as const
/** Interval at which a waiting tool reports progress, in milliseconds. Hosts may extend their time limit with each report. */
const reportInterval = 5000

const unknown = new Tools.ToolFailure({
  message:
    "Unknown task. It may have expired or belong to another caller. If you still need the result, call the tool again."
})

type Failure = Tools.ToolFailure | McpError.McpError

/** Finds the caller's tasks, and waits for them. */
class Following {
  readonly service: Service
  readonly handles: Handles

  constructor(service: Service, handles: Handles) {
    this.service = service
    this.handles = handles
  }

  /** Runs a tool's handler, unless the client follows tasks by itself. For such clients the tool doesn't exist. */
  readonly offered = <A, E, R>(name: string, use: (owner: string) => Effect.Effect<A, E, R>) =>
    Effect.flatMap(Effect.context<RequestServices>(), (context) =>
      Effect.flatMap(RequestContext, (request): Effect.Effect<A, E | McpError.McpError, R> =>
        Decision.followsTasks(request) || (name === this.handles.names.answer && !asksModel(this.handles, request))
          ? Effect.fail(McpError.unknownTool(name))
          : use(ownerOf(this.service.store, context))
      )
    )

  /** Waits for a task, and reports its message as progress so that the host keeps waiting. */
  readonly wait = (id: string, owner: string): Effect.Effect<Task, Failure, RequestServices> =>
    Effect.gen({ self: this }, function* () {
      const { handles, service } = this
      const caller = callerOf(owner, yield* Effect.context<RequestServices>())
      let message: string | undefined
      const seen = (task: Task) => {
        message = task.message
      }
      const waiting = wait(service, { id, owner, patience: handles.answerWithin, seen })
      const { report, wanted } = yield* Progress.Progress
      let seconds = 0
      const reporting = Effect.forever(
        Effect.andThen(
          Effect.sleep(reportInterval),
          Effect.suspend(() => report((seconds += reportInterval / 1000), { message }))
        )
      )
      const held = service.waits.hold(caller, wanted ? Effect.raceFirst(waiting, reporting) : waiting)
      return yield* Effect.mapError(held, (error) => (error.code === McpError.InvalidParams ? unknown : error))
    })

  readonly state = (task: Task): Effect.Effect<CallToolResult, never, RequestServices> => stateOf(this.handles, task)

  readonly result = (task: Task): Effect.Effect<CallToolResult, McpError.McpError, RequestServices> =>
    task.outcome === undefined || task.outcome._tag === "Cancelled"
      ? this.state(task)
      : Effect.flatMap(resultOf(task.outcome), canonicalResult)

  readonly cancel = (id: string, owner: string): Effect.Effect<Task, Tools.ToolFailure> =>
    Effect.gen({ self: this }, function* () {
      const { routes, store } = this.service
      // A caller who does not own the task must not end anything.
      if (Option.isNone(yield* store.get(id, owner))) return yield* unknown
      routes.silence(id)
      const task = yield* store.cancel(id, owner, "Cancelled by the client")
      routes.ended(id)
      return yield* Option.isSome(task) ? Effect.succeed(task.value) : Effect.fail(unknown)
    })

  /** Answers a form for the user. */
  readonly answer = (
    id: string,
    owner: string,
    { action = "accept", content = {}, question }: AnswerInput
  ): Effect.Effect<void, Failure, RequestContext> =>
    Effect.gen({ self: this }, function* () {
      const { store } = this.service
      const task = yield* store.get(id, owner)
      if (Option.isNone(task)) return yield* unknown
      const forms = formsFor(this.handles, yield* RequestContext, task.value)
      const [form, ...others] = forms.filter(([key]) => question === undefined || key === question)
      if (form === undefined)
        return yield* new Tools.ToolFailure({ message: "The task has no open question with that key" })
      const [key, asked] = form
      if (others.length > 0) {
        const keys = forms.map(([key]) => key).join(", ")
        return yield* new Tools.ToolFailure({ message: `Several questions are open. Pass one of: ${keys}` })
      }
      const answer: Answer =
        action === "accept" ? yield* accepted(asked, content) : { _tag: "Result", result: { action } }
      return yield* Effect.mapError(
        store.answer(id, owner, { [key]: answer }),
        ({ message }) => new Tools.ToolFailure({ message })
      )
    })
}

const taskId = Schema.String.annotate({ description: "The taskId that a tool returned" })

const AnswerInput = Schema.Struct({
  taskId,
  question: Schema.optionalKey(
    Schema.String.annotate({ description: "The question to answer. Required if several are open" })
  ),
  action: Schema.optionalKey(
    Schema.Literals(["accept", "decline", "cancel"]).annotate({
      description: "The user's decision: accept (default), decline, or cancel to dismiss the question"
    })
  ),
  content: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Json).annotate({
      description: "The user's answer, matching the question's schema. Only for accept"
    })
  )
})
type AnswerInput = Omit<typeof AnswerInput.Type, "taskId">

/** Registers the tools. A name that is already taken is a defect; `prefix` changes the names. */
export const layer = (service: Service, handles: Handles): Layer.Layer<never, never, ToolRegistry> => {
  const following = new Following(service, handles)
  const { names } = handles
  const seconds = Math.round(handles.answerWithin / 1000)
  const waits = seconds === 0 ? "Returns at once" : `Waits up to ${seconds} seconds`
  const Status = Tool.make(names.status, {
    title: "Task status",
    description: `Waits for a task and returns its status. ${waits}, so call it again while the task is running.`,
    annotations: { readOnlyHint: true, openWorldHint: false },
    input: { taskId }
  })
  const Result = Tool.make(names.result, {
    title: "Task result",
    description: `Returns the result of a task that has ended. ${waits} for the end. If the task is still running, returns its status.`,
    annotations: { readOnlyHint: true, openWorldHint: false },
    input: { taskId }
  })
  const Cancel = Tool.make(names.cancel, {
    title: "Cancel a task",
    description: "Cancels a running task whose result is no longer needed.",
    annotations: { destructiveHint: true, idempotentHint: true, openWorldHint: false },
    input: { taskId }
  })
  const AnswerTool = Tool.make(names.answer, {
    title: "Answer a task",
    description: `Answers a task's question with the user's answer. Ask the user first; never make up an answer. Then ${waits.toLowerCase()} and returns the task's status.`,
    annotations: { destructiveHint: true, openWorldHint: false },
    input: AnswerInput
  })
  const tools = [
    Tools.layer(
      Status,
      ({ taskId }) =>
        following.offered(names.status, (owner) => Effect.flatMap(following.wait(taskId, owner), following.state)),
      unlimited
    ),
    Tools.layer(
      Result,
      ({ taskId }) =>
        following.offered(names.result, (owner) => Effect.flatMap(following.wait(taskId, owner), following.result)),
      unlimited
    ),
    Tools.layer(
      Cancel,
      ({ taskId }) =>
        following.offered(names.cancel, (owner) => Effect.flatMap(following.cancel(taskId, owner), following.state)),
      unlimited
    )
  ] as const
  const answer = Tools.layer(
    AnswerTool,
    ({ taskId, ...given }) =>
      following.offered(names.answer, (owner) =>
        Effect.andThen(
          following.answer(taskId, owner, given),
          Effect.flatMap(following.wait(taskId, owner), following.state)
        )
      ),
    unlimited
  )
  return handles.askModel ? Layer.mergeAll(...tools, answer) : Layer.mergeAll(...tools)
}
