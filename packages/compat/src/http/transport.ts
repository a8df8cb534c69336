/**
 * Streamable HTTP for one session (spec: basic/transports), as the SDK has it: a program routes each request to the transport of its
 * session.
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
  /** Sessions, where it is given. Their ids are those of this library: the function is not called. */
  sessionIdGenerator?: (() => string) | undefined
  /** Called with the id of the session, and awaited, before it is told to the client. Where it fails, `initialize` does. */
  onsessioninitialized?: ((sessionId: string) => void | Promise<void>) | undefined
  /** Called when the session has ended. */
  onsessionclosed?: ((sessionId: string) => void | Promise<void>) | undefined
  /** When a client that was sent away should come back, in milliseconds. */
  retryInterval?: number | undefined
  /** Names of the server beside loopback, or `*` for any; others get 403. */
  allowedHosts?: Array<string> | undefined
  /** Origins of pages of other sites, as `https://example.com`, or `*` for any; others get 403. */
  allowedOrigins?: Array<string> | undefined
  /** `false` admits every host and origin. Default `true`, in the SDK `false`. */
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
  /** The id of the session, once there is one. */
  sessionId?: string | undefined
  /** Ends the conversation, once there is one. */
  protected end: (() => void) | undefined

  async start(): Promise<void> {}

  async send(): Promise<void> {
    throw new Error("The transport is connected to a server, which sends")
  }

  async close(): Promise<void> {
    this.end?.()
  }
}

/** Calls a function of the program: whether it succeeded. What it throws is reported. */
const called = async (transport: HttpTransport, callback: () => void | Promise<void>): Promise<boolean> => {
  try {
    await callback()
    return true
  } catch (error) {
    report(transport.onerror, error)
    return false
  }
}

/** Serves a transport by an endpoint; `ends` is given what ends that. */
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
    "The transport serves no server yet: call server.connect(transport) before handleRequest"
  )

/** For `node:http` and the frameworks that hand out its requests. */
export class NodeStreamableHTTPServerTransport extends HttpTransport {
  #endpoint: NodeEndpoint | undefined

  constructor(options: StreamableHTTPServerTransportOptions = {}) {
    super()
    const open = (actor: Actor) => (this.#endpoint = nodeEndpoint(actor, endpointOptions(this, options)))
    serving(this, options, open, (end) => (this.end = end))
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
