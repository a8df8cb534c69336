/**
 * Supervises a single server: holds its client and state, and reconnects to it.
 *
 * The client itself tries to reopen a lost connection once or twice. After that, the supervisor takes over and retries with growing delays.
 * It also pings the server from time to time. If the server rejects the credentials (401, 403), the supervisor doesn't retry on its own.
 */
import { TransportError } from "@effect-mcp/core/Transport"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Client } from "../Client.ts"
import { Closed, denied, Forbidden, Unauthorized } from "../ClientError.ts"
import { type RetryPolicy, wait } from "../connection/Backoff.ts"
import { Hub } from "../internal/Hub.ts"
import type { TableServer } from "./Server.ts"
import { type ServerState, Unavailable } from "./ServerState.ts"

export interface Options {
  /** Delays between attempts to reach a server that is down. Default: 1 second at first, growing to 30 seconds. */
  readonly retry?: Pick<RetryPolicy, "delay" | "maxDelay"> | undefined
  /** How often to ping a connected server. Default 30 seconds. `Duration.infinity` disables pings. */
  readonly check?: Duration.Input | undefined
  /**
   * How long a request waits for a server that is still connecting, and how long to wait for a response to a ping or list request. Default
   * 10 seconds.
   */
  readonly patience?: Duration.Input | undefined
}

/** Default time that a request waits for a server. */
export const defaultPatience: Duration.Input = "10 seconds"

export interface Supervised {
  readonly name: string
  readonly state: () => ServerState
  /** Emits the current state, followed by every change. */
  readonly states: Stream.Stream<ServerState>
  /** Returns the client. Waits if the server is still connecting. */
  readonly client: Effect.Effect<Client, Unavailable>
  /** Pings the server soon. Called when a request's failure suggests that the server is gone. */
  readonly suspect: () => void
  /** Tries to connect immediately and waits for the result. */
  readonly retry: Effect.Effect<ServerState>
}

const connecting: ServerState = { _tag: "Connecting" }

/** Number of states to keep for a slow reader. */
const capacity = 64

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** True if only other credentials can help. */
const isRefusal = (error: unknown): boolean => {
  const reason = denied(error)
  if (reason instanceof Unauthorized || reason instanceof Forbidden) return true
  const transport = error instanceof Closed ? error.cause : error
  return transport instanceof TransportError && (transport.status === 401 || transport.status === 403)
}

class Supervisor implements Supervised {
  readonly name: string
  readonly patience: Duration.Input
  private current: ServerState = connecting
  private made: Client | undefined
  private settled = Deferred.makeUnsafe<void>()
  private readonly hub = new Hub<ServerState>()
  private readonly options: Options
  private readonly signals: Queue.Queue<void>

  constructor(name: string, options: Options, signals: Queue.Queue<void>) {
    this.name = name
    this.options = options
    this.signals = signals
    this.patience = options.patience ?? defaultPatience
  }

  readonly states: Stream.Stream<ServerState> = Stream.suspend(() => this.hub.stream(capacity, this.current))

  readonly state = (): ServerState => this.current

  readonly suspect = (): void => {
    if (this.current._tag === "Connected") this.signal()
  }

  private signal(): void {
    Queue.offerUnsafe(this.signals, undefined)
  }

  private enter(next: ServerState): void {
    const before = this.current
    this.current = next
    if (next._tag !== "Connecting") Deferred.doneUnsafe(this.settled, Exit.void)
    else if (before._tag !== "Connecting") this.settled = Deferred.makeUnsafe()
    if (before._tag !== next._tag || next._tag === "Down") this.hub.publish(next)
  }

  readonly opened = (): void => {
    if (this.made !== undefined && this.current._tag !== "Connected") this.signal()
  }

  readonly closed = (): void => {
    if (this.made === undefined || this.current._tag !== "Connected") return
    this.enter(connecting)
    this.signal()
  }

  private unavailable(message: string, cause?: unknown): Unavailable {
    return new Unavailable({ server: this.name, message: `The server ${this.name} ${message}`, cause })
  }

  readonly client: Effect.Effect<Client, Unavailable> = Effect.suspend(() => {
    const { current, made } = this
    if (current._tag === "Down")
      return Effect.fail(this.unavailable(`is not connected: ${current.message}`, current.cause))
    if (current._tag === "Connected" && made !== undefined) return Effect.succeed(made)
    return Effect.andThen(
      Effect.timeoutOrElse(Deferred.await(this.settled), {
        duration: this.patience,
        orElse: () => Effect.fail(this.unavailable("is still connecting"))
      }),
      this.client
    )
  })

  readonly retry: Effect.Effect<ServerState> = Effect.suspend(() => {
    if (this.current._tag === "Down") {
      this.enter(connecting)
      this.signal()
    }
    return Effect.map(Deferred.await(this.settled), () => this.current)
  })

  private untilUp<A, E, R>(attempt: Effect.Effect<A, E, R>, tries = 1): Effect.Effect<A, never, R> {
    return Effect.catchCause(attempt, (cause) =>
      Queue.clear(this.signals).pipe(
        Effect.andThen(this.fall(Cause.squash(cause), tries)),
        Effect.andThen(Effect.suspend(() => this.untilUp(attempt, tries + 1)))
      )
    )
  }

  /** Records that the server is down, and waits until the next attempt. */
  private fall(error: unknown, tries: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      const retries = !isRefusal(error)
      this.enter({ _tag: "Down", message: messageOf(error), cause: error, tries, retries })
      const { delay = "1 second", maxDelay } = this.options.retry ?? {}
      const signal = Queue.take(this.signals)
      const pause = retries ? Effect.raceFirst(signal, wait(tries + 1, { delay, maxDelay })) : signal
      return Effect.andThen(Effect.logDebug(`The server ${this.name} is not connected`, error), pause)
    })
  }

  private connected(client: Client): void {
    this.made = client
    this.enter({ _tag: "Connected", revision: client.revision.version, info: client.serverInfo })
  }

  /** Connects to the server and keeps reconnecting until interrupted. */
  run<E, R>(open: Effect.Effect<Client, E, R>): Effect.Effect<never, never, R> {
    const ping = (client: Client) =>
      Effect.timeoutOrElse(client.ping, {
        duration: this.patience,
        orElse: () => Effect.fail(this.unavailable("did not respond to a ping in time"))
      })
    const checked = (client: Client) =>
      Effect.raceFirst(Queue.take(this.signals), Effect.sleep(this.options.check ?? "30 seconds")).pipe(
        Effect.andThen(Effect.suspend(() => this.untilUp(ping(client)))),
        Effect.andThen(Effect.sync(() => this.connected(client))),
        Effect.forever
      )
    return Effect.flatMap(this.untilUp(open), (client) => {
      this.connected(client)
      return checked(client)
    })
  }
}

/** Starts supervising a server until the scope closes. Returns immediately. */
export const make = Effect.fnUntraced(function* <E, R>(
  name: string,
  server: TableServer<E, R>,
  options: Options
): Effect.fn.Return<Supervised, never, R | Scope.Scope> {
  const supervisor = new Supervisor(name, options, yield* Queue.sliding<void>(1))
  const scope = yield* Scope.Scope
  const open = Effect.suspend(() => {
    const own = Scope.forkUnsafe(scope)
    return Effect.onExit(Scope.provide(server.open(name, supervisor), own), (exit) =>
      Exit.isFailure(exit) ? Scope.close(own, exit) : Effect.void
    )
  })
  yield* Effect.forkScoped(supervisor.run(open))
  return supervisor
})
