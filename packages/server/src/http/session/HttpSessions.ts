/** The sessions of an endpoint (spec 2025-11-25: basic/transports, session management): how one is opened, found and ended. */
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

const isConnected = (session: HttpSession): session is OpenedSession => session.session !== undefined

/** Whether it is a session, and no error response. */
export const isOpened = (found: OpenedSession | ErrorResponse): found is OpenedSession => found instanceof HttpSession

/** The error response if a table has no room for a session of that caller: 503 for all callers, 429 for its own limit. */
export const refusalOf = (
  table: SessionTable<HttpSession>,
  http: HttpRequest,
  id: JsonRpc.Id | undefined
): ErrorResponse | undefined => {
  if (table.full) return full("sessions are open", table.capacity, id)
  const reached = table.reached({ owner: ownerOf(http), caller: callerOf(http) })
  return reached && tooMany(reached.what, reached.limit, id)
}

export interface Options {
  readonly server: McpServer["Service"]
  readonly table: SessionTable<HttpSession>
  readonly config: Config
  readonly exchanges: { readonly admitsInSessions: boolean; readonly draining: boolean }
  /** Requests of one session at once. */
  readonly inFlight: number
}

export class HttpSessions {
  private readonly options: Options
  /** The versions with sessions that are served. */
  private readonly served: ReadonlyArray<string>

  constructor(options: Options) {
    this.options = options
    this.served = options.server.revisions.flatMap(({ era, version }) => (era === "stateful" ? [version] : []))
  }

  /** Whether a revision with sessions is served. */
  get areServed(): boolean {
    return this.served.length > 0
  }

  /** The response (400) to a version that is not served. */
  unserved(version: string, id: JsonRpc.Id | undefined): ErrorResponse {
    const error = McpError.invalidRequest(`${Headers.version}: ${version} is not served`, { supported: this.served })
    return refuse(400, error, id)
  }

  /** Opens a session for the caller, under a new id. The error response is 500 if it cannot be connected, or ends meanwhile. */
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
   * Returns the session that the request names, which counts as a use of it. The error response is 400 without an id and for a version that
   * is not served, and 404 for a session that is not open, or that belongs to another principal.
   */
  find(http: HttpRequest, request?: JsonRpc.Id): OpenedSession | ErrorResponse {
    const id = http.headers[sessionIdHeader]
    if (id === undefined) {
      return refuse(400, McpError.invalidRequest("Mcp-Session-Id is missing: send initialize first"), request)
    }
    const found = this.options.table.get(id)
    if (found === undefined || !isConnected(found) || found.owner !== ownerOf(http)) {
      // The shutdown has ended the sessions: after it the client may find this one again.
      return this.options.exchanges.draining ? shuttingDown(request) : noSession(request)
    }
    const version = http.headers[Headers.version]
    if (version !== undefined && !this.served.includes(version)) return this.unserved(version, request)
    found.sink.touch()
    return found
  }

  /**
   * The error response to requests of a session, whatever they ask: at the shutdown, beyond the limit of the session, and for ids that are
   * in use. Requests of one batch are refused together, by an error without an id.
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
    return refuse(400, McpError.invalidRequest(`Request id ${JSON.stringify(twice.id)} is in flight already`), id)
  }

  /** Ends the standalone GET streams of all sessions. */
  endGetStreams(): void {
    for (const { sink } of this.options.table.all()) sink.endGetStream()
  }

  /** Waits until no request of any session runs. */
  readonly idle: Effect.Effect<void> = Effect.suspend(() =>
    Effect.forEach(this.options.table.all(), (session) => session.idle, { concurrency: "unbounded", discard: true })
  )
}
