/**
 * Progress of the running request (spec: basic/utilities/progress).
 *
 * An event is sent only where the request has a progress token and the value grew. Above the outbox's high-water mark `report` suspends
 * the handler. After `stallTime` it does not wait any more: only the latest event is kept, and sent as soon as there is room.
 */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { ProgressParams } from "@effect-mcp/protocol/model/Progress"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"

/** What an event says beside the value. */
export interface ReportOptions {
  /** The value at the end, if it is known. */
  readonly total?: number | undefined
  /** For the user to read. Dropped before 2025-03-26, which has no messages. */
  readonly message?: string | undefined
}

/** Progress of the running request. Does nothing for a request without a token, so that a handler may always report. */
export class Progress extends Context.Service<
  Progress,
  {
    /** Whether the request has a token: a handler may skip counting that costs. */
    readonly wanted: boolean
    readonly report: (progress: number, options?: ReportOptions) => Effect.Effect<void>
  }
>()("@effect-mcp/core/Progress") {}

/**
 * Tells the client how far the request has come. `progress` must grow from call to call; a value that does not grow, or is not finite, is
 * dropped.
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
  // One step, where a flatMap over the service is three: handlers report in loops.
  Effect.withFiber<void, never, Progress>(({ context }) => {
    const service = Context.getUnsafe(context, Progress)
    return service instanceof RequestProgress ? service.reportNow(progress, options) : service.report(progress, options)
  })

/** What a plain function returns: any value but an Effect, which would not run. */
type Plain =
  | void
  | null
  | string
  | number
  | bigint
  | boolean
  | symbol
  | (object & { readonly [Effect.TypeId]?: "A plain function is expected: an Effect that it returns does not run" })

/** Called with each progress event of a request, by the reader: it must not block. */
export type OnProgress = (event: ProgressParams) => Plain

/** Drops every event. */
export const none: Progress["Service"] = { wanted: false, report: () => Effect.void }

/** A `Progress` that drops every event, for handlers outside of a request. */
export const layerNone: Layer.Layer<Progress> = Layer.succeed(Progress, none)

/** How long `report` waits for room before it keeps only the latest event. */
export const stallTime: Duration.Input = "5 seconds"

interface Event extends ReportOptions {
  readonly progress: number
}

/** Where events leave. */
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

/** Progress of one request. `token` is that of the request, if it has one. */
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

  /** Sends the event now, or gives the effect that waits for room. Called in the fiber of the handler. */
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
    // Written out, without a spread: handlers report in loops.
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
    // After the stall the latest event waits for room in a fiber of its own, which ends with the handler at the latest.
    return Effect.flatMap(Effect.timeoutOption(moved, stallTime), (sent) =>
      Option.isSome(sent) ? Effect.void : Effect.asVoid(Effect.forkChild(moved, { startImmediately: true }))
    )
  }
}
