/**
 * Responds to a call from a client that doesn't support tasks, with its result if that is available soon, or else with a handle.
 *
 * The call runs as a task from the start, so the handler runs once in either case.
 */
import { ClientInput } from "@effect-mcp/core/ClientInput"
import * as Progress from "@effect-mcp/core/Progress"
import { RequestContext, type RequestServices } from "@effect-mcp/core/RequestContext"
import type { ClientCapabilities } from "@effect-mcp/protocol/Capabilities"
import type * as McpError from "@effect-mcp/protocol/McpError"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import * as Effect from "effect/Effect"
import type { Question, Task } from "../model/Task.ts"
import { begun, type TaskCall } from "./Creation.ts"
import * as Decision from "./Decision.ts"
import { canAskOneOf, ofRequest } from "./Destination.ts"
import { formsOf, stateResult } from "./HandleText.ts"
import { wait } from "./HandleWait.ts"
import type { Handles } from "./Handles.ts"
import { canonicalResult, resultOf, type Service } from "./Service.ts"
import type { ReportProgress } from "./TaskRoutes.ts"

type Request = Pick<RequestContext["Service"], "clientCapabilities" | "revision">

/** True if the model answers forms for this request's client, which has no elicitation. */
export const asksModel = ({ askModel }: Handles, { clientCapabilities, revision }: Request): boolean =>
  askModel &&
  revision.rules.elicitation.form &&
  !Decision.followsTasks({ clientCapabilities, revision }) &&
  clientCapabilities.elicitation === undefined

/** Returns the task's questions that the model may answer in this request. */
export const formsFor = (handles: Handles, request: Request, task: Task): ReadonlyArray<readonly [string, Question]> =>
  asksModel(handles, request) ? formsOf(task) : []

/** Describes a task's state to the model that made the current request. `first` starts the text. */
export const stateOf = (
  handles: Handles,
  task: Task,
  first?: string
): Effect.Effect<CallToolResult, never, RequestServices> =>
  Effect.gen(function* () {
    const request = yield* RequestContext
    const mayAsk = canAskOneOf(ofRequest(request, yield* ClientInput), task)
    return stateResult(task, handles.names, { forms: formsFor(handles, request, task), mayAsk, first })
  })

const withForms = (declared: ClientCapabilities): ClientCapabilities => ({ ...declared, elicitation: { form: {} } })

/** Reports progress on the request until it ends. The task must not keep the request alive. */
const reporting: Effect.Effect<ReportProgress, never, RequestServices> = Effect.gen(function* () {
  let report: ReportProgress | undefined = (yield* Progress.Progress).report
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      report = undefined
    })
  )
  return (...progress) => Effect.suspend(() => report?.(...progress) ?? Effect.void)
})

/**
 * Runs the call as a task, and responds with its result, or with a handle. A client with a session is asked in the call. Without sessions a
 * question would end the round, and if the client never continued, nobody would know the task. So there the handle comes first.
 */
export const answered = (
  service: Service,
  handles: Handles,
  call: TaskCall
): Effect.Effect<CallToolResult, McpError.McpError, RequestServices> =>
  Effect.gen(function* () {
    const request = yield* RequestContext
    const { owner, task: started } = yield* begun(service, call, {
      ttl: service.ttl,
      session: () => undefined,
      asks: asksModel(handles, request) ? withForms : undefined,
      report: yield* reporting
    })
    const asks = request.revision.era === "stateful"
    const task = yield* wait(service, { id: started.id, owner, patience: handles.answerWithin, asks })
    if (task.outcome !== undefined) return yield* Effect.flatMap(resultOf(task.outcome), canonicalResult)
    return yield* stateOf(handles, task, `The call to ${call.params.name} continues as a task. `)
  })
