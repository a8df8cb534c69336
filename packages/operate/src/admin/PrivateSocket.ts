/** A listener on a Unix socket that no other user can open. It requires Node; no other module in this package imports it. */
import { createServer as createHttpServer, Server } from "node:http"
import { linkSync, lstatSync, renameSync, unlinkSync } from "node:fs"
import { randomUUID } from "node:crypto"
import { connect, type ListenOptions } from "node:net"

/** Identifies a socket's file, or returns `undefined` if there is none. Inode numbers are used again, so the time is part of it. */
const socketAt = (path: string): string | undefined => {
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  return stat?.isSocket() === true ? `${stat.dev} ${stat.ino} ${stat.birthtimeNs}` : undefined
}

/**
 * Removes the socket if it is still the same file. Another server may start at the same time and replace it with its own, so the file gets
 * a name that only this process knows before it is deleted.
 */
const remove = (path: string, socket: string): void => {
  if (socketAt(path) !== socket) return
  const taken = `${path}.${randomUUID()}`
  try {
    renameSync(path, taken)
  } catch {
    // Another server has removed it.
    return
  }
  try {
    if (socketAt(taken) !== socket) linkSync(taken, path)
  } finally {
    unlinkSync(taken)
  }
}

/** Removes a socket left behind by a killed process, then calls back. A socket in use is kept. */
const cleared = (path: string, done: () => void): void => {
  const found = socketAt(path)
  const probe = connect(path, () => {
    probe.destroy()
    done()
  })
  probe.on("error", (error) => {
    // The socket file outlives a killed process. Other kinds of files also refuse connections.
    if ("code" in error && error.code === "ECONNREFUSED" && found !== undefined) remove(path, found)
    done()
  })
}

/**
 * Creates a `node:http` server whose Unix socket has mode 600 from the start. It replaces a socket left behind by a killed process, but
 * never one in use. Use it with `NodeHttpServer.layer` and `{ path }`.
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
    // Setting the mode afterwards would leave time for others to connect.
    const before = process.umask(0o177)
    try {
      return Server.prototype.listen.call(server, options, listening)
    } finally {
      process.umask(before)
    }
  }
  return Object.assign(server, {
    listen: (options: ListenOptions, listening?: () => void): Server => {
      if (options.path === undefined)
        throw new Error("PrivateSocket.createServer only listens on a Unix socket. Pass { path }")
      cleared(options.path, () => listen(options, listening))
      return server
    }
  })
}
