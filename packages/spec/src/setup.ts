/**
 * Runs before each test file and makes the tests' HTTP servers close immediately.
 *
 * After an aborted request, `fetch` opens a connection in advance. Node's `close` would wait for this unused connection until the client's
 * keep-alive expires some 3 seconds later.
 */
import { memoize } from "effect/Function"
import { Server } from "node:http"
import type { Socket } from "node:net"

const patched = Symbol.for("effect-mcp/closesUnused")

/** Set this on a server if its test needs unused connections. */
export const keepsUnused = Symbol.for("effect-mcp/keepsUnused")

interface Patched {
  [patched]?: true
}

/** Makes each HTTP server in this process close its unused connections when it closes. */
const closeUnused = (): void => {
  const prototype: Server & Patched = Server.prototype
  if (prototype[patched] === true) return
  prototype[patched] = true
  // oxlint-disable-next-line typescript/unbound-method -- called with their server as `this` below
  const { close, listen } = prototype
  /** The unused connections of a server. */
  const unused = memoize((server: Server) => {
    const sockets = new Set<Socket>()
    server.on("connection", (socket) => {
      sockets.add(socket)
      socket.once("close", () => sockets.delete(socket))
    })
    server.prependListener("request", ({ socket }) => sockets.delete(socket))
    return sockets
  })
  prototype.listen = function (this: Server, ...args: ReadonlyArray<never>) {
    unused(this)
    return Reflect.apply(listen, this, args)
  }
  prototype.close = function (this: Server, ...args: [((error?: Error) => void)?]) {
    const closing = Reflect.apply(close, this, args)
    if (!(keepsUnused in this)) for (const socket of unused(this)) socket.destroy()
    return closing
  }
}

closeUnused()
