/**
 * What was sent on the streams of a session, for clients that come back (spec: basic/transports, resumability and redelivery).
 *
 * Owns the keeping and its limits. Refuses to read events, and to give a stream to another session than its own.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export interface StreamKey {
  /** The id of the session. */
  readonly session: string
  /** The name of the stream, unique in its session. */
  readonly stream: string
}

export interface Event {
  /** Its place in its stream: from 0, without gaps. */
  readonly seq: number
  /** The whole event as it is sent, its `id` field included. */
  readonly text: string
}

/** The events that a client wants are not kept any more, or never were: it is answered by 410. */
export class EventsGone extends Data.TaggedError("EventsGone")<{ readonly message: string }> {}

/**
 * Keeps events. An endpoint without one in its context keeps them in memory, with the default limits. A store that fails or hangs leaves
 * a gap in a stream, and never blocks the session.
 *
 * @example
 * ```ts
 * import { EventStore, McpServer } from "@effect-mcp/server"
 * import { Layer } from "effect"
 *
 * export const endpoint = McpServer.layerHttp({ path: "/mcp" }).pipe(
 *   Layer.provide(EventStore.EventStore.layerMemory({ maxBytesPerSession: 1024 * 1024 }))
 * )
 * ```
 */
export class EventStore extends Context.Service<
  EventStore,
  {
    /**
     * Keeps consecutive events. A session calls it for one write after the other, in order; a write that dies leaves a gap. `text`,
     * where it is given, is the text of all events, joined: keeping it takes no copy.
     */
    readonly append: (key: StreamKey, events: ReadonlyArray<Event>, text?: string) => Effect.Effect<void>
    /** The events of a stream after `seq`, in order: all whose append has ended. Fails where one of them is not kept. */
    readonly after: (key: StreamKey, seq: number) => Effect.Effect<ReadonlyArray<Event>, EventsGone>
    /** Drops one stream, or all streams of the session. */
    readonly forget: (session: string, stream?: string) => Effect.Effect<void>
  }
>()("@effect-mcp/server/EventStore") {
  /** Keeps events in this process. */
  static readonly layerMemory = (limits?: MemoryLimits): Layer.Layer<EventStore> =>
    Layer.sync(EventStore, () => makeMemory(limits))
}

/** In lengths of text: bytes for ASCII, and at most three bytes each. */
export interface MemoryLimits {
  /** Of all sessions. Above it whole streams are dropped, first of sessions that keep much. Default 64 MiB. */
  readonly maxBytes?: number | undefined
  /** Of one session. Above it whole streams of it are dropped, first the one that was silent for longest. Default 16 MiB. */
  readonly maxBytesPerSession?: number | undefined
  /** Of one stream. Above it its oldest writes are dropped, never the newest. Default 4 MiB. */
  readonly maxBytesPerStream?: number | undefined
}

/** The events of one write, as one text: thousands of small strings are work for the garbage collector. */
interface Batch {
  /** The place of the first event. */
  readonly seq: number
  readonly text: string
  /** Where in the text each event ends; undefined for a single event. */
  readonly ends: ReadonlyArray<number> | undefined
}

const batchOf = (events: ReadonlyArray<Event>, text = events.map(({ text }) => text).join("")): Batch => {
  const seq = events[0]?.seq ?? 0
  if (events.length === 1) return { seq, text, ends: undefined }
  let end = 0
  return { seq, text, ends: events.map(({ text }) => (end += text.length)) }
}

const eventsOf = ({ ends, seq, text }: Batch): ReadonlyArray<Event> =>
  ends === undefined
    ? [{ seq, text }]
    : ends.map((end, at) => ({ seq: seq + at, text: text.slice(ends[at - 1] ?? 0, end) }))

interface Kept {
  readonly stream: string
  batches: Array<Batch>
  /** Length of `batches`. */
  bytes: number
}

interface SessionEvents {
  readonly id: string
  /** The one that was silent for longest first. */
  readonly streams: Map<string, Kept>
  /** Length of `streams`. */
  bytes: number
}

/** The class of sizes of a session: its bytes have as many binary digits. */
const sizeOf = ({ bytes }: SessionEvents): number => 32 - Math.clz32(bytes)

class Memory {
  private readonly maxBytes: number
  private readonly maxBytesPerSession: number
  private readonly maxBytesPerStream: number
  /** The sessions that keep an event. */
  private readonly sessions = new Map<string, SessionEvents>()
  /** The same by size, so that the largest are found without a search; in each the one that was silent for longest first. */
  private readonly sized: ReadonlyArray<Set<SessionEvents>> = Array.from({ length: 33 }, () => new Set())
  /** Length of `sessions`. */
  private total = 0

  constructor(limits: MemoryLimits) {
    this.maxBytes = limits.maxBytes ?? 64 * 1024 * 1024
    this.maxBytesPerSession = limits.maxBytesPerSession ?? 16 * 1024 * 1024
    this.maxBytesPerStream = Math.min(limits.maxBytesPerStream ?? 4 * 1024 * 1024, this.maxBytesPerSession)
  }

  append(key: StreamKey, events: ReadonlyArray<Event>, text: string | undefined): void {
    if (events.length === 0) return
    const { maxBytes, maxBytesPerSession, maxBytesPerStream } = this
    const session = this.sessionOf(key.session)
    const kept = session.streams.get(key.stream) ?? { stream: key.stream, batches: [], bytes: 0 }
    const fits = this.fitting(events)
    const batch = batchOf(fits, fits.length === events.length ? text : undefined)
    if (kept.batches.length === 0) kept.batches = [batch]
    else kept.batches.push(batch)
    kept.bytes += batch.text.length
    session.streams.delete(key.stream)
    session.streams.set(key.stream, kept)
    this.resize(session, batch.text.length - (kept.bytes > maxBytesPerStream ? this.shorten(kept) : 0))
    if (session.bytes > maxBytesPerSession) this.dropWhile(() => session.bytes > maxBytesPerSession, session, kept)
    if (this.total > maxBytes) this.makeRoom(kept)
  }

  after({ session, stream }: StreamKey, seq: number): Effect.Effect<ReadonlyArray<Event>, EventsGone> {
    const batches = this.sessions.get(session)?.streams.get(stream)?.batches ?? []
    const [first] = batches
    return first === undefined || first.seq > seq + 1
      ? Effect.fail(new EventsGone({ message: "These events are not kept any more" }))
      : Effect.succeed(batches.flatMap(eventsOf).filter((event) => event.seq > seq))
  }

  forget(id: string, stream: string | undefined): void {
    const session = this.sessions.get(id)
    if (session === undefined) return
    for (const kept of session.streams.values()) {
      if (stream === undefined || kept.stream === stream) this.drop(session, kept)
    }
  }

  private sessionOf(id: string): SessionEvents {
    const known = this.sessions.get(id)
    if (known !== undefined) return known
    const session: SessionEvents = { id, streams: new Map(), bytes: 0 }
    this.sessions.set(id, session)
    return session
  }

  private resize(session: SessionEvents, change: number): void {
    this.sized[sizeOf(session)]?.delete(session)
    session.bytes += change
    this.total += change
    if (session.streams.size > 0) this.sized[sizeOf(session)]?.add(session)
    else this.sessions.delete(session.id)
  }

  private drop(session: SessionEvents, { bytes, stream }: Kept): void {
    session.streams.delete(stream)
    this.resize(session, -bytes)
  }

  /** The newest events for which there is room: one at least. */
  private fitting(events: ReadonlyArray<Event>): ReadonlyArray<Event> {
    let bytes = 0
    const tooOld = events.findLastIndex(({ text }) => (bytes += text.length) > this.maxBytesPerStream)
    return tooOld < 0 ? events : events.slice(Math.min(tooOld + 1, events.length - 1))
  }

  /** Drops whole batches, and never the newest; gives how many bytes that freed. */
  private shorten(kept: Kept): number {
    const newest = kept.batches.length - 1
    let evicted = 0
    let freed = 0
    for (const { text } of kept.batches) {
      if (kept.bytes - freed <= this.maxBytesPerStream || evicted === newest) break
      freed += text.length
      evicted++
    }
    kept.batches.splice(0, evicted)
    kept.bytes -= freed
    return freed
  }

  /** Drops streams of one session while `over` holds, but for one. */
  private dropWhile(over: () => boolean, session: SessionEvents, spared: Kept): void {
    for (const kept of session.streams.values()) {
      if (!over()) return
      if (kept !== spared) this.drop(session, kept)
    }
  }

  /** Drops streams of the largest sessions first, but for one stream. */
  private makeRoom(spared: Kept): void {
    const { maxBytes, sized } = this
    for (let size = sized.length - 1; size >= 0; size--) {
      for (const large of sized[size] ?? []) {
        if (this.total <= maxBytes) return
        this.dropWhile(() => this.total > maxBytes && sizeOf(large) === size, large, spared)
      }
    }
  }
}

/** The service of `layerMemory`. */
export const makeMemory = (limits: MemoryLimits = {}): EventStore["Service"] => {
  const memory = new Memory(limits)
  return {
    append: (key, events, text) => Effect.sync(() => memory.append(key, events, text)),
    after: (key, seq) => Effect.suspend(() => memory.after(key, seq)),
    forget: (session, stream) => Effect.sync(() => memory.forget(session, stream))
  }
}
