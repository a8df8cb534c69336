/** A listener on a Unix socket that no other user can open. For Node; nothing else of the package loads this module. */
import { createServer as createHttpServer, Server } from "node:http"
import { lstatSync, unlinkSync } from "node:fs"
import { connect, type ListenOptions } from "node:net"

/** Calls back once no socket of a process that was killed is in the way; one that is listened on stays. */
const cleared = (path: string, done: () => void): void => {
  const probe = connect(path, () => {
    probe.destroy()
    done()
  })
  probe.on("error", (error) => {
    // The file of a socket outlives a process that is killed. A file of another kind refuses connections, too.
    if ("code" in error && error.code === "ECONNREFUSED" && lstatSync(path).isSocket()) unlinkSync(path)
    done()
  })
}

/**
 * A server of `node:http` whose Unix socket has the mode 600 from its beginning. It replaces the socket that a killed process has left,
 * and never one that is in use. For `NodeHttpServer.layer`, with `{ path }`.
 *
 * @example
 * ```ts
 * import { NodeHttpServer } from "@effect/platform-node"
 * import * as PrivateSocket from "@effect-mcp/operate/PrivateSocket"
 *
 * export const listener = NodeHttpServer.layer(PrivateSocket.createServer, { path: "/run/user/1000/hello.sock" })
 * ```
 */
export const createServer = (): Server => {
  const server = createHttpServer()
  const listen = (options: ListenOptions, listening?: () => void): Server => {
    // A mode that is set later leaves a time in which others can connect.
    const before = process.umask(0o177)
    try {
      return Server.prototype.listen.call(server, options, listening)
    } finally {
      process.umask(before)
    }
  }
  return Object.assign(server, {
    listen: (options: ListenOptions, listening?: () => void): Server => {
      if (options.path === undefined) throw new Error("PrivateSocket.createServer listens on a path: give it { path }")
      cleared(options.path, () => listen(options, listening))
      return server
    }
  })
}
