/**
 * A session's streams, which outlive their connections (spec 2025-11-25: basic/transports, resumability). A GET resumes a request's stream,
 * or opens the standalone stream.
 *
 * Waits as long as the server asks, and longer after failures. A stream that the server has rejected is not requested again.
 */
import type { Decoded } from "@effect-mcp/core/Transport"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Elapsed from "../../internal/Elapsed.ts"
import * as statuses from "./statuses.ts"
import * as Body from "./Body.ts"
import type { RemoteEndpoint } from "./Endpoint.ts"
import type { Options } from "./Resume.ts"
import * as SessionExpired from "./SessionExpired.ts"

/** A connection that ended within this many milliseconds counts as brief. */
const atOnce = 1000
/** Maximum growth of `minDelay`. */
const growth = 20

/** Number of consecutive failed connections, and of consecutive brief ones. */
interface Tries {
  readonly failures: number
  readonly brief: number
}

/**
 * How a GET ended. `Gone`: the session has ended, which only counts if the server had opened a stream before. `Denied`: the HTTP client
 * could not satisfy the server, for example because the user declined to log in. Retrying could ask the user again.
 */
export type StreamEnd = "Read" | "Refused" | "Failed" | "Gone" | "Denied"

const none: Tries = { failures: 0, brief: 0 }

export class ResumeStream {
  /** True once this server has opened a stream. */
  private gives = false
  private readonly endpoint: RemoteEndpoint
  private readonly limit: number
  private readonly maxDepth: number | undefined
  private readonly attempts: number
  private readonly delay: number
  private readonly maxDelay: number
  private readonly minDelay: number
  private readonly timeout: number

  constructor(endpoint: RemoteEndpoint, limit: number, options: Options = {}, maxDepth?: number) {
    this.endpoint = endpoint
    this.limit = limit
    this.maxDepth = maxDepth
    this.attempts = options.attempts ?? 5
    this.delay = Duration.toMillis(Duration.fromInputUnsafe(options.delay ?? "500 millis"))
    this.maxDelay = Duration.toMillis(Duration.fromInputUnsafe(options.maxDelay ?? "30 seconds"))
    this.minDelay = Duration.toMillis(Duration.fromInputUnsafe(options.minDelay ?? "100 millis"))
    this.timeout = Duration.toMillis(Duration.fromInputUnsafe(options.timeout ?? Duration.infinity))
  }

  /** Waits before another connection, at least as long as the server asked for. */
  private pause({ retry = 0 }: Body.Position, { brief, failures }: Tries): Effect.Effect<void> {
    const least = this.minDelay * Math.min(growth, 2 ** brief)
    const grown = failures === 0 && retry > 0 ? 0 : Math.min(this.maxDelay, this.delay * 2 ** failures)
    // Random, so that clients that lost the same server do not all reconnect at the same moment.
    return Effect.flatMap(Random.next, (random) =>
      Effect.sleep(Math.max(least, retry * (1 + random / 10), grown * (0.5 + random / 2)))
    )
  }

  private connect(
    position: Body.Position,
    deliver: (message: Decoded) => Effect.Effect<void>,
    opened?: () => void
  ): Effect.Effect<StreamEnd> {
    const answer = Effect.suspend(() => this.endpoint.get(position.lastEventId))
    return Effect.matchEffect(answer, {
      onFailure: ({ reason }) => Effect.succeed<StreamEnd>(reason._tag === "StatusCodeError" ? "Denied" : "Failed"),
      onSuccess: (response) => {
        const { status } = response
        if (status === 200 && Body.isEventStream(response.headers)) {
          this.gives = true
          opened?.()
          return Effect.orElseSucceed(
            Effect.as(Body.events(response, this.limit, position, deliver, this.maxDepth), "Read" as const),
            // An event that is too large would be too large again.
            (): StreamEnd => "Refused"
          )
        }
        const gave = this.endpoint.session !== undefined && this.gives
        if (gave && SessionExpired.isCandidate(status)) {
          return Effect.map(SessionExpired.read(response), (body) =>
            SessionExpired.matches(body) ? "Gone" : "Refused"
          )
        }
        const gone = gave && status === 404
        // 409 means that the server has not yet noticed that the previous connection was lost.
        const passes = status >= 500 || status === 409 || statuses.isBusy(status)
        const ended: StreamEnd = gone ? "Gone" : passes ? "Failed" : "Refused"
        return Effect.as(Body.skip(response), ended)
      }
    })
  }

  /** Runs one connection, and counts failed and brief ones. */
  private attempt(
    tries: Tries,
    position: Body.Position,
    connect: Effect.Effect<StreamEnd>
  ): Effect.Effect<readonly [StreamEnd, Tries]> {
    const { signs } = position
    return Effect.flatMap(Elapsed.now, (begun) =>
      Effect.flatMap(connect, (ended) =>
        Effect.map(Elapsed.now, (now) => [
          ended,
          {
            failures: ended === "Read" && position.signs > signs ? 0 : tries.failures + 1,
            brief: now - begun < atOnce ? tries.brief + 1 : 0
          }
        ])
      )
    )
  }

  /**
   * Resumes a request's stream over as many connections as it takes until it is `done`. Ends with `Refused` if the server rejects it, and
   * with `Failed` after `attempts` failures in a row or if no connection was made for `timeout`.
   */
  resume(
    position: Body.Position,
    deliver: (message: Decoded) => Effect.Effect<void>,
    done: () => boolean
  ): Effect.Effect<StreamEnd> {
    const next = (tries: Tries, failingSince: number): Effect.Effect<StreamEnd> =>
      Effect.andThen(this.pause(position, tries), this.attempt(tries, position, this.connect(position, deliver))).pipe(
        Effect.flatMap(([ended, tries]) => {
          if (done() || ended === "Refused" || ended === "Gone" || ended === "Denied") return Effect.succeed(ended)
          if (tries.failures >= this.attempts) return Effect.succeed<StreamEnd>("Failed")
          return Effect.flatMap(Elapsed.now, (now) => {
            // An open connection shows that the server is alive, even without events.
            if (tries.failures === 0 || ended === "Read") return next(tries, now)
            return now - failingSince < this.timeout ? next(tries, failingSince) : Effect.succeed<StreamEnd>("Failed")
          })
        })
      )
    // Even after a rejected standalone stream, because a server may only resume requests' streams.
    return Effect.flatMap(Elapsed.now, (now) => next(none, now))
  }

  /**
   * Keeps the session's standalone stream open for as long as the server offers one. Ends with `Gone` when the session has ended. `missed`
   * is called for every connection that does not resume the previous one, and `begun` once the stream is open or won't be for now.
   */
  standalone(
    deliver: (message: Decoded) => Effect.Effect<void>,
    missed: () => void,
    begun: () => void
  ): Effect.Effect<StreamEnd> {
    const position = Body.start()
    let wasOpen = false
    const next = (tries: Tries): Effect.Effect<StreamEnd> => {
      const { lastEventId } = position
      const opened = (): void => {
        if (wasOpen && lastEventId === undefined) missed()
        wasOpen = true
        begun()
      }
      const attempt = this.attempt(tries, position, this.connect(position, deliver, opened))
      return Effect.flatMap(attempt, ([ended, tries]) => {
        begun()
        if (ended === "Gone" || ended === "Denied" || (ended === "Refused" && lastEventId === undefined))
          return Effect.succeed(ended)
        // Events that the server has dropped, or that are too large, are not requested again.
        if (ended === "Refused") position.lastEventId = undefined
        return Effect.andThen(this.pause(position, tries), next(tries))
      })
    }
    return next(none)
  }
}
