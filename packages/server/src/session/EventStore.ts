/**
 * Stores the events sent on a session's streams, so that clients can reconnect and resume (spec: basic/transports, resumability and
 * redelivery).
 *
 * Owns the storage and its limits. Doesn't interpret events, and never returns one session's stream to another session.
 */
import { boundsOf, Shares } from "@effect-mcp/core/internal/inFlight"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export interface StreamKey {
  /** Session ID. */
  readonly session: string
  /** Stream name, unique within the session. */
  readonly stream: string
  /** The caller that opened the session: a principal, or else an address. Empty or `undefined` if neither is known. */
  readonly caller?: string | undefined
}

export interface Event {
  /** Position in the stream, starting at 0 without gaps. */
  readonly seq: number
  /** The complete event as sent, including the `id` field. */
  readonly text: string
}

/** The requested events are no longer stored, or never were. The client receives a 410. */
export class EventsGone extends Data.TaggedError("EventsGone")<{ readonly message: string }> {}

/**
 * Stores session events. If the context has no store, the endpoint keeps events in memory with the default limits. A store that fails or
 * hangs only leaves a gap in the stream; it never blocks the session.
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
     * Stores consecutive events. A session performs its writes one after another, in order. A write that dies leaves a gap. If present,
     * `text` is the concatenated text of all the events, so that storing them needs no copy.
     */
    readonly append: (key: StreamKey, events: ReadonlyArray<Event>, text?: string) => Effect.Effect<void>
    /** Returns a stream's events after `seq`, in order, as far as their append has completed. Fails if any of them is missing. */
    readonly after: (key: StreamKey, seq: number) => Effect.Effect<ReadonlyArray<Event>, EventsGone>
    /** Drops one stream of a session, or all of them. */
    readonly forget: (session: string, stream?: string) => Effect.Effect<void>
  }
>()("@effect-mcp/server/EventStore") {
  /** Stores events in this process's memory. */
  static readonly layerMemory = (limits?: MemoryLimits): Layer.Layer<EventStore> =>
    Layer.sync(EventStore, () => makeMemory(limits))
}

/** Limits, measured in string length: one byte per unit for ASCII, and at most three otherwise. */
export interface MemoryLimits {
  /** Limit across all sessions. Beyond it, the caller that stores the most loses whole streams, longest idle first. Default 64 MiB. */
  readonly maxBytes?: number | undefined
  /**
   * Share of `maxBytes` that one caller's sessions may use, from 0 to 1. Beyond it, whole streams are dropped, longest idle first. Each
   * session of an unknown caller counts as a separate caller, without this limit. Default 0.5.
   */
  readonly callerShare?: number | undefined
  /** Limit per session. Beyond it, the session loses whole streams, longest idle first. Default 16 MiB. */
  readonly maxBytesPerSession?: number | undefined
  /** Limit per stream. Beyond it, the oldest writes are dropped, but never the newest. Default 4 MiB. */
  readonly maxBytesPerStream?: number | undefined
}

/** The events of one write, stored as a single string because thousands of small strings burden the garbage collector. */
interface Batch {
  /** Position of the first event. */
  readonly seq: number
  readonly text: string
  /** Offsets where each event ends in the text, or `undefined` for a single event. */
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

interface StoredStream {
  readonly session: SessionEvents
  readonly stream: string
  batches: Array<Batch>
  /** Total length of `batches`. */
  bytes: number
}

interface SessionEvents {
  readonly id: string
  readonly caller: CallerEvents
  /** Streams, longest idle first. */
  readonly streams: Map<string, StoredStream>
  /** Total length of `streams`. */
  bytes: number
}

interface CallerEvents {
  /** The caller, or the ID of its only session if the caller is unknown. */
  readonly key: string
  /** The streams of all the caller's sessions, longest idle first. */
  readonly streams: Set<StoredStream>
}

class Memory {
  private readonly shares: Shares
  private readonly maxBytesPerSession: number
  private readonly maxBytesPerStream: number
  /** Sessions with stored events. */
  private readonly sessions = new Map<string, SessionEvents>()
  /** Callers with stored events. */
  private readonly callers = new Map<string, CallerEvents>()
  /** Callers grouped by the bit length of their byte count, so that the heaviest are found without a search. */
  private readonly sized: ReadonlyArray<Set<CallerEvents>> = Array.from({ length: 33 }, () => new Set())

  constructor(limits: MemoryLimits) {
    this.shares = new Shares(boundsOf(limits.maxBytes ?? 64 * 1024 * 1024, limits.callerShare ?? 0.5))
    this.maxBytesPerSession = limits.maxBytesPerSession ?? 16 * 1024 * 1024
    this.maxBytesPerStream = Math.min(limits.maxBytesPerStream ?? 4 * 1024 * 1024, this.maxBytesPerSession)
  }

  append(key: StreamKey, events: ReadonlyArray<Event>, text: string | undefined): void {
    if (events.length === 0) return
    const { maxBytesPerSession, maxBytesPerStream, shares } = this
    const session = this.sessionOf(key)
    const { caller } = session
    const stored = session.streams.get(key.stream) ?? { session, stream: key.stream, batches: [], bytes: 0 }
    const fits = this.fitting(events)
    const batch = batchOf(fits, fits.length === events.length ? text : undefined)
    if (stored.batches.length === 0) stored.batches = [batch]
    else stored.batches.push(batch)
    stored.bytes += batch.text.length
    session.streams.delete(key.stream)
    session.streams.set(key.stream, stored)
    caller.streams.delete(stored)
    caller.streams.add(stored)
    this.resize(session, batch.text.length - (stored.bytes > maxBytesPerStream ? this.shorten(stored) : 0))
    if (session.bytes > maxBytesPerSession) {
      this.dropWhile(() => session.bytes > maxBytesPerSession, session.streams.values(), stored)
    }
    if (key.caller && shares.exceededBy(caller.key, 0) === "perCaller") {
      this.dropWhile(() => shares.exceededBy(caller.key, 0) === "perCaller", caller.streams, stored)
    }
    if (shares.total > shares.bounds.total) this.makeRoom(stored)
  }

  after({ session, stream }: StreamKey, seq: number): Effect.Effect<ReadonlyArray<Event>, EventsGone> {
    const batches = this.sessions.get(session)?.streams.get(stream)?.batches ?? []
    const [first] = batches
    return first === undefined || first.seq > seq + 1
      ? Effect.fail(new EventsGone({ message: "These events are no longer stored" }))
      : Effect.succeed(batches.flatMap(eventsOf).filter((event) => event.seq > seq))
  }

  forget(id: string, stream: string | undefined): void {
    for (const stored of this.sessions.get(id)?.streams.values() ?? []) {
      if (stream === undefined || stored.stream === stream) this.drop(stored)
    }
  }

  private sessionOf({ caller, session: id }: StreamKey): SessionEvents {
    const known = this.sessions.get(id)
    if (known !== undefined) return known
    const session: SessionEvents = { id, caller: this.callerOf(caller || id), streams: new Map(), bytes: 0 }
    this.sessions.set(id, session)
    return session
  }

  private callerOf(key: string): CallerEvents {
    const known = this.callers.get(key)
    if (known !== undefined) return known
    const caller: CallerEvents = { key, streams: new Set() }
    this.callers.set(key, caller)
    return caller
  }

  /** Returns a caller's size class: the bit length of its byte count. */
  private sizeOf({ key }: CallerEvents): number {
    return 32 - Math.clz32(this.shares.of(key))
  }

  private resize(session: SessionEvents, change: number): void {
    const { caller } = session
    this.sized[this.sizeOf(caller)]?.delete(caller)
    session.bytes += change
    this.shares.add(caller.key, change)
    if (session.streams.size === 0) this.sessions.delete(session.id)
    if (caller.streams.size > 0) this.sized[this.sizeOf(caller)]?.add(caller)
    else this.callers.delete(caller.key)
  }

  private drop(stored: StoredStream): void {
    const { bytes, session, stream } = stored
    session.streams.delete(stream)
    session.caller.streams.delete(stored)
    this.resize(session, -bytes)
  }

  /** Returns the newest events that fit the limit, but at least one. */
  private fitting(events: ReadonlyArray<Event>): ReadonlyArray<Event> {
    let bytes = 0
    const tooOld = events.findLastIndex(({ text }) => (bytes += text.length) > this.maxBytesPerStream)
    return tooOld < 0 ? events : events.slice(Math.min(tooOld + 1, events.length - 1))
  }

  /** Drops whole batches, but never the newest. Returns the number of bytes freed. */
  private shorten(stored: StoredStream): number {
    const newest = stored.batches.length - 1
    let evicted = 0
    let freed = 0
    for (const { text } of stored.batches) {
      if (stored.bytes - freed <= this.maxBytesPerStream || evicted === newest) break
      freed += text.length
      evicted++
    }
    stored.batches.splice(0, evicted)
    stored.bytes -= freed
    return freed
  }

  /** Drops streams for as long as `over` returns true, except `spared`. */
  private dropWhile(over: () => boolean, streams: Iterable<StoredStream>, spared: StoredStream): void {
    for (const stored of streams) {
      if (!over()) return
      if (stored !== spared) this.drop(stored)
    }
  }

  /** Drops streams of the heaviest callers first, except `spared`. */
  private makeRoom(spared: StoredStream): void {
    const { shares, sized } = this
    const over = () => shares.total > shares.bounds.total
    for (let size = sized.length - 1; size >= 0; size--) {
      for (const heavy of sized[size] ?? []) {
        if (!over()) return
        this.dropWhile(() => over() && this.sizeOf(heavy) === size, heavy.streams, spared)
      }
    }
  }
}

/** Creates the service behind `layerMemory`. */
export const makeMemory = (limits: MemoryLimits = {}): EventStore["Service"] => {
  const memory = new Memory(limits)
  return {
    append: (key, events, text) => Effect.sync(() => memory.append(key, events, text)),
    after: (key, seq) => Effect.suspend(() => memory.after(key, seq)),
    forget: (session, stream) => Effect.sync(() => memory.forget(session, stream))
  }
}
