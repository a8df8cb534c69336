/**
 * How the handler of a task runs: right after its creation, and again in any process that has claimed it.
 *
 * Both ways give it the same services, made of what the row of the task keeps.
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

/** What a task runs: the tools of its server, with the middleware around them. */
export interface Executing {
  readonly tools: ToolRegistry["Service"]
  readonly middleware: Middleware.MiddlewareRegistry["Service"]
}

/** The result of a tool, as it is stored. Only a tool gives it: nothing that encodes lies inside of the creation. Fails for one that is longer than a task may keep. */
const stored = (
  result: Effect.Success<Middleware.Next>,
  most: number
): Effect.Effect<JsonObject, McpError.McpError> => {
  if (isEncodedResult(result)) return Effect.die(new Error("A task cannot end with an encoded result"))
  const bytes = bytesOf(result)
  if (bytes <= most) return Effect.succeed(result)
  return McpError.limitExceeded(`The result of the task has ${bytes} bytes, and tasks keep ${most}: return less`)
}

/** The error with what of it a task may keep. */
const fittingError = ({ code, data, message }: McpError.McpError, most: number): McpError.McpError =>
  new McpError.McpError({
    code,
    message: bytesOf(message) <= most ? message : excerpt(message),
    ...(data === undefined || bytesOf(data) > most ? undefined : { data })
  })

/** A run of the call of a tool as the task of a lease. `entries`: what earlier runs recorded. */
export const attemptOf = (
  { journal, resultBytes, routes, supervisor }: Service,
  lease: Lease,
  about: About,
  entries: ReadonlyArray<Entry>,
  call: Middleware.Next
): Attempt => {
  const { before, facts } = about.client
  const { clientCapabilities: capabilities, revision } = facts
  const input = TaskInput.make({ journal, lease, entries, before, client: { revision, capabilities } })
  const handler = Detached.provide(call, facts, {
    input,
    progress: (progress, options) =>
      Effect.suspend(() => {
        supervisor.progress(lease, { progress, ...options })
        return routes.report(lease.task, progress, options)
      })
  })
  // What is interrupted may run again.
  const over = (exit: Exit.Exit<unknown, unknown>) =>
    Effect.sync(() =>
      Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause) ? undefined : routes.silence(lease.task)
    )
  const unlike = (unmet: ReadonlyArray<string>) =>
    Effect.ignoreCause(
      Effect.logWarning(`The task ${lease.task} recorded what its handler did not come to again: ${unmet.join(", ")}`)
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

/** The call of a tool as the task runs it: nothing of the request that made the task is a part of it. */
export const execution = ({ middleware, tools }: Executing, params: CallToolParams): Middleware.Next =>
  middleware.inTask({ method: "tools/call", params }, (request) =>
    request.method === "tools/call"
      ? tools.call(request.params)
      : Effect.die(new Error(`A task runs tools/call, not ${request.method}`))
  )

/** The run of a task that was claimed, by the tool of its name. */
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
        return yield* McpError.internalError(`The tool ${input.tool} is not there any more for the caller of the task`)
      }
      const { arguments: args } = input.input
      const params = { name: input.tool, arguments: isJsonObject(args) ? args : {} }
      const about = { tool: input.tool, owner: input.owner, createdAt, attempt, client }
      return attemptOf(service, lease, about, entries, execution(executing, params))
    })
