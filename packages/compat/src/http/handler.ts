/** `createMcpHandler`: HTTP for servers that a function makes, one for each request, and which requests are of which era. */
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
   * Clients of the revisions up to 2025-11-25: `stateless` serves each of their requests by itself, `reject` none. `sessions`, which the
   * SDK does not have, opens sessions, so that handlers can ask them. Default `stateless`.
   */
  legacy?: "stateless" | "reject" | "sessions" | undefined
  onerror?: ((error: Error) => void) | undefined
  /** Names of the server beside loopback, or `*` for any; others get 403. The SDK does not have this. */
  allowedHosts?: Array<string> | undefined
  /** Origins of pages of other sites, as `https://example.com`, or `*` for any; others get 403. The SDK does not have this. */
  allowedOrigins?: Array<string> | undefined
  /** Accepted and ignored: an answer is JSON unless it has to be a stream. */
  responseMode?: string | undefined
  /** Accepted and ignored. */
  bus?: unknown
  /** Accepted and ignored. */
  maxSubscriptions?: number | undefined
  /** Accepted and ignored: a comment is sent after 15 seconds. */
  keepAliveMs?: number | undefined
}

/** Tells the clients of all requests what has changed. */
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

const failure = {
  jsonrpc: "2.0",
  error: { code: ProtocolErrorCode.InternalError, message: "Internal error" },
  id: null
}

/** What a client is told where a factory fails; `onerror` hears why. */
const unmade = new Error("The server could not be made")

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

/** Serves what a function makes over HTTP, for clients of every revision. Where the function fails, a request is answered by 500. */
export const createMcpHandler = (factory: Factory, options: CreateMcpHandlerOptions = {}): NodeHandler => {
  const { allowedHosts, allowedOrigins, legacy = "stateless", onerror } = options
  const refused = (error: Error) => report(onerror, error)
  const endpointOptions = { sessions: legacy === "sessions", allowedHosts, allowedOrigins, refused }
  const revisions = legacy === "reject" ? (["2026-07-28"] as const) : undefined
  let made: Promise<Actor> | undefined
  let isClosed = false
  const actorOf = (): Promise<Actor> => {
    if (isClosed) throw new Error("The handler is closed")
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
  const tell = (what: (actor: Actor) => void): void => void made?.then(what, () => undefined)
  return {
    fetch: async (request, extra) => (await web())?.handle(request, extra) ?? Response.json(failure, { status: 500 }),
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
      response.writeHead(500, { "content-type": "application/json" }).end(JSON.stringify(failure))
    }
  }
}

const isObject = (u: unknown): u is { readonly [key: string]: unknown } => typeof u === "object" && u !== null

/** Whether a body is the request that opens a session. */
export const isInitializeRequest = (body: unknown): boolean =>
  isObject(body) && body["method"] === "initialize" && "id" in body && isObject(body["params"])

const isModern = (message: unknown): boolean => {
  const params = isObject(message) ? message["params"] : undefined
  const meta = isObject(params) ? params["_meta"] : undefined
  return isObject(meta) && typeof meta["io.modelcontextprotocol/protocolVersion"] === "string"
}

/** Whether a request is of a revision with sessions. Reads a copy of the body, unless that is given. */
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
