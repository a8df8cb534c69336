/**
 * Runs a task's handler, first right after its creation, and later in any process that has claimed it.
 *
 * Both paths provide the same services, built from the task's row.
 */
import { isEncodedResult } from "@effect-mcp/core/EncodedResult"
import type { ToolRegistry } from "@effect-mcp/core/Tools"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as McpError from "@effect-mcp/protocol/McpError"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import type { CallToolParams } from "@effect-mcp/protocol/model/Tool"
import * as Detached from "@effect-mcp/server/Detached"
import type * as Middleware from "@effect-mcp/server/Middleware"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as ClientFacts from "../run/ClientFacts.ts"
import * as TaskInput from "../run/TaskInput.ts"
import type { About, Attempt } from "../run/Attempt.ts"
import type { Claimed, Entry, Lease } from "../store/Journal.ts"
import { bytesOf } from "../store/Row.ts"
import type { Service } from "./Service.ts"
import type { ReportProgress } from "./TaskRoutes.ts"

/** The parts needed to run a task: its server's tools and the middleware around them. */
export interface Executing {
  readonly tools: ToolRegistry["Service"]
  readonly middleware: Middleware.MiddlewareRegistry["Service"]
}

/**
 * Converts a tool's result to its stored form. Only tools produce such a result, because nothing that encodes runs inside the creation.
 * Fails if it is larger than a task may keep.
 */
const stored = (
  result: Effect.Success<Middleware.Next>,
  most: number
): Effect.Effect<JsonObject, McpError.McpError> => {
  if (isEncodedResult(result)) return Effect.die(new Error("A task cannot end with an encoded result"))
  const bytes = bytesOf(result)
  if (bytes <= most) return Effect.succeed(result)
  return McpError.limitExceeded(`The task's result is too large: ${bytes} bytes, limit ${most}. Return less data`)
}

/** Truncates the error to the size that a task may keep. */
const fittingError = ({ code, data, message }: McpError.McpError, most: number): McpError.McpError =>
  new McpError.McpError({
    code,
    message: bytesOf(message) <= most ? message : excerpt(message),
    ...(data === undefined || bytesOf(data) > most ? undefined : { data })
  })

/**
 * Creates a run of a tool call for a leased task. `entries` were recorded by earlier runs. `report` receives the handler's progress instead of
 * the task's routes.
 */
export const attemptOf = (
  { journal, resultBytes, routes, supervisor }: Service,
  lease: Lease,
  about: About,
  entries: ReadonlyArray<Entry>,
  call: Middleware.Next,
  report: ReportProgress = (...progress) => routes.report(lease.task, ...progress)
): Attempt => {
  const { before, facts } = about.client
  const { clientCapabilities: capabilities, revision } = facts
  const input = TaskInput.make({ journal, lease, entries, before, client: { revision, capabilities } })
  const handler = Detached.provide(call, facts, {
    input,
    progress: (progress, options) =>
      Effect.suspend(() => {
        supervisor.progress(lease, { progress, ...options })
        return report(progress, options)
      })
  })
  // An interrupted handler may run again.
  const over = (exit: Exit.Exit<unknown, unknown>) =>
    Effect.sync(() =>
      Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause) ? undefined : routes.silence(lease.task)
    )
  const unlike = (unmet: ReadonlyArray<string>) =>
    Effect.ignoreCause(
      Effect.logWarning(
        `The handler of task ${lease.task} did not reach steps that an earlier run recorded: ${unmet.join(", ")}`
      )
    )
  const ended = Effect.matchEffect(handler, {
    onFailure: (error) => Effect.fail(fittingError(error, resultBytes)),
    onSuccess: (result) => {
      const unmet = input.unmet()
      const kept = stored(result, resultBytes)
      return unmet.length === 0 ? kept : Effect.andThen(unlike(unmet), kept)
    }
  })
  return { handler: Effect.onExit(ended, over), activity: input.activity, canPark: true, about }
}

/** Returns the tool call as the task runs it, independently of the request that created the task. */
export const execution = ({ middleware, tools }: Executing, params: CallToolParams): Middleware.Next =>
  middleware.inTask({ method: "tools/call", params }, (request) =>
    request.method === "tools/call"
      ? tools.call(request.params)
      : Effect.die(new Error(`Only tools/call can run as a task, not ${request.method}`))
  )

/** Runs a claimed task, using the tool that it names. */
export const again =
  (service: Service, executing: Executing) =>
  ({
    attempts: attempt,
    entries,
    input,
    lease,
    task: { createdAt }
  }: Claimed): Effect.Effect<Attempt, McpError.McpError> =>
    Effect.gen(function* () {
      const client = yield* ClientFacts.read(input.client)
      if (executing.tools.find(input.tool, client.facts.principal) === undefined) {
        return yield* McpError.internalError(
          `The task's tool ${input.tool} no longer exists, or is hidden from the caller`
        )
      }
      const { arguments: args } = input.input
      const params = { name: input.tool, arguments: isJsonObject(args) ? args : {} }
      const about = { tool: input.tool, owner: input.owner, createdAt, attempt, client }
      return attemptOf(service, lease, about, entries, execution(executing, params))
    })
