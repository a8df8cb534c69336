/**
 * A request's services. Everything that differs by era (client, input, log level) comes from its `EraContext`; the rest is created here.
 */
import * as ClientInput from "@effect-mcp/core/ClientInput"
import * as Elicitation from "@effect-mcp/core/Elicitation"
import { Log } from "@effect-mcp/core/Log"
import type { ReceivedRequest } from "@effect-mcp/core/Peer"
import { Principal } from "@effect-mcp/core/Principal"
import * as Progress from "@effect-mcp/core/Progress"
import { type RequestConnection, httpOf, RequestContext } from "@effect-mcp/core/RequestContext"
import { Provided, ProvidedServices, service, ServiceTable } from "@effect-mcp/core/internal/handlers"
import { Spans } from "@effect-mcp/core/internal/peers"
import * as Roots from "@effect-mcp/core/Roots"
import * as Sampling from "@effect-mcp/core/Sampling"
import type { Sink } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { ByteAccount } from "../Limits.ts"

const noMeta: JsonObject = {}

/** Returns the request's `_meta`, which is empty if it has none. */
export const metaOf = (request: JsonRpc.Request | JsonRpc.Notification): JsonObject =>
  isJsonObject(request.params?._meta) ? request.params._meta : noMeta

/** The parts of a request that depend on its era. */
export interface EraContext {
  readonly context: Pick<RequestContext["Service"], "revision" | "sessionId" | "clientInfo" | "clientCapabilities">
  readonly input: ClientInput.ClientInput["Service"]
  readonly log: Log["Service"]
  /** Emits when the client's roots change, or `undefined` if the client doesn't announce that. */
  readonly rootsChanges: Stream.Stream<void> | undefined
  readonly connection: RequestConnection | undefined
  /** True if all messages on the connection come from a single client. */
  readonly duplex: boolean
  /** Completes when the server is about to end the session. */
  readonly closing: Effect.Effect<void>
  /** The account for bytes that the server holds for the request. */
  readonly holder: ByteAccount
}

/** Where a request's services come from: facts, and sinks for output. */
export interface Source {
  readonly principal: Principal["Service"]
  /** The client, and how to ask it. */
  readonly client: Pick<EraContext, "context" | "input" | "rootsChanges">
  readonly requestContext: () => RequestContext["Service"]
  readonly progress: () => Progress.Progress["Service"]
  readonly log: () => Log["Service"]
  readonly openScope: () => Scope.Scope
}

/** A request with a connection. */
export interface Wired {
  readonly received: ReceivedRequest
  readonly eraContext: EraContext
  /** True if the request has been answered or cancelled. */
  readonly over: boolean
}

export const contextOf = (source: Wired): RequestContext["Service"] => {
  const { envelope, request, sink } = source.received
  const { closing, connection, context } = source.eraContext
  const { clientCapabilities, clientInfo, revision, sessionId } = context
  const sender = Spans.currentSender()
  // No spread, which would copy the new object.
  return {
    revision,
    sessionId,
    clientInfo,
    clientCapabilities,
    id: request.id,
    method: request.method,
    meta: metaOf(request),
    envelope,
    // Not a getter: V8 allocates an own getter in the old generation, and it would keep its request until a full collection.
    http: httpOf(envelope),
    outbound: {
      notify: (method, params) => {
        if (!source.over)
          Spans.notify(source.received.sink, JsonRpc.notification(method, params), "data", request.id, sender)
      },
      ready: sink.ready,
      isRead: sink.isRead === undefined ? isAlwaysRead : isReadOf(sink),
      left: sink.left ?? Effect.never,
      closing,
      connection
    },
    closeStream: sink.closeStream === undefined ? closesNothing : closeStreamOf(sink)
  }
}

const isAlwaysRead = (): boolean => true
const isReadOf = (sink: Sink) => (): boolean => sink.isRead?.() !== false
const closesNothing: RequestContext["Service"]["closeStream"] = () => {}
const closeStreamOf =
  (sink: Sink): RequestContext["Service"]["closeStream"] =>
  (retry) =>
    sink.closeStream?.(retry)

export const progressOf = (source: Wired): Progress.Progress["Service"] => {
  const { received } = source
  const { request, sink } = received
  const token = metaOf(request).progressToken
  if (!JsonRpc.isId(token)) return Progress.none
  const { progressMessage } = source.eraContext.context.revision.rules
  // Handlers report progress in loops, so the tracer is looked up once.
  const sender = Spans.currentSender()
  return Progress.make({
    token,
    writable: () => sink.writable(),
    ready: sink.ready,
    send: (event) => {
      if (source.over) return
      const params = event.message === undefined || progressMessage ? event : silent(event)
      received.progress = event
      const notification = JsonRpc.notification("notifications/progress", params)
      // Read each time, because another sink may have replaced it to watch the messages.
      if (sender === undefined) received.sink.send(notification, "data", request.id)
      else Spans.notify(received.sink, notification, "data", request.id, sender)
    }
  })
}

const silent = ({ message: _none, ...event }: { readonly message?: string }) => event

export const logOf = (request: Wired): Log["Service"] => {
  const { context, log } = request.eraContext
  return context.revision.era === "stateless" ? until(request, log) : log
}

const until = (request: Wired, log: Log["Service"]): Log["Service"] => {
  const logUnsafe: Log["Service"]["logUnsafe"] = (level, data, logger) => {
    if (!request.over) log.logUnsafe(level, data, logger)
  }
  return { logUnsafe, log: (level, data, logger) => Effect.sync(() => logUnsafe(level, data, logger)) }
}

const asked = ({ revision, clientCapabilities }: EraContext["context"]): ClientInput.ClientDeclaration => ({
  revision,
  capabilities: clientCapabilities
})

export const serviceTable = new ServiceTable<Source>([
  service(RequestContext, (request) => request.requestContext()),
  service(Principal, ({ principal }) => principal),
  service(Progress.Progress, (request) => request.progress()),
  service(ClientInput.ClientInput, ({ client }) => client.input),
  service(Elicitation.Elicitation, ({ client }) =>
    Elicitation.proxy(client.input, ClientInput.elicitationModes(asked(client.context)))
  ),
  service(Sampling.Sampling, ({ client }) =>
    Sampling.proxy(client.input, ClientInput.samplingCapabilities(asked(client.context)))
  ),
  service(Roots.Roots, ({ client }) => Roots.proxy(client.input, client.rootsChanges)),
  service(Log, (request) => request.log()),
  service(Scope.Scope, (request) => request.openScope()),
  service(Provided, () => new ProvidedServices())
])
