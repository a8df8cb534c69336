/**
 * The server as users import it: the service and its layer, and the endpoints it can be served at.
 */
import * as Socket from "./endpoint/Socket.ts"
import * as Stdio from "./endpoint/Stdio.ts"

export { type ConnectOptions, layer, McpServer, type Options, type Registries } from "./Server.ts"
export type { Session } from "./Session.ts"

/** Builds a server and serves it over stdin and stdout: all there is to a program that keeps its stdout clean from the start. */
export const runStdio = Stdio.run
/** Serves over stdin and stdout until stdin ends. Logs go to stderr. */
export const serveStdio = Stdio.serve()
/** The same with options: message limit, grace, outbox budgets. */
export const serveStdioWith = Stdio.serve
/** Serves every connection of a `SocketServer` (TCP or Unix socket) until interrupted. */
export const serveSocket = Socket.serve
