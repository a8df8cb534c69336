/**
 * Streamable HTTP for one session (spec: basic/transports), as the SDK has it: a program routes each request to the transport of its
 * session.
 */
import type * as McpServer from "@effect-mcp/server/McpServer"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import type { ServerResponse } from "node:http"
import { SdkError, SdkErrorCode } from "../model/errors.ts"
import type { Actor } from "../server/Actor.ts"
import { serve, type ServedTransport } from "../server/connect.ts"
import {
  type EndpointOptions,
  type NodeEndpoint,
  nodeEndpoint,
  type NodeRequest,
  type RequestExtra,
  type WebEndpoint,
  webEndpoint
} from "./endpoint.ts"

export interface StreamableHTTPServerTransportOptions {
  /** Sessions, where it is given. Their ids are those of this library: the function is not called. */
  sessionIdGenerator?: (() => string) | undefined
  /** Called with the id of the session before it is told to the client. */
  onsessioninitialized?: ((sessionId: string) => void | Promise<void>) | undefined
  /** Called when the session has ended. */
  onsessionclosed?: ((sessionId: string) => void | Promise<void>) | undefined
  /** When a client that was sent away should come back, in milliseconds. */
  retryInterval?: number | undefined
  /** Names of the server that requests may have in `Host`, where `enableDnsRebindingProtection`. */
  allowedHosts?: Array<string> | undefined
  allowedOrigins?: Array<string> | undefined
  enableDnsRebindingProtection?: boolean | undefined
  /** Accepted and ignored: events are kept in memory, within limits. */
  eventStore?: unknown
  /** Accepted and ignored: an answer is JSON unless it has to be a stream. */
  enableJsonResponse?: boolean | undefined
}

abstract class HttpTransport implements ServedTransport {
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  /** The id of the session, once there is one. */
  sessionId?: string | undefined
  readonly options: StreamableHTTPServerTransportOptions
  #ended: (() => void) | undefined

  constructor(options: StreamableHTTPServerTransportOptions = {}) {
    this.options = options
  }

  protected get endpointOptions(): EndpointOptions {
    const { allowedHosts, allowedOrigins, enableDnsRebindingProtection = false, retryInterval } = this.options
    return {
      sessions: this.options.sessionIdGenerator !== undefined,
      retry: retryInterval,
      ...(enableDnsRebindingProtection && { allowedHosts, allowedOrigins })
    }
  }

  /** Serves the actor; gives what ends that. */
  protected abstract open(actor: Actor): () => Promise<void>

  async [serve](actor: Actor, ended: () => void): Promise<void> {
    const dispose = this.open(actor)
    actor.onClose(async () => {
      await dispose()
      this.onclose?.()
    })
    this.#ended = ended
  }

  arrived(session: McpServer.Session): void {
    const { onsessionclosed, onsessioninitialized } = this.options
    if (this.options.sessionIdGenerator === undefined) return
    const { id } = session
    this.sessionId = id
    void onsessioninitialized?.(id)
    const over = Effect.sync(() => {
      void onsessionclosed?.(id)
      this.#ended?.()
    })
    Effect.runSync(Scope.addFinalizer(session.scope, over))
  }

  async start(): Promise<void> {}

  async send(): Promise<void> {
    throw new Error("The transport is connected to a server, which sends")
  }

  async close(): Promise<void> {
    this.#ended?.()
  }
}

const unconnected = (): SdkError =>
  new SdkError(
    SdkErrorCode.NotConnected,
    "The transport serves no server yet: call server.connect(transport) before handleRequest"
  )

/** For `node:http` and the frameworks that hand out its requests. */
export class NodeStreamableHTTPServerTransport extends HttpTransport {
  #endpoint: NodeEndpoint | undefined

  protected open(actor: Actor): () => Promise<void> {
    const endpoint = nodeEndpoint(actor, this.endpointOptions)
    this.#endpoint = endpoint
    return endpoint.dispose
  }

  /** Answers a request; `parsedBody` is its body where that was read before. */
  async handleRequest(request: NodeRequest, response: ServerResponse, parsedBody?: unknown): Promise<void> {
    if (this.#endpoint === undefined) throw unconnected()
    this.#endpoint.handle(request, response, parsedBody)
  }
}

/** For platforms with the Web API. */
export class WebStandardStreamableHTTPServerTransport extends HttpTransport {
  #endpoint: WebEndpoint | undefined

  protected open(actor: Actor): () => Promise<void> {
    const endpoint = webEndpoint(actor, this.endpointOptions)
    this.#endpoint = endpoint
    return endpoint.dispose
  }

  async handleRequest(request: Request, extra?: RequestExtra): Promise<Response> {
    if (this.#endpoint === undefined) throw unconnected()
    return this.#endpoint.handle(request, extra)
  }
}
