/** An endpoint's sessions (spec 2025-11-25: basic/transports, session management): opens, finds and ends them. */
import * as Headers from "@effect-mcp/protocol/Headers"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import type { McpServer } from "../../dispatch/Server.ts"
import type { Session } from "../../session/Session.ts"
import { callerOf, type HttpRequest, ownerOf, principalOf, sessionIdHeader } from "../request/HttpRequest.ts"
import { type ErrorResponse, full, noSession, refuse, shuttingDown, tooMany } from "../response/Responses.ts"
import { type Config, HttpSession } from "./HttpSession.ts"
import type { SessionTable } from "./SessionTable.ts"

/** A session that has been opened. */
export type OpenedSession = HttpSession & { readonly session: Session }

const isConnected = (session: HttpSession): session is OpenedSession => session.session !== undefined

/** True if this is a session and not an error response. */
export const isOpened = (found: OpenedSession | ErrorResponse): found is OpenedSession => found instanceof HttpSession

/**
 * Returns the error response if the table has no room for another of the caller's sessions: 429 if the caller's own limit is exceeded, and
 * 503 otherwise.
 */
export const refusalOf = (
  table: SessionTable<HttpSession>,
  http: HttpRequest,
  id: JsonRpc.Id | undefined
): ErrorResponse | undefined => {
  const caller = callerOf(http)
  const reached = table.reached({ owner: ownerOf(http), caller })
  if (reached !== undefined) return tooMany(reached.what, reached.limit, id)
  return table.isFullFor(caller) ? full("sessions are open", table.capacity, id) : undefined
}

export interface Options {
  readonly server: McpServer["Service"]
  readonly table: SessionTable<HttpSession>
  readonly config: Config
  readonly exchanges: { readonly admitsInSessions: boolean; readonly draining: boolean }
  /** Maximum number of concurrent requests per session. */
  readonly inFlight: number
}

export class HttpSessions {
  private readonly options: Options
  /** Supported versions that have sessions. */
  private readonly served: ReadonlyArray<string>

  constructor(options: Options) {
    this.options = options
    this.served = options.server.revisions.flatMap(({ era, version }) => (era === "stateful" ? [version] : []))
  }

  /** True if at least one revision with sessions is supported. */
  get areServed(): boolean {
    return this.served.length > 0
  }

  /** The response (400) to an unsupported version. */
  unserved(version: string, id: JsonRpc.Id | undefined): ErrorResponse {
    const error = McpError.invalidRequest(`${Headers.version}: ${version} is not supported`, { supported: this.served })
    return refuse(400, error, id)
  }

  /** Opens a session for the caller under a new ID. Returns a 500 response if the session can't be connected, or ends in the meantime. */
  create(http: HttpRequest, id: JsonRpc.Id | undefined): Effect.Effect<OpenedSession | ErrorResponse> {
    return Effect.suspend(() => {
      const { config, server, table } = this.options
      const session = new HttpSession(globalThis.crypto.randomUUID(), principalOf(http), http.address, config)
      table.add(session)
      return Effect.map(session.start(server.connect), () =>
        isConnected(session) && table.get(session.id) === session ? session : refuse(500, McpError.internalError(), id)
      )
    })
  }

  /**
   * Returns the session that the request names, and marks it as used. Otherwise returns an error response: 400 if the ID is missing or the
   * version is not supported, and 404 if the session is not open or belongs to another principal.
   */
  find(http: HttpRequest, request?: JsonRpc.Id): OpenedSession | ErrorResponse {
    const id = http.headers[sessionIdHeader]
    if (id === undefined) {
      return refuse(400, McpError.invalidRequest("Mcp-Session-Id is missing: send initialize first"), request)
    }
    const found = this.options.table.get(id)
    if (found === undefined || !isConnected(found) || found.owner !== ownerOf(http)) {
      // The shutdown has ended the sessions, but after the restart the client may find this one again.
      return this.options.exchanges.draining ? shuttingDown(request) : noSession(request)
    }
    const version = http.headers[Headers.version]
    if (version !== undefined && !this.served.includes(version)) return this.unserved(version, request)
    found.sink.touch()
    return found
  }

  /**
   * Returns the error response to a session's requests during shutdown, beyond the session's limit, or if an ID is already in use. A
   * batch's requests are rejected together, with an error that has no ID.
   */
  conflict({ sink }: HttpSession, requests: ReadonlyArray<JsonRpc.Request>): ErrorResponse | undefined {
    const [first] = requests
    if (first === undefined) return undefined
    const { exchanges, inFlight } = this.options
    const id = requests.length === 1 ? first.id : undefined
    if (!exchanges.admitsInSessions) return shuttingDown(id)
    if (sink.running + requests.length > inFlight) return tooMany("requests of a session are in flight", inFlight, id)
    const twice = requests.find(
      (one, at) => sink.isRunning(one.id) || requests.findIndex((other) => other.id === one.id) < at
    )
    if (twice === undefined) return undefined
    return refuse(400, McpError.invalidRequest(`Request id ${JSON.stringify(twice.id)} is already in flight`), id)
  }

  /** Ends the standalone GET streams of all sessions. */
  endGetStreams(): void {
    for (const { sink } of this.options.table.all()) sink.endGetStream()
  }

  /** Waits until no session has a running request. */
  readonly idle: Effect.Effect<void> = Effect.suspend(() =>
    Effect.forEach(this.options.table.all(), (session) => session.idle, { concurrency: "unbounded", discard: true })
  )
}
