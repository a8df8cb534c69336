/**
 * The guests of a session that is held here: other nodes that run requests of it beside this one.
 *
 * Owns that no guest runs a request by an old state of the session: a change is over when each guest has been told, or its grant has ended.
 */
import type { Single, RequestAborted } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { RelayError } from "../../session/Relay.ts"
import type { ToGuest } from "./GuestLink.ts"
import { addressee, askedBy } from "./questionIds.ts"

/** How long a message may wait: for its guest to be known, and for the node of its guest to take it, in milliseconds. */
const patience = 5000
/** Messages for guests that are not known yet, after another node held the session. */
const unclaimed = 64
/** Characters of these messages. */
const unclaimedLength = 4 * 1024 * 1024
/** How long a guest whose grant has ended is remembered, in milliseconds: its requests may still wait for answers. */
const remembered = 60_000

interface Guest {
  readonly node: string
  readonly until: number
}

/** What this module uses of `GuestLink`. */
export interface Link {
  readonly now: number
  say(node: string, session: string, message: ToGuest): Effect.Effect<object, RelayError>
}

export interface Options {
  /** Another node held it before where `epoch` is beyond 1: its guests may not be known yet. */
  readonly session: { readonly id: string; readonly epoch: number; isRunning(id: JsonRpc.Id): boolean }
  readonly link: Link
  readonly fork: (effect: Effect.Effect<void>) => void
}

type Told = ToGuest extends infer T ? (T extends ToGuest ? Omit<T, "guest"> : never) : never

export class HeldGuests {
  private readonly options: Options
  private readonly guests = new Map<number, Guest>()
  private early: Array<readonly [guest: number, message: JsonRpc.Message, length: number]> = []
  /** Until when guests may become known that the node before had, in milliseconds of the monotonic clock. */
  private readonly claimed: number
  private level: LoggingLevel | undefined
  private ending: Deferred.Deferred<void> | undefined = undefined

  constructor(options: Options, level: LoggingLevel | undefined) {
    this.options = options
    this.level = level
    this.claimed = options.session.epoch > 1 ? options.link.now + patience : -Infinity
  }

  /** Lets a node run requests for `left` milliseconds; false once the session ends. */
  admit(guest: number, node: string, left: number): boolean {
    if (this.ending !== undefined) return false
    const { now } = this.options.link
    for (const [other, { until }] of this.guests) if (until < now - remembered) this.guests.delete(other)
    this.guests.set(guest, { node, until: now + left })
    const claimed = this.early.filter(([other]) => other === guest)
    if (claimed.length > 0) this.early = this.early.filter(([other]) => other !== guest)
    for (const [, message] of claimed) this.pass(guest, message)
    return true
  }

  /** Where a guest is; undefined for one that is not known. */
  nodeOf(guest: number): string | undefined {
    return this.guests.get(guest)?.node
  }

  // ---- messages of the client

  /** Passes a message on that concerns guests. True where it concerns nothing here. */
  takes(inbound: Single | RequestAborted): boolean {
    if (inbound._tag === "RequestAborted") return false
    if (inbound._tag === "InvalidMessage") {
      const guest = inbound.response ? askedBy(inbound.id) : undefined
      return guest !== undefined && this.pass(guest, JsonRpc.failure(inbound.id, inbound.error))
    }
    const { message } = inbound
    if (JsonRpc.isRequest(message)) return false
    const guest = addressee(message)
    if (guest !== undefined) return this.pass(guest, message)
    if (!JsonRpc.isNotification(message) || !this.isForAll(message)) return false
    for (const each of this.guests.keys()) this.pass(each, message)
    return false
  }

  private isForAll({ method, params }: JsonRpc.Notification): boolean {
    if (method === "notifications/roots/list_changed") return true
    const id = params?.["requestId"]
    return method === "notifications/cancelled" && JsonRpc.isId(id) && !this.options.session.isRunning(id)
  }

  private pass(guest: number, message: JsonRpc.Message): true {
    const { fork, link, session } = this.options
    const node = this.nodeOf(guest)
    if (node === undefined) this.keep(guest, message)
    else fork(Effect.ignore(Effect.timeout(link.say(node, session.id, { kind: "message", guest, message }), patience)))
    return true
  }

  /** Keeps a message for a guest that may become known; the oldest ones make room. */
  private keep(guest: number, message: JsonRpc.Message): void {
    const { fork, link } = this.options
    const left = this.claimed - link.now
    if (left <= 0) return
    if (this.early.length === 0) {
      const clear = Effect.sync(() => {
        this.early = []
      })
      fork(Effect.andThen(Effect.sleep(left), clear))
    }
    this.early.push([guest, message, JsonRpc.encode(message).length])
    let length = this.early.reduce((sum, [, , own]) => sum + own, 0)
    while (this.early.length > unclaimed || length > unclaimedLength) length -= this.early.shift()?.[2] ?? length
  }

  // ---- changes of the session

  /** Tells all guests; waits for each until its grant has ended, and as `untold` does for one whose node cannot be reached. */
  private tell(told: Told, untold: Effect.Effect<void> = Effect.never): Effect.Effect<void> {
    const { link, session } = this.options
    return Effect.suspend(() => {
      const { now } = link
      const current = Array.from(this.guests).filter(([, { until }]) => until > now)
      return Effect.forEach(
        current,
        ([guest, { node, until }]) => {
          const said = Effect.catch(Effect.asVoid(link.say(node, session.id, { ...told, guest })), () => untold)
          return Effect.timeoutOption(said, until - now)
        },
        { concurrency: "unbounded", discard: true }
      )
    })
  }

  /** The log level of the session, of which the guests know once the effect is over. */
  levelled(level: LoggingLevel | undefined): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (level === this.level) return Effect.void
      this.level = level
      return this.tell({ kind: "level", level: level ?? null })
    })
  }

  /**
   * Another node will hold the session, or none: over once guests run nothing new of it. A guest that cannot be reached is not waited for:
   * its node may be gone, and this one is to leave.
   */
  revoke(): Effect.Effect<void> {
    return Effect.suspend(() => (this.ending === undefined ? this.tell({ kind: "revoke" }, Effect.void) : Effect.void))
  }

  /** The session has ended: guests end its requests. A second call does nothing. */
  end(reason: string): void {
    if (this.ending !== undefined) return
    const ending = Deferred.makeUnsafe<void>()
    this.ending = ending
    this.options.fork(
      Effect.ensuring(
        this.tell({ kind: "end", reason }),
        Effect.sync(() => Deferred.doneUnsafe(ending, Effect.void))
      )
    )
  }

  /** Waits until no guest runs a new request of a session that has ended. */
  get over(): Effect.Effect<void> {
    return this.ending === undefined ? Effect.void : Deferred.await(this.ending)
  }
}
