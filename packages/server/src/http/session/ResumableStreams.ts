/**
 * The streams for a session's POSTs, for as long as their clients may reconnect, and the session's event log.
 *
 * Created for the session's first stream, because most sessions have none.
 */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import type { EventStore } from "../../session/EventStore.ts"
import { type EventLog, type StreamOwner, ResumableStream } from "./ResumableStream.ts"
import { type LoggedSession, SessionLog } from "./SessionLog.ts"

/** Maximum number of ended streams that a session keeps for its clients. */
const maxRetired = 256

/** The part of a session that its streams use. */
interface Session extends StreamOwner, LoggedSession {
  /** Returns the name of a stream. No other node uses the same name for this session. */
  nameOf(stream: string): string
  readonly config: LoggedSession["config"] & {
    readonly clock: Clock.Clock
    readonly store: EventStore["Service"] | undefined
    readonly window: Duration.Duration
    readonly manager: object | undefined
  }
}

export class ResumableStreams {
  private readonly session: Session
  /** Writes events to the store, or `undefined` if there is none. */
  readonly log: SessionLog | undefined
  /** Resumable streams by name: the streams of running requests, and the `retired` ones. */
  private readonly streams = new Map<string, ResumableStream>()
  /** Streams that have ended and are kept for `window`, oldest first. */
  private readonly retired: Array<{ readonly stream: ResumableStream; readonly at: number }> = []
  /** Number of streams named so far. */
  private named = 0

  constructor(session: Session) {
    const { store } = session.config
    this.session = session
    this.log = store && new SessionLog(store, session)
  }

  logOf(stream: string): EventLog | undefined {
    return this.log?.of(stream)
  }

  /** Opens a POST's stream. `ids` are the IDs of its requests. */
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

  /** Keeps an ended stream for a while, because its client may not have received all of it. */
  retire(stream: ResumableStream): void {
    if (this.log === undefined) return
    this.retired.push({ stream, at: this.session.config.clock.currentTimeMillisUnsafe() })
    this.prune()
  }

  /** Forgets streams that have been kept long enough. */
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
