/** `createMcpHandler`: HTTP for servers that a function makes, one for each request, and which requests are of which era. */
import type { ServerResponse } from "node:http"
import type { Factory } from "../server/Factory.ts"
import { served } from "../server/served.ts"
import { nodeEndpoint, type NodeEndpoint, webEndpoint } from "./endpoint.ts"
import type { NodeRequest, RequestExtra } from "./requests.ts"

export interface CreateMcpHandlerOptions {
  /**
   * Clients of the revisions up to 2025-11-25: `stateless` serves each of their requests by itself, `reject` none. `sessions`, which the
   * SDK does not have, opens sessions, so that handlers can ask them. Default `stateless`.
   */
  legacy?: "stateless" | "reject" | "sessions" | undefined
  onerror?: ((error: Error) => void) | undefined
  /** Accepted and ignored: an answer is JSON unless it has to be a stream. */
  responseMode?: string | undefined
  /** Accepted and ignored. */
  bus?: unknown
  maxSubscriptions?: number | undefined
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

/** Serves what a function makes over HTTP, for clients of every revision. */
export const createMcpHandler = (factory: Factory, options: CreateMcpHandlerOptions = {}): NodeHandler => {
  const { legacy = "stateless" } = options
  const endpointOptions = { sessions: legacy === "sessions" }
  const revisions = legacy === "reject" ? (["2026-07-28"] as const) : undefined
  const made = served(factory, { per: "request", revisions })
  made.catch((error: unknown) => options.onerror?.(error instanceof Error ? error : new Error(String(error))))
  const web = made.then((actor) => {
    const endpoint = webEndpoint(actor, endpointOptions)
    actor.onClose(endpoint.dispose)
    return endpoint
  })
  let listening: Promise<NodeEndpoint> | undefined
  const listener = () =>
    (listening ??= made.then((actor) => {
      const endpoint = nodeEndpoint(actor, endpointOptions)
      actor.onClose(endpoint.dispose)
      return endpoint
    }))
  return {
    fetch: async (request, extra) => (await web).handle(request, extra),
    notify: {
      toolsChanged: () => void made.then((actor) => actor.changed("tools")),
      promptsChanged: () => void made.then((actor) => actor.changed("prompts")),
      resourcesChanged: () => void made.then((actor) => actor.changed("resources")),
      resourceUpdated: (uri) => void made.then((actor) => actor.updated(uri))
    },
    close: async () => (await made).close(),
    [node]: async (request, response, body) => (await listener()).handle(request, response, body)
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
