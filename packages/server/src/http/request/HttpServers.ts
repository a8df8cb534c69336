/**
 * The servers of `node:http` that an app listens with. They stop listening before a shutdown waits for what runs: a load balancer then gets
 * its connection refused, and sends the request elsewhere.
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

/** A server of `node:http`, `node:https` or `node:http2`. */
export interface NodeServer {
  readonly listening: boolean
  readonly close: () => unknown
  readonly closeIdleConnections?: (() => void) | undefined
  readonly on: (event: "close" | "connection", listener: () => void) => unknown
  readonly off: (event: "close" | "connection", listener: () => void) => unknown
}

/** The longest that a turn of the event loop without events takes, in milliseconds. A longer one was interrupted by other processes. */
const quiet = 0.05
/** How many turns are tried, one per millisecond, before a busy server closes anyway. */
const mostTurns = 500

/**
 * Closes servers in a turn of the event loop that accepted no connection. Closing resets the connections that the system has accepted and
 * Node has not, and a balancer may have sent a call on them. Node accepts one per turn, so after a turn with none there are none, unless one
 * arrives within the microseconds until the server is closed.
 */
const closeQuietly = (servers: ReadonlyArray<NodeServer>): Effect.Effect<void> =>
  Effect.callback((resume) => {
    let turns = 0
    let connections = 0
    const connected = (): void => void connections++
    for (const server of servers) server.on("connection", connected)
    const turn = (): void => {
      // `close` does this first, which would take time after the turn.
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
    // A process that has just slept is not interrupted soon.
    setTimeout(turn, 1)
  })

const isNodeServer = (u: unknown): u is NodeServer =>
  typeof u === "object" && u !== null && "listening" in u && "close" in u && typeof u.close === "function" && "off" in u

/** The server at which a request of Node arrived. */
export const serverOf = (request: object): NodeServer | undefined => {
  const socket: unknown = "socket" in request ? request.socket : undefined
  const server = typeof socket === "object" && socket !== null && "server" in socket ? socket.server : undefined
  return isNodeServer(server) ? server : undefined
}

export class HttpServers {
  private readonly servers = new Set<NodeServer>()
  /** The servers that were stopped and may have connections. */
  private readonly open = new Set<NodeServer>()
  private readonly ended = Deferred.makeUnsafe<void>()
  /** Waits until the servers that were stopped have no connection any more. */
  readonly closed: Effect.Effect<void> = Deferred.await(this.ended)

  add(server: NodeServer | undefined): void {
    if (server !== undefined) this.servers.add(server)
  }

  /** Stops listening. Returns false if no server is known: then requests still arrive. */
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

/** The servers of the app that is served, or `undefined` if they are not the app's to close. */
export const CurrentHttpServers = Context.Reference<HttpServers | undefined>("@effect-mcp/server/HttpServers", {
  defaultValue: () => undefined
})
