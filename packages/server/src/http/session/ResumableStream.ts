/**
 * A session's stream that clients may resume (spec: basic/transports, resumability and redelivery): the stream of one
 * POST, or the standalone GET stream.
 *
 * Assigns event ids when events are sent. If there is a log, each event is also logged, so that a client that lost its
 * connection receives every missed event exactly once.
 */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { EventStream } from "../response/EventStream.ts"
import type { SseBody } from "../response/SseBody.ts"
import { EventsGone, type Event } from "../../session/EventStore.ts"

/**
 * Bytes that may wait before senders are suspended. There are many streams, and each may hold this much for a client that stopped reading.
 */
const highWater = 256 * 1024

/** Name of the standalone GET stream. POSTs' streams are numbered from 1. */
export const getStream = "0"

/**
 * Returns a stream's name on the node that holds the session in an epoch. The first epoch adds nothing, so that a server with one node has
 * short names.
 */
export const nameIn = (epoch: number, name: string): string => (epoch === 1 ? name : `${name}.${epoch.toString(36)}`)

/** Returns the epoch in which a stream was named. */
export const epochOf = (name: string): number => Number.parseInt(name.split(".")[1] ?? "1", 36)

/** True if this is the name of a standalone GET stream in any epoch. */
export const isGetStream = (name: string): boolean => name.split(".")[0] === getStream

/** An event of a stream. */
export interface EventCursor {
  readonly stream: string
  readonly seq: number
}

/** Parses a `Last-Event-ID`. Returns `undefined` if it is not the id of an event. */
export const cursorOf = (eventId: string): EventCursor | undefined => {
  const [, stream, seq] = /^([0-9a-z]+(?:\.[0-9a-z]{1,8})?)-(\d{1,15})$/.exec(eventId) ?? []
  return stream === undefined ? undefined : { stream, seq: Number(seq) }
}

/** The store of one stream's events. */
export interface EventLog {
  /** Stores an event after the others. */
  append(event: Event): void
  /** Returns the events after a position, up to the newest that was appended, without events that could not be stored. */
  after(seq: number): Effect.Effect<ReadonlyArray<Event>, EventsGone>
}

/** The owner of a stream. */
export interface StreamOwner {
  /** Called when the stream gets a body and had none. */
  attached(): void
  /** Called when the stream has lost its body. */
  detached(): void
}

export interface Options {
  /** Unique in its session: digits and small letters. */
  readonly name: string
  /**
   * The log, or `undefined` if nothing is stored. Without a log, events have no ids, and events on a broken connection
   * are lost.
   */
  readonly log: EventLog | undefined
  readonly owner: StreamOwner
  /** IDs of its POST's requests, which its events list in a comment for other nodes. Default: no requests. */
  readonly requests?: ReadonlyArray<JsonRpc.Id> | undefined
}

const retryField = (retry: Duration.Input): string =>
  `retry: ${Math.ceil(Duration.toMillis(Duration.fromInputUnsafe(retry)))}\n`

/**
 * Text at the start of each event if another node may need the request IDs. Every event has it, because a long stream's
 * first events are not kept.
 */
const commentOf = (requests: ReadonlyArray<JsonRpc.Id>): string => `: for ${JSON.stringify(requests)}\n`

/** Returns the request IDs listed in an event, or `undefined` if it lists none. */
export const requestsOf = ({ text }: Event): ReadonlyArray<JsonRpc.Id> | undefined => {
  const [, ids] = /^: for (\[.*\])\n/.exec(text) ?? []
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the event was written by `commentOf`, of this node or another
  return ids === undefined ? undefined : (JSON.parse(ids) as ReadonlyArray<JsonRpc.Id>)
}

export class ResumableStream extends EventStream {
  readonly name: string
  /** Start of the id field of each event. */
  private readonly id: string
  private readonly log: EventLog | undefined
  private readonly owner: StreamOwner
  private readonly comment: string
  /** Position of the next event, which is also the number of events sent. */
  private next = 0
  /** How to end the first body, if `closeStream` is called before there is one. */
  private firstSuffix: string | undefined = undefined
  /** True once a body has taken an event with an id. Only then can its client resume the stream. */
  resumable = false

  constructor({ log, name, owner, requests }: Options) {
    super(highWater)
    this.name = name
    this.id = `id: ${name}-`
    this.log = log
    this.owner = owner
    this.comment = requests === undefined ? "" : commentOf(requests)
  }

  // ---- what is sent

  /** Sends an event without data, so that the client has an id to resume from (spec: priming event). */
  sendPrimingEvent(retry: Duration.Input): void {
    this.append("", retryField(retry))
  }

  override write(json: string): void {
    this.append(json, "")
  }

  private append(data: string, fields: string): void {
    if (this.ended) return
    const seq = this.next++
    const idField = this.log === undefined ? "" : `${this.id}${seq}\n`
    const text = `${this.comment}${idField}${fields}data: ${data}\n\n`
    this.push(seq, text)
    this.log?.append({ seq, text })
    if (!this.attached) this.trim()
  }

  /** Drops the oldest events while there is no body, because not every sender waits. The log may still have them. */
  private trim(): void {
    while (this.bytes > highWater * 2 && this.dropOldest());
  }

  /** Drops the oldest waiting event, but not the newest. Returns false if there is no other. */
  dropOldest(): boolean {
    if (this.waiting.length < 2) return false
    this.bytes -= this.waiting.shift()?.text.length ?? 0
    return true
  }

  /** True if an event with this position was sent. */
  has(seq: number): boolean {
    return seq < this.next
  }

  override end(): void {
    super.end()
    this.dropBuffer()
  }

  /**
   * If the stream has ended and its client is gone, keeps its events only in the log, so that events that may never be
   * fetched are not held twice.
   */
  private dropBuffer(): void {
    if (this.ended && this.wasAttached && !this.attached && this.log !== undefined) this.clear()
  }

  // ---- connections

  override attach(): SseBody {
    const wasAttached = this.attached
    const body = super.attach()
    if (!wasAttached) this.owner.attached()
    if (this.firstSuffix !== undefined) body.close(this.firstSuffix)
    this.firstSuffix = undefined
    return body
  }

  override detach(body: SseBody): void {
    const wasAttached = this.body === body
    super.detach(body)
    if (!wasAttached) return
    this.dropBuffer()
    this.owner.detached()
  }

  /** Ends the connection but not the stream, and tells the client when to reconnect for the rest. */
  closeStream(retry: Duration.Input): void {
    const suffix = `${retryField(retry)}\n`
    if (this.wasAttached) this.body?.close(suffix)
    else this.firstSuffix = suffix
  }

  /** Makes a newly attached body start with the events after the client's last event. */
  resume(body: SseBody, seq: number): Effect.Effect<void, EventsGone> {
    return Effect.flatMap(this.log?.after(seq) ?? Effect.succeed([]), (events) => {
      // A newer body took over while the log was read, and the waiting events are for that body.
      if (this.body !== body) return Effect.void
      const last = events.at(-1)?.seq ?? seq
      const first = this.waiting[0]?.seq ?? this.next
      const isWhole = last + 1 >= first && events.every((event, at) => event.seq === seq + 1 + at)
      if (!isWhole) return Effect.fail(new EventsGone({ message: "Some of these events are no longer stored" }))
      body.prefix = events.map(({ text }) => text).join("")
      // Events that were sent while the log was read may already be in it.
      this.drop(last)
      return Effect.void
    })
  }

  /** Drops the events up to a position. */
  private drop(last: number): void {
    this.waiting = this.waiting.filter(({ seq }) => seq > last)
    this.bytes = this.waiting.reduce((bytes, { text }) => bytes + text.length, 0)
    this.makeRoom()
  }

  override take(body: SseBody): string {
    const text = super.take(body)
    if (text !== "" && this.log !== undefined) this.resumable = true
    return text
  }
}
