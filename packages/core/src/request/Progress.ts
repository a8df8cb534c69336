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
  Effect.withFiber<void, never, Progress>(({ context }) => {
    const service = Context.getUnsafe(context, Progress)
    return service instanceof Wired ? service.tell(progress, options) : service.report(progress, options)
  })

export const none: Progress["Service"] = { wanted: false, report: () => Effect.void }

/** How long `report` suspends on a wire that does not move before it keeps only the latest event. */
export const stallTime: Duration.Input = "5 seconds"

interface Event extends ReportOptions {
  readonly progress: number
}

interface Wire {
  readonly writable: () => boolean
  readonly ready: Effect.Effect<void>
  readonly send: (params: {
    readonly progressToken: JsonRpc.Id
    readonly progress: number
    readonly total?: number
    readonly message?: string
  }) => void
}

/** Progress of one request over a wire. `token` is what the asker gave. */
export const make = (options: Wire & { readonly token: JsonRpc.Id | undefined }): Progress["Service"] =>
  options.token === undefined ? none : new Wired(options, options.token)

class Wired {
  readonly wanted = true
  private readonly wire: Wire
  private readonly token: JsonRpc.Id
  private last = -Infinity
  private latest: Event | undefined = undefined

  constructor(wire: Wire, token: JsonRpc.Id) {
    this.wire = wire
    this.token = token
  }

  readonly report = (progress: number, options?: ReportOptions): Effect.Effect<void> =>
    Effect.suspend(() => this.tell(progress, options))

  /** Reports now; what there is to wait for is returned. For a fiber that is at it: `report` of the module takes no second step. */
  tell(progress: number, options?: ReportOptions): Effect.Effect<void> {
    if (!(progress > this.last) || progress === Infinity) return Effect.void
    this.last = progress
    if (!this.wire.writable()) return this.wait({ progress, total: options?.total, message: options?.message })
    this.latest = undefined
    this.send(progress, options)
    return Effect.void
  }

  private send(progress: number, options: ReportOptions | undefined): void {
    const { token, wire } = this
    const message = options?.message
    const total = options?.total
    const counts = total !== undefined && Number.isFinite(total)
    // Written out: this is the hot path of whoever counts.
    if (message === undefined) {
      wire.send(counts ? { progressToken: token, progress, total } : { progressToken: token, progress })
    } else {
      wire.send(
        counts ? { progressToken: token, progress, total, message } : { progressToken: token, progress, message }
      )
    }
  }

  private wait(event: Event): Effect.Effect<void> {
    const stalled = this.latest !== undefined
    this.latest = event
    if (stalled) return Effect.void
    const moved = Effect.map(this.wire.ready, () => {
      const { latest } = this
      this.latest = undefined
      if (latest !== undefined) this.send(latest.progress, latest)
    })
    // From the stall on, the latest event waits for the wire beside the handler; it ends with the handler at the latest.
    return Effect.flatMap(Effect.timeoutOption(moved, stallTime), (sent) =>
      Option.isSome(sent) ? Effect.void : Effect.asVoid(Effect.forkChild(moved, { startImmediately: true }))
    )
  }
}
