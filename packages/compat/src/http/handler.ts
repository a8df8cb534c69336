/** `createMcpHandler`: serves servers from a factory over HTTP, one per request, for clients of every era. */
import { notBegun } from "@effect-mcp/server/internal/origins"
import type { ServerResponse } from "node:http"
import { ProtocolErrorCode } from "../model/errors.ts"
import { type OnError, report } from "../model/report.ts"
import type { Actor } from "../server/Actor.ts"
import type { Factory } from "../server/Factory.ts"
import { served } from "../server/served.ts"
import { nodeEndpoint, webEndpoint } from "./endpoint.ts"
import type { NodeRequest, RequestExtra } from "./requests.ts"

export interface CreateMcpHandlerOptions {
  /**
   * How to serve clients of revisions up to 2025-11-25. `stateless` serves each request by itself, and `reject` serves none. `sessions`,
   * which the SDK does not have, opens sessions, so that handlers can ask clients questions. Default `stateless`.
   */
  legacy?: "stateless" | "reject" | "sessions" | undefined
  onerror?: ((error: Error) => void) | undefined
  /** Host names of the server in addition to loopback, or `*` for any. Other hosts get 403. The SDK does not have this option. */
  allowedHosts?: Array<string> | undefined
  /**
   * Origins of other sites' pages, such as `https://example.com`, or `*` for any. Other origins get 403. The SDK does not have this option.
   */
  allowedOrigins?: Array<string> | undefined
  /** Accepted and ignored: an answer is JSON unless it has to be a stream. */
  responseMode?: string | undefined
  /** Accepted and ignored. */
  bus?: unknown
  /** Accepted and ignored. */
  maxSubscriptions?: number | undefined
  /** Accepted and ignored: a comment is sent every 15 seconds. */
  keepAliveMs?: number | undefined
}

/** Announces changes to the clients of all requests. */
export interface ServerNotifier {
  toolsChanged(): void
  promptsChanged(): void
  resourcesChanged(): void
  resourceUpdated(uri: string): void
}

export interface McpHttpHandler {
  readonly fetch: (request: Request, extra?: RequestExtra) => Promise<Response>
  readonly notify: ServerNotifier
  close(): Promise<void>
}

/** The listener of a handler, for `toNodeHandler`. */
export const node = Symbol("node")

export interface NodeHandler extends McpHttpHandler {
  readonly [node]: (request: NodeRequest, response: ServerResponse, body?: unknown) => Promise<void>
}

/** Answers to requests that reach no server. */
const unserved = {
  closed: {
    status: 503,
    body: { jsonrpc: "2.0", error: { code: notBegun.code, message: notBegun.message }, id: null }
  },
  failed: {
    status: 500,
    body: { jsonrpc: "2.0", error: { code: ProtocolErrorCode.InternalError, message: "Internal error" }, id: null }
  }
} as const

/** The error that a client receives if the factory fails. `onerror` receives the factory's error. */
const unmade = new Error("Failed to create the server")

const reporting =
  (factory: Factory, onerror: OnError): Factory =>
  async (context) => {
    try {
      return await factory(context)
    } catch (error) {
      report(onerror, error)
      throw unmade
    }
  }

/** Serves the servers that a factory creates over HTTP, to clients of every revision. If the factory fails, the answer is 500. */
export const createMcpHandler = (factory: Factory, options: CreateMcpHandlerOptions = {}): NodeHandler => {
  const { allowedHosts, allowedOrigins, legacy = "stateless", onerror } = options
  const refused = (error: Error) => report(onerror, error)
  const endpointOptions = { sessions: legacy === "sessions", allowedHosts, allowedOrigins, refused }
  const revisions = legacy === "reject" ? (["2026-07-28"] as const) : undefined
  let made: Promise<Actor> | undefined
  let isClosed = false
  const actorOf = (): Promise<Actor> => {
    // Endpoints that are already open finish their running requests and reject new ones.
    if (isClosed && made === undefined) throw new Error("The handler is closed")
    return (made ??= served(reporting(factory, onerror), { per: "request", revisions }).catch((error: unknown) => {
      made = undefined
      if (error !== unmade) report(onerror, error)
      throw error
    }))
  }
  const lazily = <E extends { readonly dispose: () => Promise<void> }>(open: (actor: Actor) => E) => {
    let endpoint: E | undefined
    return async (): Promise<E | undefined> => {
      try {
        const actor = await actorOf()
        if (endpoint === undefined) {
          // An endpoint that is opened now would never be disposed.
          if (isClosed) return undefined
          endpoint = open(actor)
          actor.onClose(endpoint.dispose)
        }
        return endpoint
      } catch {
        return undefined
      }
    }
  }
  const web = lazily((actor) => webEndpoint(actor, endpointOptions))
  const listener = lazily((actor) => nodeEndpoint(actor, endpointOptions))
  const unanswered = () => (isClosed ? unserved.closed : unserved.failed)
  const tell = (what: (actor: Actor) => void): void => void made?.then(what, () => undefined)
  return {
    fetch: async (request, extra) => {
      const answer = (await web())?.handle(request, extra)
      if (answer !== undefined) return answer
      const { body, status } = unanswered()
      return Response.json(body, { status })
    },
    notify: {
      toolsChanged: () => tell((actor) => actor.changed("tools")),
      promptsChanged: () => tell((actor) => actor.changed("prompts")),
      resourcesChanged: () => tell((actor) => actor.changed("resources")),
      resourceUpdated: (uri) => tell((actor) => actor.updated(uri))
    },
    close: async () => {
      isClosed = true
      await made?.then(
        (actor) => actor.close(),
        () => undefined
      )
    },
    [node]: async (request, response, body) => {
      const endpoint = await listener()
      if (endpoint !== undefined) return endpoint.handle(request, response, body)
      const { body: said, status } = unanswered()
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(said))
    }
  }
}

const isObject = (u: unknown): u is { readonly [key: string]: unknown } => typeof u === "object" && u !== null

/** True if a body is the request that opens a session. */
export const isInitializeRequest = (body: unknown): boolean =>
  isObject(body) && body["method"] === "initialize" && "id" in body && isObject(body["params"])

const isModern = (message: unknown): boolean => {
  const params = isObject(message) ? message["params"] : undefined
  const meta = isObject(params) ? params["_meta"] : undefined
  return isObject(meta) && typeof meta["io.modelcontextprotocol/protocolVersion"] === "string"
}

/** True if a request belongs to a revision with sessions. Reads a copy of the body, unless the parsed body is passed. */
export const isLegacyRequest = async (request: Request, parsedBody?: unknown): Promise<boolean> => {
  if (request.method !== "POST") return true
  const body: unknown =
    parsedBody ??
    (await request
      .clone()
      .json()
      .catch(() => undefined))
  return !isModern(body)
}
