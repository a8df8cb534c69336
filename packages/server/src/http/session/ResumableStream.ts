/**
 * A stream of a session that clients may come back to (spec: basic/transports, resumability and redelivery): that of one POST, or the
 * standalone GET stream.
 *
 * Owns the ids of events, which it assigns when they are sent. With a log each event goes there too: a client whose connection was cut
 * receives what it missed, nothing lost and nothing twice.
 */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { EventBatch } from "../response/EventBatch.ts"
import { EventStream } from "../response/EventStream.ts"
import type { SseBody } from "../response/SseBody.ts"
import { EventsGone, type Event } from "../../session/EventStore.ts"

/** Bytes that may wait before senders do: there are many streams, and each may hold as much for a client that stopped reading. */
const highWater = 256 * 1024

/** Where the events of one stream are kept. */
export interface EventLog {
  /** Called for each event, which is the last one of its batch. */
  append(batch: EventBatch): void
  /** The events after a place, up to the newest that was appended, but for those that were not kept. */
  after(seq: number): Effect.Effect<ReadonlyArray<Event>, EventsGone>
}

/** What a stream belongs to. */
export interface StreamOwner {
  /** Called when the stream gets a body and had none. */
  attached(): void
  /** Called when the stream has no body any more. */
  detached(): void
}

export interface Options {
  /** Unique in its session: digits and small letters. */
  readonly name: string
  /** Undefined where nothing is kept: then events have no ids, and what a cut loses is lost. */
  readonly log: EventLog | undefined
  readonly owner: StreamOwner
  /** The requests of its POST, which its events name in a comment, for another node to read. Default: they do not. */
  readonly requests?: ReadonlyArray<JsonRpc.Id> | undefined
}

const retryField = (retry: Duration.Input): string =>
  `retry: ${Math.ceil(Duration.toMillis(Duration.fromInputUnsafe(retry)))}\n`

/** What each event begins with, where another node may have to know the requests: the first events of a long stream are not kept. */
const commentOf = (requests: ReadonlyArray<JsonRpc.Id>): string => `: for ${JSON.stringify(requests)}\n`

/** The requests that an event names; undefined where it names none. */
export const requestsOf = ({ text }: Event): ReadonlyArray<JsonRpc.Id> | undefined => {
  const [, ids] = /^: for (\[.*\])\n/.exec(text) ?? []
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the event was written by `commentOf`, of this node or another
  return ids === undefined ? undefined : (JSON.parse(ids) as ReadonlyArray<JsonRpc.Id>)
}

export class ResumableStream extends EventStream {
  readonly name: string
  /** How the id field of each event begins. */
  private readonly id: string
  private readonly log: EventLog | undefined
  private readonly owner: StreamOwner
  private readonly comment: string
  /** The place of the next event: also how many were sent. */
  private next = 0
  /** What the first body ends with, where `closeStream` was called before there is one; undefined afterwards. */
  private firstSuffix: string | undefined = undefined
  /** Whether a body has taken an event with an id: only then can its client come back. Never false again. */
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

  /** An event without data, so that the client has an id to come back with (spec: priming event). */
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
    const batch = this.push(seq, `${this.comment}${idField}${fields}data: ${data}\n\n`)
    if (batch !== undefined) this.log?.append(batch)
    if (!this.attached) this.trim()
  }

  /** Without a body the oldest events are dropped, since not every sender waits; the log may still have them. */
  private trim(): void {
    while (this.bytes > highWater * 2 && this.waiting.length > 1) this.bytes -= this.waiting.shift()?.text.length ?? 0
  }

  /** Whether an event of that place was sent. */
  has(seq: number): boolean {
    return seq < this.next
  }

  override end(): void {
    super.end()
    this.dropBuffer()
  }

  /** The log alone keeps an ended stream whose client has gone: events that no client comes for are not kept twice. */
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

  /** Ends the connection and not the stream: the client is told when to come back for the rest. */
  closeStream(retry: Duration.Input): void {
    const suffix = `${retryField(retry)}\n`
    if (this.wasAttached) this.body?.close(suffix)
    else this.firstSuffix = suffix
  }

  /** Has a body, which attached just now, begin with the events after one that the client has. */
  resume(body: SseBody, seq: number): Effect.Effect<void, EventsGone> {
    return Effect.flatMap(this.log?.after(seq) ?? Effect.succeed([]), (events) => {
      // A newer body took over while the log was read: what waits is for that one.
      if (this.body !== body) return Effect.void
      const last = events.at(-1)?.seq ?? seq
      const first = this.waiting[0]?.first ?? this.next
      const isWhole = last + 1 >= first && events.every((event, at) => event.seq === seq + 1 + at)
      if (!isWhole) return Effect.fail(new EventsGone({ message: "Not all of these events were kept" }))
      body.prefix = events.map(({ text }) => text).join("")
      // Events that were sent while the log was read may be in it already.
      this.drop(last)
      return Effect.void
    })
  }

  /** Drops the events up to a place. */
  private drop(last: number): void {
    const left = this.waiting.flatMap((batch) =>
      batch.first > last ? [batch] : batch.last > last ? [batch.after(last)] : []
    )
    this.waiting = left
    this.bytes = left.reduce((bytes, { text }) => bytes + text.length, 0)
    this.makeRoom()
  }

  override take(body: SseBody): string {
    const text = super.take(body)
    if (text !== "" && this.log !== undefined) this.resumable = true
    return text
  }
}
