/** The sessions of an endpoint (spec 2025-11-25: basic/transports, session management): what opens one, finds it, and ends it. */
import * as Headers from "@effect-mcp/protocol/Headers"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import type { McpServer } from "../../dispatch/Server.ts"
import type { Session } from "../../session/Session.ts"
import { callerOf, type HttpRequest, ownerOf, principalOf } from "../request/HttpRequest.ts"
import { type ErrorResponse, full, noSession, refuse, shuttingDown, tooMany } from "../response/Responses.ts"
import { type Config, HttpSession } from "./HttpSession.ts"
import type { SessionTable } from "./SessionTable.ts"

export const sessionIdHeader = "mcp-session-id"

/** A session whose conversation was opened. */
export type OpenedSession = HttpSession & { readonly session: Session }

export interface HttpSessions {
  /** The error response where no further session may be opened for that caller: by 503 for all, by 429 for its limit. */
  readonly refusal: (http: HttpRequest, id: JsonRpc.Id) => ErrorResponse | undefined
  /** Opens a session for the caller, under a new id: the error response (500) where it cannot be connected, or ends meanwhile. */
  readonly create: (http: HttpRequest, id: JsonRpc.Id | undefined) => Effect.Effect<OpenedSession | ErrorResponse>
  /**
   * The session that the request names, which counts as a use of it. The error response is 400 without an id and for a version that is
   * not served; 404 for a session that is not open, or that belongs to another principal.
   */
  readonly find: (http: HttpRequest, id?: JsonRpc.Id) => OpenedSession | ErrorResponse
  /** Ends a session: from now on it is not found. Requests of it that run are answered by the reason. */
  readonly close: (session: HttpSession, reason: string) => void
  /** Ends the standalone GET streams of all sessions. */
  readonly endGetStreams: () => void
  /** Waits until no request of any session runs. */
  readonly idle: Effect.Effect<void>
  /** Ends all sessions and waits for them. */
  readonly closeAll: (reason: string) => Effect.Effect<void>
}

export interface Options {
  readonly server: McpServer["Service"]
  readonly table: SessionTable<HttpSession>
  readonly config: Config
  /** The response to a version that is not served. */
  readonly unserved: (version: string, id: JsonRpc.Id | undefined) => ErrorResponse
  readonly served: ReadonlyArray<string>
  readonly exchanges: { readonly draining: boolean }
}

/** The error response where a table has no room for a session of that caller: 503 for all callers, 429 for its own limit. */
export const refusalOf = (
  table: SessionTable<HttpSession>,
  http: HttpRequest,
  id: JsonRpc.Id | undefined
): ErrorResponse | undefined => {
  if (table.full) return full("sessions are open", table.capacity, id)
  const reached = table.reached({ owner: ownerOf(http), caller: callerOf(http) })
  return reached && tooMany(reached.what, reached.limit, id)
}

export const make = ({ config, exchanges, served, server, table, unserved }: Options): HttpSessions => ({
  refusal: (http, id) => refusalOf(table, http, id),

  create: (http, id) =>
    Effect.suspend(() => {
      const session = new HttpSession(globalThis.crypto.randomUUID(), principalOf(http), http.address, config)
      table.add(session)
      return Effect.map(session.start(server.connect), () =>
        isConnected(session) && table.get(session.id) === session ? session : refuse(500, McpError.internalError(), id)
      )
    }),

  find: (http, request) => {
    const id = http.headers[sessionIdHeader]
    if (id === undefined) {
      return refuse(400, McpError.invalidRequest("Mcp-Session-Id is missing: send initialize first"), request)
    }
    const found = table.get(id)
    if (found === undefined || !isConnected(found) || found.owner !== ownerOf(http)) {
      // The shutdown has ended the sessions: after it the client may find this one again.
      return exchanges.draining ? shuttingDown(request) : noSession(request)
    }
    const version = http.headers[Headers.version]
    if (version !== undefined && !served.includes(version)) return unserved(version, request)
    found.touch()
    return found
  },

  close: (session, reason) => table.end(session, reason),

  endGetStreams: () => {
    for (const session of table.all()) session.endGetStream()
  },

  idle: Effect.suspend(() =>
    Effect.forEach(table.all(), (session) => session.idle, { concurrency: "unbounded", discard: true })
  ),

  closeAll: (reason) => table.endAll(reason)
})

/** Whether its conversation was opened. */
export const isConnected = (session: HttpSession): session is OpenedSession => session.session !== undefined

/** Whether it is a session, and no error response. */
export const isOpened = (found: OpenedSession | ErrorResponse): found is OpenedSession => found instanceof HttpSession
