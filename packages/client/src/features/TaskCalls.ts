/** Calls in the background. Each runs in a fiber of the client, which follows the task that the call becomes. */
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { CallOptions } from "../CallOptions.ts"
import { type ClientError, Closed } from "../ClientError.ts"
import type { ResultExchange } from "../extension/ClientExtension.ts"
import { Hub } from "../internal/Hub.ts"
import { expanded } from "../internal/streams.ts"
import type { ReconnectingConnection } from "../reconnect/ReconnectingConnection.ts"
import { type Created, CurrentTaskHandling, notFollowed } from "../tasks/TaskHandling.ts"
import type { StartOptions, TaskHandle, TaskMembers } from "../tasks/TaskHandle.ts"
import * as Tasks from "../tasks/Tasks.ts"
import type { TaskState } from "../tasks/TaskState.ts"
import type { Calls } from "./Calls.ts"
import * as Lists from "./Lists.ts"

export interface Options {
  readonly calls: Calls
  readonly connection: ReconnectingConnection
  readonly exchange: (method: string, params: {}, options: CallOptions) => ResultExchange
  readonly limits: Lists.ListLimits
  readonly scope: Scope.Scope
}

/** Number of task states to keep for a slow reader. The oldest are dropped. */
const capacity = 64

/** Runs a call in a scope. Returns once the call has become a task or succeeded. */
const started = <A, E>(
  call: Effect.Effect<A, E>,
  { follow, ttl }: StartOptions,
  scope: Scope.Scope
): Effect.Effect<TaskHandle<A, E | ClientError>, E | ClientError> =>
  Effect.uninterruptibleMask(
    Effect.fnUntraced(function* (restore) {
      const created = Deferred.makeUnsafe<Created>()
      const hub = new Hub<TaskState>()
      let last: TaskState | undefined
      let isDetached = false
      let isKept = true
      const handling = {
        asks: false,
        prefers: true,
        follows: follow,
        keeps: () => isKept,
        ttl: ttl === undefined ? undefined : Duration.toMillis(Duration.fromInputUnsafe(ttl)),
        created: (task: Created) => Deferred.doneUnsafe(created, Effect.succeed(task)),
        observed: (state: TaskState) => {
          last = state
          hub.publish(state)
        }
      }
      const fiber = yield* Effect.forkIn(Effect.provideService(call, CurrentTaskHandling, handling), scope, {
        startImmediately: true
      })
      fiber.addObserver(() => hub.close(Exit.void))
      const result = Effect.flatMap(Fiber.await(fiber), (exit): Effect.Effect<A, E | ClientError> => {
        if (Exit.isSuccess(exit) || !Cause.hasInterruptsOnly(exit.cause)) return exit
        return Effect.fail(isDetached ? notFollowed() : new Closed({ message: "The client is closed" }))
      })
      // Only interruptible here, because an interruption between the fork and `onInterrupt` would leave the call running without a handle.
      const task = yield* restore(Effect.raceFirst(Deferred.await(created), Effect.as(result, undefined))).pipe(
        Effect.onInterrupt(() => {
          isKept = false
          return Fiber.interrupt(fiber)
        })
      )
      return {
        id: task?.id,
        states: Stream.suspend(() => hub.stream(capacity, ...(last === undefined ? [] : [last]))),
        result,
        cancel: task?.cancel ?? Effect.void,
        detach: Effect.suspend(() => {
          isDetached = true
          return Fiber.interrupt(fiber)
        })
      }
    })
  )

export const make = ({ calls, connection, exchange, limits, scope }: Options): TaskMembers => {
  const resumed = (id: string, options: CallOptions): Effect.Effect<CallToolResult, ClientError> =>
    Effect.flatMap(Tasks.resume(id, exchange("tools/call", {}, options)), (wire) =>
      connection.decode("tools/call", wire)
    )
  return {
    start: (tool, input, options = {}) => started(calls.callTool(tool, input, options), options, scope),
    startByName: (name, args, options = {}) => started(calls.callToolByName(name, args, options), options, scope),
    task: (tool, id, options = {}) =>
      started(
        Effect.flatMap(resumed(id, options), (result) => calls.typed(tool, result)),
        {},
        scope
      ),
    taskById: (id, options = {}) => started(resumed(id, options), {}, scope),
    listTasks: Stream.suspend(() => {
      const page = Tasks.list(exchange("tasks/list", {}, {}))
      return expanded(Lists.pagesOf("tasks/list", limits, page), ({ tasks }) => Effect.succeed(tasks))
    })
  }
}
