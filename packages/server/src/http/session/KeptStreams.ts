/**
 * The streams of a session's POSTs, for as long as their clients may come back, and where the events of its streams are kept.
 *
 * Made for the first stream of a session: most have none.
 */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { EventStore } from "../../session/EventStore.ts"
import { type EventLog, type StreamOwner, ResumableStream } from "./ResumableStream.ts"
import { SessionLog } from "./SessionLog.ts"

/** Ended streams that a session keeps for their clients. */
const maxRetired = 256

/** What the streams use of their session. */
interface Session extends StreamOwner {
  readonly id: string
  /** The name of a stream, which no other node gives to one of this session. */
  nameOf(stream: string): string
  readonly config: {
    readonly clock: Clock.Clock
    readonly runFork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
    readonly store: EventStore["Service"] | undefined
    readonly window: Duration.Duration
    readonly manager: object | undefined
  }
}

export class KeptStreams {
  private readonly session: Session
  /** Writes events to the store; undefined where there is none. */
  readonly log: SessionLog | undefined
  /** Those that can be resumed, by name: of requests that run, and those of `retired`. */
  private readonly streams = new Map<string, ResumableStream>()
  /** The streams that have ended and are kept for `window`, the oldest first. */
  private readonly retired: Array<{ readonly stream: ResumableStream; readonly at: number }> = []
  /** How many streams were named. */
  private named = 0

  constructor(session: Session) {
    const { runFork, store } = session.config
    this.session = session
    this.log = store && new SessionLog(store, session.id, runFork)
  }

  logOf(stream: string): EventLog | undefined {
    return this.log?.of(stream)
  }

  /** The stream of a POST; `ids` are its requests. */
  open(owner: StreamOwner, ids: JsonRpc.Id | ReadonlyArray<JsonRpc.Id>): ResumableStream {
    const { session } = this
    const name = session.nameOf((++this.named).toString(36))
    const stream = new ResumableStream({
      name,
      log: this.logOf(name),
      requests: session.config.manager === undefined ? undefined : [ids].flat(),
      owner: {
        attached: () => {
          session.attached()
          owner.attached()
        },
        detached: () => {
          session.detached()
          owner.detached()
        }
      }
    })
    if (this.log !== undefined) this.streams.set(name, stream)
    return stream
  }

  find(name: string): ResumableStream | undefined {
    return this.streams.get(name)
  }

  /** Keeps a stream that has ended for a while: its client may not have received all of it. */
  retire(stream: ResumableStream): void {
    if (this.log === undefined) return
    this.retired.push({ stream, at: this.session.config.clock.currentTimeMillisUnsafe() })
    this.prune()
  }

  /** Forgets the streams that were kept for long enough. */
  prune(): void {
    const { clock, window } = this.session.config
    const oldest = clock.currentTimeMillisUnsafe() - Duration.toMillis(window)
    for (let first = this.retired[0]; first !== undefined; first = this.retired[0]) {
      if (first.at > oldest && this.retired.length <= maxRetired) break
      this.retired.shift()
      this.streams.delete(first.stream.name)
      this.log?.forget(first.stream.name)
    }
  }
}
