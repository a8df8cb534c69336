/**
 * The servers of `node:http` that an app listens with. They stop listening before a shutdown waits for what runs: a load balancer then gets
 * its connection refused, and sends the request elsewhere.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** A server of `node:http`, `node:https` or `node:http2`. */
export interface NodeServer {
  readonly listening: boolean
  readonly close: () => unknown
  readonly closeIdleConnections?: (() => void) | undefined
}

/** How long a turn of the event loop takes that had nothing to do, in milliseconds. */
const quiet = 0.1
/** How many turns are waited for one that had nothing to do. */
const mostTurns = 2000

/**
 * Waits for a turn of the event loop without events. Closing a server resets the connections that the system has accepted and the process
 * has not: in such a turn there are none.
 */
const quietTurn: Effect.Effect<void> = Effect.callback((resume) => {
  let turns = 0
  let last = performance.now()
  const turn = (): void => {
    const now = performance.now()
    const took = now - last
    last = now
    if (turns++ > 1 && (took < quiet || turns > mostTurns)) return resume(Effect.void)
    setImmediate(turn)
  }
  setImmediate(turn)
})

const isNodeServer = (u: unknown): u is NodeServer =>
  typeof u === "object" && u !== null && "listening" in u && "close" in u && typeof u.close === "function"

/** The server at which a request of Node arrived. */
export const serverOf = (request: object): NodeServer | undefined => {
  const socket: unknown = "socket" in request ? request.socket : undefined
  const server = typeof socket === "object" && socket !== null && "server" in socket ? socket.server : undefined
  return isNodeServer(server) ? server : undefined
}

export class HttpServers {
  private readonly servers = new Set<NodeServer>()

  add(server: NodeServer | undefined): void {
    if (server !== undefined) this.servers.add(server)
  }

  /** Stops listening. Returns false if no server is known: then requests still arrive. */
  readonly stop: Effect.Effect<boolean> = Effect.suspend(() => {
    const open = [...this.servers].filter(({ listening }) => listening)
    if (open.length === 0) return Effect.succeed(this.servers.size > 0)
    return Effect.map(quietTurn, () => {
      for (const server of open) if (server.listening) server.close()
      return true
    })
  })
}

/** The servers of the app that is served, or `undefined` if they are not the app's to close. */
export const CurrentHttpServers = Context.Reference<HttpServers | undefined>("@effect-mcp/server/HttpServers", {
  defaultValue: () => undefined
})
