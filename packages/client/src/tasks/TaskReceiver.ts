/**
 * Lets the client run tasks (spec 2025-11-25: basic/utilities/tasks). Questions that the server asks as tasks are answered in the
 * background, and the server uses separate requests to poll them, cancel them and get their results.
 *
 * Without a receiver, and in all other revisions, the client answers within the request.
 */
import type { TaskCapabilities } from "@effect-mcp/protocol/Capabilities"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Cause from "effect/Cause"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { type EncodedAnswer, type Receiver, TaskReceiver } from "./Receiver.ts"
import { isTerminal, type TaskStatus } from "./TaskState.ts"

export { type Receiver, TaskReceiver } from "./Receiver.ts"

export interface Options {
  /** How long to keep a task after its creation if the server doesn't specify it. Default 1 hour. */
  readonly ttl?: Duration.Input | undefined
  /** Maximum time to keep a task. If the task is still running by then, it fails. Default 1 day. */
  readonly maxTtl?: Duration.Input | undefined
  /** How long the server should wait between polls. Default 1 second. */
  readonly pollInterval?: Duration.Input | undefined
  /** Maximum number of open tasks per client. Further ones are rejected with -31429. Default 64. */
  readonly maxOpen?: number | undefined
  /** Maximum number of tasks per client, including finished tasks that are still kept. Default 1024. */
  readonly maxKept?: number | undefined
}

interface Entry {
  readonly id: string
  readonly createdAt: number
  updatedAt: number
  readonly ttl: number
  status: TaskStatus
  message: string | undefined
  readonly outcome: Deferred.Deferred<unknown, McpError.McpError>
}

const pageSize = 50
const millis = (duration: Duration.Input): number => Duration.toMillis(Duration.fromInputUnsafe(duration))
const time = (millis: number): string => DateTime.formatIso(DateTime.makeUnsafe(millis))

/** 256 random bits after a letter, because an id that starts with "-" would look like a flag on a command line. */
const randomId = (): string => `t${Base64Url.encode(crypto.getRandomValues(new Uint8Array(32)))}`

const unknown = McpError.invalidParams("Unknown task")

class Memory implements Receiver {
  private readonly entries = new Map<string, Entry>()
  private readonly scope: Scope.Scope
  private readonly options: Options

  constructor(scope: Scope.Scope, options: Options) {
    this.scope = scope
    this.options = options
  }

  capabilities({ elicitation, sampling }: Parameters<Receiver["capabilities"]>[0]): TaskCapabilities {
    return {
      list: {},
      cancel: {},
      requests: {
        ...(sampling ? { sampling: { createMessage: {} } } : undefined),
        ...(elicitation ? { elicitation: { create: {} } } : undefined)
      }
    }
  }

  private write({ createdAt, id, message, status, ttl, updatedAt }: Entry): JsonObject {
    return {
      taskId: id,
      status,
      ...(message === undefined ? undefined : { statusMessage: message }),
      createdAt: time(createdAt),
      lastUpdatedAt: time(updatedAt),
      ttl,
      pollInterval: millis(this.options.pollInterval ?? "1 second")
    }
  }

  /** Ends a task that has not ended. */
  private settle(entry: Entry, status: TaskStatus, outcome: Exit.Exit<unknown, McpError.McpError>) {
    return Effect.map(Clock.currentTimeMillis, (now) => {
      if (isTerminal(entry)) return
      entry.status = status
      entry.updatedAt = now
      if (Exit.isFailure(outcome)) {
        entry.message = outcome.cause.reasons.find(Cause.isFailReason)?.error.message ?? "The question was interrupted"
      }
      Deferred.doneUnsafe(entry.outcome, outcome)
    })
  }

  private run(entry: Entry, answer: EncodedAnswer): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      const ended = Effect.exit(Deferred.await(entry.outcome))
      const exit = yield* Effect.raceFirst(Effect.exit(answer), ended).pipe(
        Effect.timeoutOrElse({
          duration: entry.ttl,
          orElse: () =>
            Effect.succeed(Exit.fail(McpError.interrupted("The task did not finish within its time to live (ttl)")))
        })
      )
      const failure = Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isFailReason)?.error : undefined
      const outcome = Exit.isSuccess(exit) ? exit : Exit.fail(failure ?? McpError.internalError())
      yield* this.settle(entry, Exit.isSuccess(exit) ? "completed" : "failed", outcome)
      yield* Effect.logDebug(`The server's task ${entry.id} has ended: ${entry.status}`)
      yield* Effect.sleep(Math.max(0, entry.createdAt + entry.ttl - (yield* Clock.currentTimeMillis)))
      this.entries.delete(entry.id)
    })
  }

  create(method: string, { ttl }: JsonObject, answer: EncodedAnswer): Effect.Effect<JsonObject, McpError.McpError> {
    return Effect.gen({ self: this }, function* () {
      const { maxKept = 1024, maxOpen = 64, maxTtl = "1 day", ttl: usual = "1 hour" } = this.options
      const open = [...this.entries.values()].filter((entry) => !isTerminal(entry)).length
      if (open >= maxOpen || this.entries.size >= maxKept) {
        return yield* McpError.limitExceeded("The client has too many tasks. Cancel some of them, or wait")
      }
      const asked = typeof ttl === "number" && ttl >= 0 ? ttl : millis(usual)
      const now = yield* Clock.currentTimeMillis
      const entry: Entry = {
        id: randomId(),
        createdAt: now,
        updatedAt: now,
        ttl: Math.min(millis(maxTtl), Math.max(1000, asked)),
        status: "working",
        message: undefined,
        outcome: Deferred.makeUnsafe()
      }
      this.entries.set(entry.id, entry)
      const created = this.write(entry)
      yield* Effect.logDebug(`The server's task ${entry.id} has started: ${method}`)
      yield* Effect.forkIn(this.run(entry, answer), this.scope, { startImmediately: true })
      return { task: created }
      // An interrupted request leaves no task that never runs or never ends.
    }).pipe(Effect.uninterruptible)
  }

  private find(params: JsonRpc.Params | undefined): Effect.Effect<Entry, McpError.McpError> {
    const id = params?.["taskId"]
    const entry = typeof id === "string" ? this.entries.get(id) : undefined
    return entry === undefined ? Effect.fail(unknown) : Effect.succeed(entry)
  }

  private list(params: JsonRpc.Params | undefined): Effect.Effect<JsonObject, McpError.McpError> {
    const cursor = params?.["cursor"]
    const all = [...this.entries.values()]
    const before = cursor === undefined ? -1 : all.findIndex(({ id }) => id === cursor)
    if (cursor !== undefined && before === -1) return Effect.fail(McpError.invalidParams("Unknown cursor"))
    const page = all.slice(before + 1, before + 1 + pageSize)
    const last = page.at(-1)
    return Effect.succeed({
      tasks: page.map((entry) => this.write(entry)),
      ...(last === undefined || last === all.at(-1) ? undefined : { nextCursor: last.id })
    })
  }

  receive({ method, params }: JsonRpc.Request): Effect.Effect<unknown, McpError.McpError> | undefined {
    switch (method) {
      case "tasks/get":
        return Effect.map(this.find(params), (entry) => this.write(entry))
      case "tasks/list":
        return this.list(params)
      case "tasks/cancel":
        return Effect.flatMap(this.find(params), (entry) => {
          if (isTerminal(entry)) return Effect.fail(McpError.invalidParams(`The task is already ${entry.status}`))
          const cancelled = Exit.fail(McpError.interrupted("The task was cancelled"))
          return Effect.map(this.settle(entry, "cancelled", cancelled), () => this.write(entry))
        })
      case "tasks/result":
        return Effect.flatMap(this.find(params), ({ id, outcome }) =>
          Effect.map(
            Effect.tap(Deferred.await(outcome), Effect.logDebug(`The server fetches the task ${id}`)),
            (result) => Meta.withMeta(isJsonObject(result) ? result : {}, { [Meta.relatedTask]: { taskId: id } })
          )
        )
      default:
        return undefined
    }
  }
}

/**
 * Lets the server ask questions as tasks. The client declares this for sampling and elicitation, if it supports them. Tasks are kept in
 * memory for as long as the client exists.
 *
 * @example
 * ```ts
 * import { McpClient, TaskReceiver } from "@effect-mcp/client"
 * import { Elicitation } from "@effect-mcp/core"
 * import { Effect, Layer } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * const user = Elicitation.layer({
 *   form: ({ message }) => Effect.as(Effect.log(message), { action: "decline" })
 * })
 *
 * export const client = McpClient.layerHttp({ url: "https://mcp.example.com/mcp" }).pipe(
 *   Layer.provide([user, TaskReceiver.layerMemory({ maxTtl: "1 hour" }), FetchHttpClient.layer])
 * )
 * ```
 */
export const layerMemory = (options: Options = {}): Layer.Layer<TaskReceiver> =>
  Layer.succeed(TaskReceiver, { make: Effect.map(Scope.Scope, (scope) => new Memory(scope, options)) })
