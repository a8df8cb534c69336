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
    /**
     * Keeps events that follow each other. A session calls one after the other, in order; one that dies leaves a gap. `text`, if it is
     * there, is that of all of them: the one that was sent, so that to keep it takes no copy.
     */
    readonly append: (key: StreamKey, events: ReadonlyArray<Event>, text?: string) => Effect.Effect<void>
    /** The events of a stream behind `seq`, in order: all whose append has ended. */
    readonly after: (key: StreamKey, seq: number) => Effect.Effect<ReadonlyArray<Event>, EventsGone>
    /** Drops one stream, or all of the session. */
    readonly forget: (session: string, stream?: string) => Effect.Effect<void>
  }
>()("@effect-mcp/server/EventStore") {
  /** Keeps events in this process. */
  static readonly layerMemory = (limits?: MemoryLimits): Layer.Layer<EventStore> =>
    Layer.sync(EventStore, () => makeMemory(limits))
}

export interface MemoryLimits {
  /** Of all sessions together. Above it whole streams go: of a session that keeps much first. Default 64 MiB. */
  readonly maxBytes?: number | undefined
  /** Of one session. Above it whole streams of that session go, the one that was quiet longest first. Default 16 MiB. */
  readonly maxBytesPerSession?: number | undefined
  /** Above it the oldest events of the stream go, as they were appended; the newest never do. Default 4 MiB. */
  readonly maxBytesPerStream?: number | undefined
}

/** Events that were appended together, as one text: of thousands of small ones the garbage collector would have its work. */
interface EventBatch {
  /** The place of the first. */
  readonly seq: number
  readonly text: string
  /** Where in the text each ends; none where there is but one. */
  readonly ends: ReadonlyArray<number> | undefined
}

const batchOf = (events: ReadonlyArray<Event>, text = events.map(({ text }) => text).join("")): EventBatch => {
  const seq = events[0]?.seq ?? 0
  if (events.length === 1) return { seq, text, ends: undefined }
  let end = 0
  return { seq, text, ends: events.map(({ text }) => (end += text.length)) }
}

const eventsOf = ({ ends, seq, text }: EventBatch): ReadonlyArray<Event> =>
  ends === undefined
    ? [{ seq, text }]
    : ends.map((end, at) => ({ seq: seq + at, text: text.slice(ends[at - 1] ?? 0, end) }))

interface Kept {
  readonly stream: string
  batches: Array<EventBatch>
  bytes: number
}

/** The streams of one session, the one that was quiet longest first. */
interface SessionEvents {
  readonly id: string
  readonly streams: Map<string, Kept>
  bytes: number
}

/** Sessions whose bytes have as many binary digits are of one size. */
const sizeOf = ({ bytes }: SessionEvents): number => 32 - Math.clz32(bytes)

/** Sizes are lengths of text: bytes for ASCII, and never less than a third of them. */
export const makeMemory = (limits: MemoryLimits = {}): EventStore["Service"] => {
  const { maxBytes = 64 * 1024 * 1024, maxBytesPerSession = 16 * 1024 * 1024 } = limits
  const maxBytesPerStream = Math.min(limits.maxBytesPerStream ?? 4 * 1024 * 1024, maxBytesPerSession)
  const sessions = new Map<string, SessionEvents>()
  /** By size, so that what keeps most is found without looking at all; in each the one that was quiet longest first. */
  const sized: ReadonlyArray<Set<SessionEvents>> = Array.from({ length: 33 }, () => new Set())
  let total = 0

  const resize = (session: SessionEvents, change: number): void => {
    sized[sizeOf(session)]?.delete(session)
    session.bytes += change
    total += change
    if (session.streams.size > 0) sized[sizeOf(session)]?.add(session)
    else sessions.delete(session.id)
  }

  const drop = (session: SessionEvents, { bytes, stream }: Kept): void => {
    session.streams.delete(stream)
    resize(session, -bytes)
  }

  const sessionOf = (id: string): SessionEvents => {
    const known = sessions.get(id)
    if (known !== undefined) return known
    const session: SessionEvents = { id, streams: new Map(), bytes: 0 }
    sessions.set(id, session)
    return session
  }

  /** Whole batches go, but for the newest. Gives how many bytes that freed. */
  const shorten = (kept: Kept): number => {
    const newest = kept.batches.length - 1
    let evicted = 0
    let freed = 0
    for (const { text } of kept.batches) {
      if (kept.bytes - freed <= maxBytesPerStream || evicted === newest) break
      freed += text.length
      evicted++
    }
    kept.batches.splice(0, evicted)
    kept.bytes -= freed
    return freed
  }

  /** Streams of one session go as long as `over` says so, but for one. */
  const dropWhile = (over: () => boolean, session: SessionEvents, spared: Kept): void => {
    for (const kept of session.streams.values()) {
      if (!over()) return
      if (kept !== spared) drop(session, kept)
    }
  }

  /** Drops streams of the largest sessions first, but for one stream. */
  const makeRoom = (spared: Kept): void => {
    for (let size = sized.length - 1; size >= 0; size--) {
      for (const large of sized[size] ?? []) {
        if (total <= maxBytes) return
        dropWhile(() => total > maxBytes && sizeOf(large) === size, large, spared)
      }
    }
  }

  /** The newest of them that there is room for: one at least. */
  const fitting = (events: ReadonlyArray<Event>): ReadonlyArray<Event> => {
    let bytes = 0
    const tooOld = events.findLastIndex(({ text }) => (bytes += text.length) > maxBytesPerStream)
    return tooOld < 0 ? events : events.slice(Math.min(tooOld + 1, events.length - 1))
  }

  const append = (key: StreamKey, events: ReadonlyArray<Event>, text: string | undefined): void => {
    if (events.length === 0) return
    const session = sessionOf(key.session)
    const kept = session.streams.get(key.stream) ?? { stream: key.stream, batches: [], bytes: 0 }
    const fits = fitting(events)
    const batch = batchOf(fits, fits.length === events.length ? text : undefined)
    if (kept.batches.length === 0) kept.batches = [batch]
    else kept.batches.push(batch)
    kept.bytes += batch.text.length
    session.streams.delete(key.stream)
    session.streams.set(key.stream, kept)
    resize(session, batch.text.length - (kept.bytes > maxBytesPerStream ? shorten(kept) : 0))
    if (session.bytes > maxBytesPerSession) dropWhile(() => session.bytes > maxBytesPerSession, session, kept)
    if (total > maxBytes) makeRoom(kept)
  }

  return {
    append: (key, events, text) => Effect.sync(() => append(key, events, text)),
    after: ({ session, stream }, seq) =>
      Effect.suspend(() => {
        const batches = sessions.get(session)?.streams.get(stream)?.batches ?? []
        const [first] = batches
        return first === undefined || first.seq > seq + 1
          ? Effect.fail(new EventsGone({ message: "These events are not kept any more" }))
          : Effect.succeed(batches.flatMap(eventsOf).filter((event) => event.seq > seq))
      }),
    forget: (id, stream) =>
      Effect.sync(() => {
        const session = sessions.get(id)
        if (session === undefined) return
        for (const kept of session.streams.values()) {
          if (stream === undefined || kept.stream === stream) drop(session, kept)
        }
      })
  }
}
