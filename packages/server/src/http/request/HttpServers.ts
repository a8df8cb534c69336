/**
 * The `node:http` servers that an app listens on. At shutdown they stop listening before the app waits for running requests, so a load
 * balancer's connection is refused and it sends the request elsewhere.
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

/** A `node:http`, `node:https` or `node:http2` server. */
export interface NodeServer {
  readonly listening: boolean
  readonly close: () => unknown
  readonly closeIdleConnections?: (() => void) | undefined
  readonly on: (event: "close" | "connection", listener: () => void) => unknown
  readonly off: (event: "close" | "connection", listener: () => void) => unknown
}

/** Longest duration of an undisturbed event-loop turn without events, in milliseconds. A longer turn was interrupted by other processes. */
const quiet = 0.05
/** Number of turns to try, one per millisecond, before a busy server is closed anyway. */
const mostTurns = 500

/**
 * Closes servers in a turn of the event loop that accepted no connection. Closing resets the connections that the system has accepted but
 * Node has not, and a load balancer may have sent a request on one. Node accepts one connection per turn, so a turn without one means that
 * none is waiting, unless one arrives in the microseconds until the server is closed.
 */
const closeQuietly = (servers: ReadonlyArray<NodeServer>): Effect.Effect<void> =>
  Effect.callback((resume) => {
    let turns = 0
    let connections = 0
    const connected = (): void => void connections++
    for (const server of servers) server.on("connection", connected)
    const turn = (): void => {
      // `close` would do this first, and delay the close past the quiet turn.
      for (const server of servers) server.closeIdleConnections?.()
      const before = connections
      const began = performance.now()
      setImmediate(() => {
        const isQuiet = connections === before && performance.now() - began < quiet
        if (!isQuiet && ++turns < mostTurns) {
          setTimeout(turn, 1)
          return
        }
        for (const server of servers) {
          if (server.listening) server.close()
          server.off("connection", connected)
        }
        resume(Effect.void)
      })
    }
    // A process that has just slept is unlikely to be interrupted soon.
    setTimeout(turn, 1)
  })

const isNodeServer = (u: unknown): u is NodeServer =>
  typeof u === "object" && u !== null && "listening" in u && "close" in u && typeof u.close === "function" && "off" in u

/** Returns the server that received a Node request. */
export const serverOf = (request: object): NodeServer | undefined => {
  const socket: unknown = "socket" in request ? request.socket : undefined
  const server = typeof socket === "object" && socket !== null && "server" in socket ? socket.server : undefined
  return isNodeServer(server) ? server : undefined
}

export class HttpServers {
  private readonly servers = new Set<NodeServer>()
  /** Stopped servers that may still have connections. */
  private readonly open = new Set<NodeServer>()
  private readonly ended = Deferred.makeUnsafe<void>()
  /** Waits until the stopped servers have no connections left. */
  readonly closed: Effect.Effect<void> = Deferred.await(this.ended)

  add(server: NodeServer | undefined): void {
    if (server !== undefined) this.servers.add(server)
  }

  /** Stops listening. Returns false if no server is known, in which case requests keep arriving. */
  readonly stop: Effect.Effect<boolean> = Effect.suspend(() => {
    const listening = [...this.servers].filter(({ listening }) => listening)
    for (const server of listening) {
      if (this.open.has(server)) continue
      this.open.add(server)
      server.on("close", () => {
        this.open.delete(server)
        this.complete()
      })
    }
    this.complete()
    return listening.length === 0 ? Effect.succeed(this.servers.size > 0) : Effect.as(closeQuietly(listening), true)
  })

  private complete(): void {
    if (this.open.size === 0) Deferred.doneUnsafe(this.ended, Effect.void)
  }
}

/** The servers that the app is served on, or `undefined` if the app must not close them. */
export const CurrentHttpServers = Context.Reference<HttpServers | undefined>("@effect-mcp/server/HttpServers", {
  defaultValue: () => undefined
})
