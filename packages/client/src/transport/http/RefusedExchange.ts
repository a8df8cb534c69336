/**
 * A request whose response has an error status. Its body may contain the answer, and its status may reveal the server's era or that the
 * session has ended.
 */
import * as Framing from "@effect-mcp/core/Framing"
import type { Decoded } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import * as Body from "./Body.ts"
import { type HttpConversation, type PostExchange, receiver } from "./HttpConversation.ts"
import * as ExchangeFailure from "./ExchangeFailure.ts"
import * as Refusal from "./Refusal.ts"
import * as SessionExpired from "./SessionExpired.ts"
import * as statuses from "./statuses.ts"
import type { HttpResponse } from "./HttpSender.ts"

/** Reads the answer in an error response's body: an error that names this request or no request. */
const readError = (status: number, body: string, id: JsonRpc.Id, maxDepth?: number): Decoded | undefined => {
  const decoded = statuses.unauthorized.has(status) ? undefined : Framing.decode(body, undefined, maxDepth)
  if (decoded?._tag !== "Message" || !("error" in decoded.message)) return undefined
  const { message } = decoded
  return message.id === id || message.id === undefined || message.id === null
    ? { ...decoded, message: JsonRpc.failure(id, message.error) }
    : undefined
}

const modern: ReadonlySet<number> = new Set([
  McpError.HeaderMismatch,
  McpError.MissingClientCapability,
  McpError.UnsupportedProtocolVersion
])

/**
 * True if a server that answers `initialize` with this status may support HTTP with SSE (spec 2026-07-28: basic/transports/streamable-http,
 * backward compatibility).
 */
const isOlder = (status: number, answer: Decoded | undefined): boolean => {
  if (status !== 400 && status !== 404 && status !== 405) return false
  if (answer?._tag !== "Message" || !("error" in answer.message)) return true
  const { code } = answer.message.error
  return !modern.has(code) && !(status === 404 && code === McpError.MethodNotFound)
}

type Outcome = Effect.Effect<void, ExchangeFailure.ExchangeFailure>

/** Reads the response's complete body. */
export const refused = (conversation: HttpConversation, exchange: PostExchange, response: HttpResponse): Outcome => {
  const { endpoint, limit } = conversation
  const { request, session } = exchange
  const { headers, status } = response
  if (status === 404 && session !== undefined) {
    return Effect.andThen(Body.skip(response), Effect.fail(ExchangeFailure.sessionLost(true)))
  }
  const uncertain = session !== undefined && SessionExpired.isCandidate(status)
  if (!uncertain) exchange.accept()
  return Effect.matchEffect(Body.text(response, limit, headers), {
    onFailure: (error) => Effect.fail(ExchangeFailure.unread(error)),
    onSuccess: (body) =>
      uncertain && SessionExpired.matches(body)
        ? Effect.fail(Refusal.sessionForgotten({ method: request.method, url: endpoint.url, response, body }))
        : read(conversation, exchange, response, body)
  })
}

const read = (
  conversation: HttpConversation,
  exchange: PostExchange,
  response: HttpResponse,
  body: string
): Outcome => {
  const { endpoint, fallback, handOver, learned, maxDepth } = conversation
  const { status } = response
  const { request } = exchange
  const { id, method } = request
  // A server that is too busy for the probe has not revealed its era.
  const isBusyProbe = method === "server/discover" && statuses.isBusy(status)
  const answer = isBusyProbe ? undefined : readError(status, body, id, maxDepth)
  const take = (): Outcome => {
    if (answer !== undefined) return receiver(conversation, exchange, statuses.isForeign(status))(answer)
    if (method === "server/discover" && statuses.isForeign(status)) learned("older")
    return Effect.fail(Refusal.refused({ method, url: endpoint.url, response, body }))
  }
  if (method !== "initialize" || fallback === undefined || !isOlder(status, answer)) return take()
  return Effect.matchEffect(fallback, {
    onFailure: take,
    onSuccess: (older) => Effect.sync(() => handOver(older, request))
  })
}
