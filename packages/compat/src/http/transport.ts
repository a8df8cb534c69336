/**
 * Streamable HTTP for one session (spec: basic/transports), as in the SDK: the program routes each request to the transport of its session.
 */
import * as Wire from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import type { ServerResponse } from "node:http"
import { SdkError, SdkErrorCode } from "../model/errors.ts"
import { report } from "../model/report.ts"
import type { Actor } from "../server/Actor.ts"
import { servedAs } from "../server/connect.ts"
import type { Transport } from "../server/Transport.ts"
import { type EndpointOptions, type NodeEndpoint, nodeEndpoint, type WebEndpoint, webEndpoint } from "./endpoint.ts"
import type { NodeRequest, RequestExtra } from "./requests.ts"

export interface StreamableHTTPServerTransportOptions {
  /** If set, the transport has sessions. This library generates their ids: the function is not called. */
  sessionIdGenerator?: (() => string) | undefined
  /** Called with the session's id, and awaited, before the client receives the id. If it fails, so does `initialize`. */
  onsessioninitialized?: ((sessionId: string) => void | Promise<void>) | undefined
  /** Called when the session has ended. */
  onsessionclosed?: ((sessionId: string) => void | Promise<void>) | undefined
  /** How long a disconnected client should wait before it returns, in milliseconds. */
  retryInterval?: number | undefined
  /** Host names of the server in addition to loopback, or `*` for any. Other hosts get 403. */
  allowedHosts?: Array<string> | undefined
  /** Origins of other sites' pages, such as `https://example.com`, or `*` for any. Other origins get 403. */
  allowedOrigins?: Array<string> | undefined
  /** Whether to check host and origin. Default `true`; in the SDK `false`. */
  enableDnsRebindingProtection?: boolean | undefined
  /** Accepted and ignored: events are kept in memory, within limits. */
  eventStore?: unknown
  /** Accepted and ignored: an answer is JSON unless it has to be a stream. */
  enableJsonResponse?: boolean | undefined
}

const endpointOptions = (
  transport: HttpTransport,
  {
    allowedHosts,
    allowedOrigins,
    enableDnsRebindingProtection = true,
    retryInterval,
    sessionIdGenerator
  }: StreamableHTTPServerTransportOptions
): EndpointOptions => ({
  sessions: sessionIdGenerator !== undefined,
  retry: retryInterval,
  allowedHosts: enableDnsRebindingProtection ? allowedHosts : ["*"],
  allowedOrigins: enableDnsRebindingProtection ? allowedOrigins : ["*"],
  refused: (error) => report(transport.onerror, error)
})

class HttpTransport implements Transport {
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  /** The session's id, once there is one. */
  sessionId?: string | undefined
  /** Ends the conversation. Set once there is one. */
  protected end: (() => void) | undefined

  async start(): Promise<void> {}

  async send(): Promise<void> {
    throw new Error("Cannot send on this transport directly: use the server that is connected to it")
  }

  async close(): Promise<void> {
    this.end?.()
  }
}

/** Calls a function of the program. Returns true if it succeeded, and reports the error otherwise. */
const called = async (transport: HttpTransport, callback: () => void | Promise<void>): Promise<boolean> => {
  try {
    await callback()
    return true
  } catch (error) {
    report(transport.onerror, error)
    return false
  }
}

/** Serves a transport with an endpoint. `ends` receives the function that stops it. */
const serving = (
  transport: HttpTransport,
  { onsessionclosed, onsessioninitialized, sessionIdGenerator }: StreamableHTTPServerTransportOptions,
  open: (actor: Actor) => { readonly dispose: () => Promise<void> },
  ends: (end: () => void) => void
): void => {
  let end = (): void => undefined
  servedAs(transport, {
    serve: (actor, ended) => {
      const { dispose } = open(actor)
      actor.onClose(async () => {
        await dispose()
        await called(transport, () => transport.onclose?.())
      })
      ends((end = ended))
    },
    arrived: ({ id, scope }) => {
      if (sessionIdGenerator === undefined) return undefined
      transport.sessionId = id
      const over = Effect.sync(() => {
        // Not awaited: a callback that closes the server waits for the end of this scope.
        void called(transport, () => onsessionclosed?.(id))
        end()
      })
      Effect.runSync(Scope.addFinalizer(scope, over))
      if (onsessioninitialized === undefined) return undefined
      return Effect.flatMap(
        Effect.promise(() => called(transport, () => onsessioninitialized(id))),
        (succeeded) => (succeeded ? Effect.void : Effect.fail(Wire.internalError()))
      )
    }
  })
}

const unconnected = (): SdkError =>
  new SdkError(
    SdkErrorCode.NotConnected,
    "The transport is not connected to a server. Call server.connect(transport) before handleRequest"
  )

/** For `node:http` and the frameworks built on it. */
export class NodeStreamableHTTPServerTransport extends HttpTransport {
  #endpoint: NodeEndpoint | undefined

  constructor(options: StreamableHTTPServerTransportOptions = {}) {
    super()
    const open = (actor: Actor) => (this.#endpoint = nodeEndpoint(actor, endpointOptions(this, options)))
    serving(this, options, open, (end) => (this.end = end))
  }

  /** Answers a request. Pass the parsed body if it was already read. */
  async handleRequest(request: NodeRequest, response: ServerResponse, parsedBody?: unknown): Promise<void> {
    if (this.#endpoint === undefined) throw unconnected()
    this.#endpoint.handle(request, response, parsedBody)
  }
}

/** For platforms with the Web API. */
export class WebStandardStreamableHTTPServerTransport extends HttpTransport {
  #endpoint: WebEndpoint | undefined

  constructor(options: StreamableHTTPServerTransportOptions = {}) {
    super()
    const open = (actor: Actor) => (this.#endpoint = webEndpoint(actor, endpointOptions(this, options)))
    serving(this, options, open, (end) => (this.end = end))
  }

  async handleRequest(request: Request, extra?: RequestExtra): Promise<Response> {
    if (this.#endpoint === undefined) throw unconnected()
    return this.#endpoint.handle(request, extra)
  }
}
