/**
 * Progress of the running request (spec: basic/utilities/progress).
 *
 * Owns the rules: nothing is sent unless the asker gave a token and the value grew. Above the outbox's high-water mark `report`
 * suspends the handler; after `stallTime` it stops waiting and keeps only the latest event, sent as soon as the wire moves again.
 */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"

export interface ReportOptions {
  /** What `progress` counts up to, if that is known. */
  readonly total?: number | undefined
  /** For the user to read. Dropped before 2025-03-26, which has no messages. */
  readonly message?: string | undefined
}

/** A no-op for a request without a token, so a handler may report whether or not anyone asked. */
export class Progress extends Context.Service<
  Progress,
  {
    /** Whether anyone listens; lets a handler skip counting that costs. */
    readonly wanted: boolean
    readonly report: (progress: number, options?: ReportOptions) => Effect.Effect<void>
  }
>()("@effect-mcp/core/Progress") {
  /** Drops everything. */
  static readonly layerNone: Layer.Layer<Progress> = Layer.sync(Progress, () => none)
}

/** Tells the asker how far the request has come. `progress` must grow from call to call; what does not, or is not finite, is dropped. */
export const report = (progress: number, options?: ReportOptions): Effect.Effect<void, never, Progress> =>
  // One step, where a flatMap over the service is three: this is the hot path of whoever counts.
  Effect.withFiber<void, never, Progress>(({ context }) =>
    Context.getUnsafe(context, Progress).report(progress, options)
  )

export const none: Progress["Service"] = { wanted: false, report: () => Effect.void }

/** How long `report` suspends on a wire that does not move before it keeps only the latest event. */
export const stallTime: Duration.Input = "5 seconds"

interface Event extends ReportOptions {
  readonly progress: number
}

/** Progress of one request over a wire. `token` is what the asker gave. */
export const make = (options: {
  readonly token: JsonRpc.Id | undefined
  readonly writable: () => boolean
  readonly ready: Effect.Effect<void>
  readonly send: (params: {
    readonly progressToken: JsonRpc.Id
    readonly progress: number
    readonly total?: number
    readonly message?: string
  }) => void
}): Progress["Service"] => {
  const { token } = options
  if (token === undefined) return none
  let last = -Infinity
  let latest: Event | undefined
  const send = ({ message, progress, total }: Event): void => {
    const counts = total !== undefined && Number.isFinite(total)
    // Written out: this is the hot path of whoever counts.
    if (message === undefined) {
      options.send(counts ? { progressToken: token, progress, total } : { progressToken: token, progress })
    } else {
      options.send(
        counts ? { progressToken: token, progress, total, message } : { progressToken: token, progress, message }
      )
    }
  }
  const flush = (): void => {
    if (latest !== undefined) send(latest)
    latest = undefined
  }
  return {
    wanted: true,
    report: (progress, reportOptions) =>
      Effect.suspend(() => {
        if (!(progress > last) || progress === Infinity) return Effect.void
        last = progress
        const event: Event = { progress, total: reportOptions?.total, message: reportOptions?.message }
        if (options.writable()) {
          latest = undefined
          send(event)
          return Effect.void
        }
        const stalled = latest !== undefined
        latest = event
        if (stalled) return Effect.void
        const moved = Effect.map(options.ready, flush)
        // From the stall on, the latest event waits for the wire beside the handler; it ends with the handler at the latest.
        return Effect.flatMap(Effect.timeoutOption(moved, stallTime), (sent) =>
          Option.isSome(sent) ? Effect.void : Effect.asVoid(Effect.forkChild(moved, { startImmediately: true }))
        )
      })
  }
}
