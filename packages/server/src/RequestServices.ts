/**
 * The services of one request, built afresh for it. What differs by era (who asks, how questions travel, which logs pass) is given;
 * what is the same for every request is made here.
 */
import * as ClientInput from "@effect-mcp/core/ClientInput"
import * as Elicitation from "@effect-mcp/core/Elicitation"
import { Log } from "@effect-mcp/core/Log"
import type { Asked } from "@effect-mcp/core/Peer"
import { Principal } from "@effect-mcp/core/Principal"
import * as Progress from "@effect-mcp/core/Progress"
import { type Connection, RequestContext, type RequestServices } from "@effect-mcp/core/RequestContext"
import * as Roots from "@effect-mcp/core/Roots"
import * as Sampling from "@effect-mcp/core/Sampling"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"

const noMeta: JsonObject = {}

/** The request's `_meta`, empty when it has none. */
export const metaOf = (request: JsonRpc.Request): JsonObject =>
  isJsonObject(request.params?._meta) ? request.params._meta : noMeta

/** What the era knows of a request. */
export interface Facts {
  readonly context: Pick<RequestContext["Service"], "revision" | "sessionId" | "clientInfo" | "clientCapabilities">
  readonly principal: Principal["Service"]
  readonly input: ClientInput.ClientInput["Service"]
  readonly log: Log["Service"]
  /** Announcements that the client's roots changed, where it makes any. */
  readonly rootsChanges: Stream.Stream<void> | undefined
  readonly connection: Connection | undefined
  /** Completes when the server is about to end by itself. */
  readonly closing: Effect.Effect<void>
}

/** Runs `effect` with the services of its request, in a Scope of its own; when it is over, so is its progress. */
export const provide = <A, E>(
  effect: Effect.Effect<A, E, RequestServices>,
  exchange: Asked,
  facts: Facts
): Effect.Effect<A, E> => {
  let over = false
  const services = make(exchange, facts, () => over || exchange.cancelled === true)
  return Effect.ensuring(
    Effect.provideContext(Effect.scoped(effect), services),
    Effect.sync(() => (over = true))
  )
}

/**
 * Everything but the Scope. Finalizers of a cancelled request, and fibers that outlive theirs, may still hold them: progress of what
 * is `over` is dropped; so are logs where they belong to the request alone, not to a session.
 */
export const make = (
  exchange: Asked,
  facts: Facts,
  over: () => boolean = () => false
): Context.Context<Exclude<RequestServices, Scope.Scope>> => {
  const { request, sink, envelope } = exchange
  const { context, input } = facts
  const { revision } = context
  const meta = metaOf(request)
  const token = meta.progressToken
  const asked = { revision, capabilities: context.clientCapabilities }
  const map = new Map<string, unknown>()
  map.set(RequestContext.key, {
    ...context,
    id: request.id,
    method: request.method,
    meta,
    envelope,
    wire: {
      notify: (method, params) => {
        if (!over()) sink.send(JsonRpc.notification(method, params), "data", request.id)
      },
      ready: sink.ready,
      closing: facts.closing,
      connection: facts.connection
    },
    disconnect: (retry) => sink.disconnect?.(retry)
  } satisfies RequestContext["Service"])
  map.set(Principal.key, facts.principal)
  map.set(
    Progress.Progress.key,
    Progress.make({
      token: JsonRpc.isId(token) ? token : undefined,
      writable: sink.writable,
      ready: sink.ready,
      send: ({ message, ...event }) => {
        if (over()) return
        const params = message === undefined || !revision.rules.progressMessage ? event : { ...event, message }
        sink.send(JsonRpc.notification("notifications/progress", params), "data", request.id)
      }
    })
  )
  map.set(ClientInput.ClientInput.key, input)
  map.set(Elicitation.Elicitation.key, Elicitation.proxy(input, ClientInput.elicitationModes(asked)))
  map.set(Sampling.Sampling.key, Sampling.proxy(input, ClientInput.samplingCapabilities(asked)))
  map.set(Roots.Roots.key, Roots.proxy(input, facts.rootsChanges))
  map.set(Log.key, revision.era === "stateless" ? until(over, facts.log) : facts.log)
  return Context.makeUnsafe(map)
}

const until = (over: () => boolean, log: Log["Service"]): Log["Service"] => {
  const logUnsafe: Log["Service"]["logUnsafe"] = (level, data, logger) => {
    if (!over()) log.logUnsafe(level, data, logger)
  }
  return { logUnsafe, log: (level, data, logger) => Effect.sync(() => logUnsafe(level, data, logger)) }
}
