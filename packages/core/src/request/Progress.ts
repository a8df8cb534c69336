/**
 * Progress of the current request (spec: basic/utilities/progress).
 *
 * An event is only sent if the request has a progress token and the value has increased. If the outbox is above its high-water mark,
 * `report` suspends the handler. After `stallTime` it stops waiting: from then on only the latest event is kept, and it is sent as soon as
 * there is room.
 */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { ProgressParams } from "@effect-mcp/protocol/model/Progress"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"

/** Optional details of a progress event. */
export interface ReportOptions {
  /** The value at which the work is complete, if known. */
  readonly total?: number | undefined
  /** Text for the user. Dropped in revisions before 2025-03-26, which have no progress messages. */
  readonly message?: string | undefined
}

/** Reports progress of the current request. Does nothing if the request has no progress token, so handlers can always report. */
export class Progress extends Context.Service<
  Progress,
  {
    /** True if the request has a progress token. If false, a handler can skip work that only serves to measure progress. */
    readonly wanted: boolean
    readonly report: (progress: number, options?: ReportOptions) => Effect.Effect<void>
  }
>()("@effect-mcp/core/Progress") {}

/**
 * Reports progress to the client. `progress` must increase with every call. Values that don't increase or aren't finite are dropped.
 *
 * @example
 * ```ts
 * import { Progress, Tool, Tools } from "@effect-mcp/core"
 * import { McpTest } from "@effect-mcp/testing"
 * import { Effect, Schema } from "effect"
 *
 * const Copy = Tool.make("copy", { description: "Copies files", input: { files: Schema.Array(Schema.String) } })
 *
 * const copy = Tools.layer(
 *   Copy,
 *   Effect.fnUntraced(function* ({ files }) {
 *     for (const [index, file] of files.entries()) {
 *       yield* Progress.report(index + 1, { total: files.length, message: file })
 *     }
 *     return "Copied"
 *   })
 * )
 *
 * const program = Effect.gen(function* () {
 *   const client = yield* McpTest.connect(copy, "2025-11-25")
 *   yield* client.callTool(Copy, { files: ["a.txt", "b.txt"] }, { onProgress: ({ message }) => console.log(message) })
 *   // => a.txt
 *   // => b.txt
 * })
 *
 * await Effect.runPromise(Effect.scoped(program))
 * ```
 */
export const report = (progress: number, options?: ReportOptions): Effect.Effect<void, never, Progress> =>
  // One step instead of the three steps of a `flatMap` over the service, because handlers report in loops.
  Effect.withFiber<void, never, Progress>(({ context }) => {
    const service = Context.getUnsafe(context, Progress)
    return service instanceof RequestProgress ? service.reportNow(progress, options) : service.report(progress, options)
  })

/** Return type of a plain function: anything except an Effect, which would never run. */
type Plain =
  | void
  | null
  | string
  | number
  | bigint
  | boolean
  | symbol
  | (object & {
      readonly [Effect.TypeId]?: "Expected a plain function: if it returned an Effect, that Effect would not run"
    })

/** Called with each progress event of a request. It runs while messages are being read, so it must not block. */
export type OnProgress = (event: ProgressParams) => Plain

/** A `Progress` that drops every event. */
export const none: Progress["Service"] = { wanted: false, report: () => Effect.void }

/** Provides a `Progress` that drops every event, for handlers outside a request. */
export const layerNone: Layer.Layer<Progress> = Layer.succeed(Progress, none)

/** How long `report` waits for room before it keeps only the latest event. */
export const stallTime: Duration.Input = "5 seconds"

interface Event extends ReportOptions {
  readonly progress: number
}

/** Sends progress events. */
interface Outbound {
  readonly writable: () => boolean
  readonly ready: Effect.Effect<void>
  readonly send: (params: {
    readonly progressToken: JsonRpc.Id
    readonly progress: number
    readonly total?: number
    readonly message?: string
  }) => void
}

/** Creates the `Progress` of one request. `token` is the request's progress token, if there is one. */
export const make = (options: Outbound & { readonly token: JsonRpc.Id | undefined }): Progress["Service"] =>
  options.token === undefined ? none : new RequestProgress(options, options.token)

class RequestProgress {
  readonly wanted = true
  private readonly outbound: Outbound
  private readonly token: JsonRpc.Id
  private last = -Infinity
  private latest: Event | undefined = undefined

  constructor(outbound: Outbound, token: JsonRpc.Id) {
    this.outbound = outbound
    this.token = token
  }

  readonly report = (progress: number, options?: ReportOptions): Effect.Effect<void> =>
    Effect.suspend(() => this.reportNow(progress, options))

  /** Sends the event immediately, or returns an effect that waits for room. Called in the handler's fiber. */
  reportNow(progress: number, options?: ReportOptions): Effect.Effect<void> {
    if (!(progress > this.last) || progress === Infinity) return Effect.void
    this.last = progress
    if (!this.outbound.writable()) return this.wait({ progress, total: options?.total, message: options?.message })
    this.latest = undefined
    this.send(progress, options)
    return Effect.void
  }

  private send(progress: number, options: ReportOptions | undefined): void {
    const { outbound, token } = this
    const message = options?.message
    const total = options?.total
    const counts = total !== undefined && Number.isFinite(total)
    // Written without a spread, because handlers report in loops.
    if (message === undefined) {
      outbound.send(counts ? { progressToken: token, progress, total } : { progressToken: token, progress })
    } else {
      outbound.send(
        counts ? { progressToken: token, progress, total, message } : { progressToken: token, progress, message }
      )
    }
  }

  private wait(event: Event): Effect.Effect<void> {
    const stalled = this.latest !== undefined
    this.latest = event
    if (stalled) return Effect.void
    const moved = Effect.map(this.outbound.ready, () => {
      const { latest } = this
      this.latest = undefined
      if (latest !== undefined) this.send(latest.progress, latest)
    })
    // After a stall, the latest event waits for room in a separate fiber. The fiber ends when the handler does.
    return Effect.flatMap(Effect.timeoutOption(moved, stallTime), (sent) =>
      Option.isSome(sent) ? Effect.void : Effect.asVoid(Effect.forkChild(moved, { startImmediately: true }))
    )
  }
}
