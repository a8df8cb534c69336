/**
 * What was sent on the streams of a session and may be asked for again (spec: basic/transports, resumability and redelivery).
 *
 * Owns the keeping and the limits on it. Refuses to know what an event says, and to hand out a stream by anything but its session.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** A stream is called as its session calls it. */
export interface StreamKey {
  readonly session: string
  readonly stream: string
}

/** `text` is all of the event as it travels, its id included. */
export interface Event {
  /** Its place in its stream: from 0, without gaps. */
  readonly seq: number
  readonly text: string
}

/** What was asked for is not kept any more, or never was. */
export class EventsGone extends Data.TaggedError("EventsGone")<{ readonly message: string }> {}

export class EventStore extends Context.Service<
  EventStore,
  {
    /** Keeps one event. A session calls one after the other, in order; one that dies leaves a gap. */
    readonly append: (key: StreamKey, event: Event) => Effect.Effect<void>
    /** The events of a stream behind `seq`, in order: all whose append has ended. */
    readonly after: (key: StreamKey, seq: number) => Effect.Effect<ReadonlyArray<Event>, EventsGone>
    /** Drops one stream, or all of the session. */
    readonly forget: (session: string, stream?: string) => Effect.Effect<void>
  }
>()("@effect-mcp/server/session/EventStore") {
  /** Keeps events in this process. */
  static readonly layerMemory = (limits?: MemoryLimits): Layer.Layer<EventStore> =>
    Layer.sync(EventStore, () => makeMemory(limits))
}

export interface MemoryLimits {
  /** Of all streams together. Above it whole streams go, the one that was quiet longest first. Default 64 MiB. */
  readonly maxBytes?: number | undefined
  /** Above it the oldest events of the stream go; the newest never does. Default 4 MiB. */
  readonly maxBytesPerStream?: number | undefined
}

interface Kept {
  readonly key: StreamKey
  events: Array<Event>
  bytes: number
}

/** Sizes are lengths of text: bytes for ASCII, and never less than a third of them. */
export const makeMemory = (limits: MemoryLimits = {}): EventStore["Service"] => {
  const { maxBytes = 64 * 1024 * 1024, maxBytesPerStream = 4 * 1024 * 1024 } = limits
  const sessions = new Map<string, Map<string, Kept>>()
  /** The one that was quiet longest comes first. */
  const quiet = new Set<Kept>()
  let total = 0

  const drop = (kept: Kept): void => {
    const streams = sessions.get(kept.key.session)
    streams?.delete(kept.key.stream)
    if (streams?.size === 0) sessions.delete(kept.key.session)
    quiet.delete(kept)
    total -= kept.bytes
  }

  const keptOf = (key: StreamKey): Kept => {
    const streams = sessions.get(key.session) ?? new Map<string, Kept>()
    sessions.set(key.session, streams)
    const kept = streams.get(key.stream) ?? { key, events: [], bytes: 0 }
    streams.set(key.stream, kept)
    return kept
  }

  const append = (key: StreamKey, event: Event): void => {
    const kept = keptOf(key)
    kept.events.push(event)
    kept.bytes += event.text.length
    total += event.text.length
    let evicted = 0
    let freed = 0
    for (const old of kept.events) {
      if (kept.bytes - freed <= maxBytesPerStream || old === event) break
      freed += old.text.length
      evicted++
    }
    if (evicted > 0) {
      kept.events.splice(0, evicted)
      kept.bytes -= freed
      total -= freed
    }
    quiet.delete(kept)
    quiet.add(kept)
    for (const other of quiet) {
      if (total <= maxBytes || other === kept) break
      drop(other)
    }
  }

  return {
    append: (key, event) => Effect.sync(() => append(key, event)),
    after: ({ session, stream }, seq) =>
      Effect.suspend(() => {
        const events = sessions.get(session)?.get(stream)?.events ?? []
        const [first] = events
        return first === undefined || first.seq > seq + 1
          ? Effect.fail(new EventsGone({ message: "These events are not kept any more" }))
          : Effect.succeed(events.filter((event) => event.seq > seq))
      }),
    forget: (session, stream) =>
      Effect.sync(() => {
        const streams = sessions.get(session)
        for (const kept of streams?.values() ?? []) {
          if (stream === undefined || kept.key.stream === stream) drop(kept)
        }
      })
  }
}
