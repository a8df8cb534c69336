/**
 * A stream of server-sent events that outlives its connections: the one of a POST, or the one that stands for its session.
 *
 * Owns the ids of the events, which it assigns at once, and the order. At most one connection takes from it; a newer one takes over.
 * Where there is a log every event goes there too, so a client whose connection was cut gets what it missed: nothing lost, nothing
 * twice. Counted in bytes like any outbox.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import { Flow } from "../response/SseBody.ts"
import { EventsGone, type Event } from "./EventStore.ts"
import { Burst, burstSize } from "./EventBatch.ts"

/** Above this many bytes waiting, senders wait. Not more: there are many streams, and each may have as much of a client that stopped. */
const highWater = 256 * 1024

/** Where the events of one stream are kept. */
export interface Log {
  /** Told of each event, the last one of its burst. */
  append(burst: Burst): void
  /** Those behind a place, up to the newest whose append was called, but for any that were not kept. */
  after(seq: number): Effect.Effect<ReadonlyArray<Event>, EventsGone>
}

/** Told when the stream gets a connection, and when it has none any more. */
export interface Owner {
  attached(): void
  detached(): void
}

export interface Options {
  /** Unique in its session. */
  readonly name: string
  /** Without one, events have no ids and what a cut loses is lost. */
  readonly log: Log | undefined
  readonly owner: Owner
}

const retryField = (retry: Duration.Input): string =>
  `retry: ${Math.ceil(Duration.toMillis(Duration.fromInputUnsafe(retry)))}\n`

/** What a Last-Event-ID names. */
export const cursorOf = (eventId: string): { readonly stream: string; readonly seq: number } | undefined => {
  const [, stream, seq] = /^([0-9a-z]+)-(\d{1,15})$/.exec(eventId) ?? []
  return stream === undefined ? undefined : { stream, seq: Number(seq) }
}

export class EventStream {
  readonly name: string
  /** How the ids of its events begin. */
  private readonly id: string
  private readonly log: Log | undefined
  private readonly owner: Owner
  /** The place of the next event. */
  private next = 0
  /** Events that no connection has taken, the last of which is the newest of all. */
  private waiting: Array<Burst> = []
  private bytes = 0
  /** Made when somebody waits for it. */
  private room: Latch.Latch | undefined = undefined
  private connection: Connection | undefined = undefined
  /** What the first connection is to end with, where that was said before there is one. */
  private parting: string | undefined = undefined
  private fresh = true
  /** Whether the last event was written. */
  ended = false
  /** Whether a connection has taken an event with an id: only then can a client come back. */
  resumable = false

  constructor({ log, name, owner }: Options) {
    this.name = name
    this.id = `id: ${name}-`
    this.log = log
    this.owner = owner
  }

  /** Whether there ever was a connection. */
  get wasAttached(): boolean {
    return !this.fresh
  }

  get attached(): boolean {
    return this.connection !== undefined
  }

  writable(): boolean {
    return this.bytes < highWater || this.ended
  }

  get ready(): Effect.Effect<void> {
    return Effect.suspend(() => (this.writable() ? Effect.void : (this.room ??= Latch.makeUnsafe(false)).await))
  }

  private makeRoom(): void {
    if (this.room === undefined || !this.writable()) return
    const { room } = this
    this.room = undefined
    room.openUnsafe()
  }

  /** An event that says nothing, so that there is an id to come back with. */
  prime(retry: Duration.Input): void {
    this.push("", retryField(retry))
  }

  /** One message, as JSON. */
  write(json: string): void {
    this.push(json, "")
  }

  private push(data: string, fields: string): void {
    if (this.ended) return
    const seq = this.next++
    const text = `${this.log === undefined ? fields : `${this.id}${seq}\n${fields}`}data: ${data}\n\n`
    let burst = this.waiting.at(-1)
    if (burst?.isOpen !== true) this.waiting.push((burst = new Burst(seq)))
    burst.add(text)
    this.bytes += text.length
    this.log?.append(burst)
    if (this.connection === undefined) this.trim()
    else this.connection.wake()
  }

  /** While nobody takes anything the oldest go, since not every sender waits; the log may still have them. */
  private trim(): void {
    while (this.bytes > highWater * 2 && this.waiting.length > 1) this.bytes -= this.waiting.shift()?.text.length ?? 0
  }

  /** No event will follow. */
  end(): void {
    this.ended = true
    this.makeRoom()
    this.connection?.wake()
    this.shed()
  }

  /** What is over is in the log only, once its connection has gone: what clients never come for must not be kept twice. */
  private shed(): void {
    if (!this.ended || this.fresh || this.attached || this.log === undefined) return
    this.waiting = []
    this.bytes = 0
  }

  /** Drops what nobody will ever take. */
  discard(): void {
    this.waiting = []
    this.bytes = 0
    this.end()
  }

  /** Ends the connection, not the stream: its client is told when to come back for the rest. */
  closeStream(retry: Duration.Input): void {
    const last = `${retryField(retry)}\n`
    if (this.fresh) this.parting = last
    else this.connection?.close(last)
  }

  /** A connection that takes from now on; one before it ends. */
  attach(): Connection {
    const before = this.connection
    before?.close("")
    this.connection = new Connection(this)
    if (before === undefined) this.owner.attached()
    if (this.parting !== undefined) this.connection.close(this.parting)
    this.fresh = false
    this.parting = undefined
    return this.connection
  }

  /** Has a connection, which attached just now, begin with what follows an event that the client has. */
  resume(connection: Connection, seq: number): Effect.Effect<void, EventsGone> {
    return Effect.flatMap(this.log?.after(seq) ?? Effect.succeed([]), (events) => {
      // A newer one took over while the log was read: what waits is not for this one.
      if (this.connection !== connection) return Effect.void
      const last = events.at(-1)?.seq ?? seq
      const first = this.waiting[0]?.first ?? this.next
      const isWhole = last + 1 >= first && events.every((event, at) => event.seq === seq + 1 + at)
      if (!isWhole) return Effect.fail(new EventsGone({ message: "Not all of these events were kept" }))
      connection.before = events.map(({ text }) => text).join("")
      // Sent while the log was read: it may have been in there already.
      this.drop(last)
      return Effect.void
    })
  }

  /** Whether an event of that place was sent. */
  has(seq: number): boolean {
    return seq < this.next
  }

  /** Up to a place. */
  private drop(last: number): void {
    const left = this.waiting.flatMap((burst) =>
      burst.first > last ? [burst] : burst.last > last ? [burst.after(last)] : []
    )
    this.waiting = left
    this.bytes = left.reduce((bytes, { text }) => bytes + text.length, 0)
    this.makeRoom()
  }

  /** A connection has ended. */
  detach(connection: Connection): void {
    connection.close("")
    if (this.connection !== connection) return
    this.connection = undefined
    this.shed()
    this.owner.detached()
  }

  /** Whether nothing waits. */
  get taken(): boolean {
    return this.waiting.length === 0
  }

  /** For a connection: what waits, or the first of it. */
  take(connection: Connection): string {
    if (this.connection !== connection) return ""
    let text = this.waiting.shift()?.close() ?? ""
    for (let next = this.waiting[0]; next !== undefined; next = this.waiting[0]) {
      if (text.length + next.text.length > burstSize) break
      text += next.close()
      this.waiting.shift()
    }
    this.bytes -= text.length
    // An array that was ever filled has room for many.
    if (this.taken) this.waiting = []
    this.makeRoom()
    if (text !== "" && this.log !== undefined) this.resumable = true
    return text
  }
}

/** One response that carries a stream, or a part of it. */
export class Connection extends Flow {
  /** Written before anything that waits. */
  before = ""
  private readonly stream: EventStream
  /** Written at the end, once that is near. */
  private last: string | undefined = undefined
  private done = false

  constructor(stream: EventStream) {
    super()
    this.stream = stream
  }

  close(last: string): void {
    this.last ??= last
    this.wake()
  }

  protected override next(): string | undefined {
    if (this.done) return undefined
    const { last } = this
    // Looked at before anything is taken: that makes room, and who waited for it says the rest at once.
    const { ended } = this.stream
    const taken = this.before + this.stream.take(this)
    // What a connection leaves is for the next one.
    this.done = last !== undefined || (ended && this.stream.taken)
    this.before = ""
    const text = taken + (last ?? "")
    return text === "" && this.done ? undefined : text
  }
}
