/**
 * Vitest runs this before each test file: HTTP servers of tests close at once.
 *
 * After a request that was aborted, `fetch` opens a connection ahead. `close` of Node waits for such a connection, which never
 * carries a request, until the client's keep-alive runs out some 3 s later.
 */
import { Server } from "node:http"
import type { Socket } from "node:net"

const patched = Symbol.for("effect-mcp/closesUnused")

/** Set on a server whose test needs connections that have carried no request yet. */
export const keepsUnused = Symbol.for("effect-mcp/keepsUnused")

interface Patched {
  [patched]?: true
}

/** Has each HTTP server of this process close its connections without a request when it closes. */
const closeUnused = (): void => {
  const prototype: Server & Patched = Server.prototype
  if (prototype[patched] === true) return
  prototype[patched] = true
  // oxlint-disable-next-line typescript/unbound-method -- called with their server as `this` below
  const { close, listen } = prototype
  const unused = new WeakMap<Server, Set<Socket>>()
  const watch = (server: Server): void => {
    if (unused.has(server)) return
    const sockets = new Set<Socket>()
    unused.set(server, sockets)
    server.on("connection", (socket) => {
      sockets.add(socket)
      socket.once("close", () => sockets.delete(socket))
    })
    server.prependListener("request", ({ socket }) => sockets.delete(socket))
  }
  prototype.listen = function (this: Server, ...args: ReadonlyArray<never>) {
    watch(this)
    return Reflect.apply(listen, this, args)
  }
  prototype.close = function (this: Server, ...args: [((error?: Error) => void)?]) {
    const closing = Reflect.apply(close, this, args)
    if (!(keepsUnused in this)) for (const socket of unused.get(this) ?? []) socket.destroy()
    return closing
  }
}

closeUnused()
