/**
 * The sessions of other nodes of which this one runs requests, as a guest: those that need nothing of the node that holds the session.
 *
 * Owns when a guest may run them. The node that holds the session grants it for as long as its own lease lasts, and takes the grant back
 * at a change. Without a grant requests are sent there, so a guest never makes a request wait.
 */
import { Deadlines, type Entries, type Fork } from "@effect-mcp/core/internal/Deadlines"
import * as Headers from "@effect-mcp/protocol/Headers"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import type { LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as HttpServerResponse from "effect/http/HttpServerResponse"
import type { McpServer } from "../../dispatch/Server.ts"
import { isModern } from "../../dispatch/StatelessEntrance.ts"
import type { Nodes } from "../../session/Nodes.ts"
import { type HttpRequest, ownerOf, principalOf } from "../request/HttpRequest.ts"
import type { HttpExchange } from "../request/HttpExchange.ts"
import type { GuestLink, Joined, KeptGuest, ToGuest } from "./GuestLink.ts"
import { GuestSession } from "./GuestSession.ts"
import type { Config } from "./HttpSession.ts"
import { isConnected, sessionIdHeader } from "./HttpSessions.ts"
import { addressee, drawGuest } from "./questionIds.ts"
import type { RemoteRequest } from "./RemoteRequest.ts"
import type { SessionEndpoint } from "./SessionEndpoint.ts"
import { SessionTable } from "./SessionTable.ts"
import { cursorOf, lastEventIdHeader } from "./StreamName.ts"

type Answer = Effect.Effect<HttpServerResponse.HttpServerResponse>

/**
 * Whether a request may run at a guest. A call that makes a task may not: the task is looked for where the session is held. A request of
 * the stateless era is answered there without its session.
 */
const isLocal = (request: JsonRpc.Request): boolean =>
  MethodInfo.ofRequest(request.method)?.anyNode === true && request.params?.["task"] === undefined && !isModern(request)

/** How long a session without requests here is kept as a guest, in milliseconds. */
const used = 10_000
/** Sessions whose requests were sent to other nodes that are remembered. */
const capacity = 10_000
/** How long another node may take to answer, in milliseconds. */
const patience = 2000
/** The longest pause between renewals, in milliseconds. */
const longest = 500

/** A guest, from the question whether this node may be one. */
interface Guest {
  readonly id: string
  readonly number: number
  /** Undefined until it may run requests for the first time. */
  session: GuestSession | undefined
  /** The node that holds the session. */
  home: string
  /** The name of this node when it was granted. */
  node: string
  /** When the grant ends; times are milliseconds of the monotonic clock. */
  until: number
  /** When the other node last announced a change: a grant that was asked for before is void. */
  told: number
  /** When a client last used it here. */
  at: number
  /** Whether that was after the last renewal. */
  isNew: boolean
}

export interface Options {
  readonly nodes: Nodes["Service"]
  readonly server: McpServer["Service"]
  readonly link: GuestLink
  readonly stateful: SessionEndpoint
  readonly config: Config
  readonly fork: Fork
  readonly exchanges: { readonly admits: boolean }
}

export class GuestSessions implements Entries {
  private readonly options: Options
  private readonly config: Config
  readonly table: SessionTable<GuestSession>
  private readonly guests = new Map<string, Guest>()
  private readonly byNumber = new Map<number, Guest>()
  /** When a request of a session was last sent to another node; the one longest ago first. */
  private readonly sent = new Map<string, number>()
  private readonly renewals: Deadlines
  private pause = longest

  constructor(options: Options) {
    const { config, fork } = options
    this.options = options
    this.config = { ...config, ended: (session) => this.over(session.id, "The session has ended") }
    // Streams of a guest are kept for `window` after its last request, and forgotten in the next round.
    const idle = 2 * Duration.toMillis(config.window) + 60_000
    const unlimited = { perAddress: Infinity, perCaller: Infinity }
    this.table = new SessionTable({ ...unlimited, capacity, idle }, config.clock, fork)
    this.renewals = new Deadlines(config.clock, fork, this)
  }

  private get now(): number {
    return this.options.link.now
  }

  /** The guest of a request's session, where its caller may use it. */
  private of(http: HttpRequest): Guest | undefined {
    const guest = this.guests.get(http.headers[sessionIdHeader] ?? "")
    return guest?.session?.owner === ownerOf(http) ? guest : undefined
  }

  private mayRun({ node, session, until }: Guest, { headers }: HttpRequest): boolean {
    const { exchanges, nodes } = this.options
    const { directory } = nodes
    if (!exchanges.admits || this.now >= until || node !== directory.node || directory.isCutOff) return false
    const version = headers[Headers.version]
    return version === undefined || version === session?.session?.negotiated?.revision.version
  }

  // ---- requests

  /** Answers a request of a session that another node holds; undefined where that node has to. */
  answer(remote: RemoteRequest): Answer | undefined {
    const { exchange, http } = remote
    const guest = this.of(http)
    const session = guest?.session
    if (guest === undefined || session === undefined || !isConnected(session)) return undefined
    const body = http.method === "POST" ? remote.decoded : undefined
    if (body?._tag !== "Message") return undefined
    const { message } = body
    const isHere = JsonRpc.isRequest(message)
      ? isLocal(message) && this.mayRun(guest, http)
      : this.concerns(session, message)
    if (!isHere) return undefined
    guest.at = this.now
    guest.isNew = true
    session.touch()
    return this.options.stateful.receive(session, body, exchange)
  }

  /** Whether a message that is no request is for a request that runs here. */
  private concerns(session: GuestSession, message: JsonRpc.Message): boolean {
    if (addressee(message) === session.guest) return true
    if (!("method" in message) || message.method !== "notifications/cancelled") return false
    const id = message.params?.["requestId"]
    return JsonRpc.isId(id) && session.isRunning(id)
  }

  /** The guest whose stream a GET resumes. */
  private resumed(http: HttpRequest): { readonly session: GuestSession; readonly eventId: string } | undefined {
    const eventId = http.headers[lastEventIdHeader]
    const session = eventId === undefined ? undefined : this.of(http)?.session
    if (eventId === undefined || session === undefined || this.config.store === undefined) return undefined
    const cursor = cursorOf(eventId)
    return cursor !== undefined && session.names(cursor.stream) ? { session, eventId } : undefined
  }

  /** Whether a GET resumes a stream of a guest. */
  resumes(http: HttpRequest): boolean {
    return http.method === "GET" && this.resumed(http) !== undefined
  }

  /** Answers a GET that resumes a stream of a guest; undefined for any other. */
  resume(http: HttpRequest, exchange: HttpExchange): Answer | undefined {
    const found = this.resumed(http)
    return found && this.options.stateful.resume(found.session, found.eventId, exchange)
  }

  // ---- the grant

  /** Called when the node that holds the session was sent a request. The second one shortly after another makes this node a guest. */
  wasSent({ http }: RemoteRequest, home: string): void {
    const id = http.headers[sessionIdHeader] ?? ""
    const { now } = this
    const known = this.guests.get(id)
    if (known !== undefined) {
      known.home = home
      known.at = now
      known.isNew = true
      return this.renewals.begin(this.pause)
    }
    const last = this.sent.get(id) ?? -Infinity
    // It lies ahead where the other node refused this one.
    if (last > now) return
    if (now - last < used) return this.join(id, home, http)
    this.wasSentAt(id, now)
  }

  private wasSentAt(id: string, now: number): void {
    this.sent.delete(id)
    this.sent.set(id, now)
    if (this.sent.size <= capacity) return
    for (const oldest of this.sent.keys()) return void this.sent.delete(oldest)
  }

  private join(id: string, home: string, http: HttpRequest): void {
    const { exchanges, fork, link } = this.options
    if (this.table.full || !exchanges.admits) return
    const { node, now } = link
    const guest: Guest = {
      id,
      number: drawGuest(this.byNumber),
      session: undefined,
      home,
      node,
      until: 0,
      told: -Infinity,
      at: now,
      isNew: true
    }
    this.guests.set(id, guest)
    this.byNumber.set(guest.number, guest)
    const joined = Effect.flatMap(
      link.say(home, id, { kind: "join", node, guest: guest.number }, http),
      ({ left, ...joined }) =>
        Effect.map(this.opened(guest, http, joined), (isOpen) => {
          if (isOpen) this.grant(guest, node, now, left)
        })
    )
    fork(
      Effect.onExit(Effect.ignoreCause(Effect.timeout(joined, patience)), () =>
        Effect.sync(() => {
          if (guest.session === undefined) {
            this.forget(guest)
            this.wasSentAt(id, now + used)
          } else this.renewals.begin(this.pause)
        })
      )
    )
  }

  /** Opens the session here; gives whether it has not ended meanwhile. */
  private opened(guest: Guest, http: HttpRequest, { epoch, record }: Omit<Joined, "left">): Effect.Effect<boolean> {
    const { config, options } = this
    const { server } = options
    const { id, number } = guest
    return Effect.suspend(() => {
      const session = new GuestSession(number, (message) => this.forward(session, message), {
        id,
        principal: principalOf(http),
        address: http.address,
        config,
        epoch
      })
      const connected = Effect.suspend(() =>
        session.session === undefined
          ? Effect.die(new Error("The session could not be connected"))
          : // The node that holds the session runs its subscriptions.
            server.restore(session.session, { ...record, subscriptions: [] })
      )
      const restored = Effect.andThen(session.start(server.connect), connected)
      return Effect.uninterruptibleMask((interruptible) =>
        Effect.flatMap(Effect.exit(interruptible(restored)), (exit) => {
          const isOpen = Exit.isSuccess(exit) && this.guests.get(id) === guest
          if (!isOpen) return Effect.as(session.close("The session has ended"), false)
          this.table.add(session)
          guest.session = session
          return Effect.succeed(true)
        })
      )
    })
  }

  private grant(guest: Guest, node: string, asked: number, left: number): void {
    if (guest.told >= asked) return
    guest.node = node
    guest.until = asked + left
    this.pause = Math.min(Math.max(left / 2, 10), longest)
  }

  /** This node holds the session from now on: what the node before has granted is void. */
  held(id: string): void {
    const guest = this.guests.get(id)
    if (guest === undefined) return
    guest.told = this.now
    guest.until = 0
  }

  private forget(guest: Guest): void {
    if (this.guests.get(guest.id) === guest) this.guests.delete(guest.id)
    if (this.byNumber.get(guest.number) === guest) this.byNumber.delete(guest.number)
  }

  /** The session has ended, or is not used here any more. */
  private over(id: string, reason: string): void {
    const guest = this.guests.get(id)
    if (guest === undefined) return
    this.forget(guest)
    guest.until = 0
    if (guest.session !== undefined) this.table.end(guest.session, reason)
  }

  // ---- renewals

  private isBusy({ session }: Guest): boolean {
    return session !== undefined && session.idleSince === undefined
  }

  /** Renews the grants of the guests that are in use, with one message to each node that holds some. */
  look(monotonic: number): number {
    const { fork } = this.options
    const { now } = this
    const byHome = new Map<string, Array<Guest>>()
    for (const guest of this.guests.values()) {
      if (guest.session === undefined || (now - guest.at >= used && !this.isBusy(guest))) continue
      const list = byHome.get(guest.home) ?? []
      byHome.set(guest.home, list)
      list.push(guest)
    }
    for (const [home, guests] of byHome) fork(this.renew(home, guests))
    return this.guests.size > 0 ? monotonic + this.pause : Infinity
  }

  private renew(home: string, guests: ReadonlyArray<Guest>): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { link } = this.options
      const { node, now } = link
      const kept = guests.map((guest): KeptGuest => [guest.id, guest.number, guest.isNew || this.isBusy(guest)])
      for (const guest of guests) guest.isNew = false
      const renewed = Effect.timeout(link.say(home, "", { kind: "renew", node, guests: kept }), patience)
      return Effect.matchEffect(renewed, {
        onFailure: () => this.found(guests),
        onSuccess: ({ left, levels }) => {
          for (const [at, guest] of guests.entries()) {
            const level = levels[at]
            if (level === undefined || level === false) continue
            if (guest.told < now) this.level(guest, level ?? undefined)
            this.grant(guest, node, now, left)
          }
          return this.found(guests.filter((_, at) => levels[at] === false))
        }
      })
    })
  }

  private level({ session }: Guest, level: LoggingLevel | undefined): void {
    if (session?.session !== undefined) session.session.logLevel = level
  }

  /** Looks for the sessions of requests that run here, whose node does not have them any more; ends those that are nowhere. */
  private found(guests: ReadonlyArray<Guest>): Effect.Effect<void> {
    const { nodes, server } = this.options
    return Effect.forEach(
      guests.filter((guest) => this.isBusy(guest)),
      (guest) => {
        const seeker = { server: server.name, owner: guest.session?.owner ?? "", takes: false }
        return Effect.match(Effect.timeout(nodes.directory.locate(guest.id, seeker), patience), {
          onFailure: () => {},
          onSuccess: (located) => {
            if (located._tag === "Unknown") this.over(guest.id, "The session has ended")
            else guest.home = located._tag === "There" ? located.node : nodes.directory.node
          }
        })
      },
      { discard: true }
    )
  }

  // ---- messages of the node that holds a session

  /** Takes a message of the node that holds a session; false where that session has no such guest. */
  receive(told: ToGuest, session: string): boolean {
    const guest = this.byNumber.get(told.guest)
    if (guest?.id !== session) return false
    if (told.kind === "message") this.deliver(guest, told.message)
    else {
      guest.told = this.now
      if (told.kind === "level") this.level(guest, told.level ?? undefined)
      else guest.until = 0
      if (told.kind === "end") this.over(guest.id, told.reason)
    }
    return true
  }

  private deliver({ session }: Guest, message: JsonRpc.Message): void {
    if (session?.session === undefined) return
    if ("method" in message && message.method === "notifications/roots/list_changed")
      return session.session.rootsChanged()
    if (this.concerns(session, message)) session.receive({ _tag: "Message", message, envelope: {} })
  }

  /** Has the node that holds the session send a message that relates to no request. */
  private forward(session: GuestSession, message: JsonRpc.Message): void {
    const { fork, link } = this.options
    const home = this.guests.get(session.id)?.home
    const unsent = Effect.sync(() => {
      if (JsonRpc.isRequest(message)) session.unanswered(message.id, true)
    })
    if (home === undefined) return void fork(unsent)
    const said = Effect.timeout(link.say(home, session.id, { kind: "send", message }), patience)
    fork(Effect.matchEffect(said, { onFailure: () => unsent, onSuccess: ({ sent }) => (sent ? Effect.void : unsent) }))
  }

  /** Waits until no guest runs a request. */
  get idle(): Effect.Effect<void> {
    return Effect.suspend(() =>
      Effect.forEach(this.table.all(), (session) => session.idle, { concurrency: "unbounded", discard: true })
    )
  }
}
