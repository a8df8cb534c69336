/**
 * The services of one request in a stateful session: built afresh for it, on the session's record and the way back to the client.
 */
import * as ClientInput from "@effect-mcp/core/ClientInput"
import * as Elicitation from "@effect-mcp/core/Elicitation"
import { Log } from "@effect-mcp/core/Log"
import type { Exchange } from "@effect-mcp/core/Peer"
import { Principal } from "@effect-mcp/core/Principal"
import * as Progress from "@effect-mcp/core/Progress"
import { RequestContext, type RequestServices } from "@effect-mcp/core/RequestContext"
import * as Roots from "@effect-mcp/core/Roots"
import * as Sampling from "@effect-mcp/core/Sampling"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Scope from "effect/Scope"
import type { Logging } from "./Logging.ts"
import type { Negotiated, Session } from "./Session.ts"

const noMeta: JsonObject = {}

/** Everything but the Scope, which the dispatcher opens around the handler. */
export const make = (
  session: Session,
  negotiated: Negotiated,
  exchange: Exchange,
  options: { readonly askTimeout: Duration.Input; readonly logging: Logging }
): Context.Context<Exclude<RequestServices, Scope.Scope>> => {
  const { request, sink, envelope } = exchange
  const { revision, clientInfo, clientCapabilities } = negotiated
  const meta = isJsonObject(request.params?._meta) ? request.params._meta : noMeta
  const token = meta.progressToken
  const asked = { revision, capabilities: clientCapabilities }
  const input = ClientInput.remote({ ...asked, peer: session.peer, relatedTo: request.id, timeout: options.askTimeout })
  const map = new Map<string, unknown>()
  map.set(RequestContext.key, {
    id: request.id,
    method: request.method,
    revision,
    sessionId: session.id,
    clientInfo,
    clientCapabilities,
    meta,
    envelope
  } satisfies RequestContext["Service"])
  map.set(Principal.key, envelope.principal ?? session.principal)
  map.set(
    Progress.Progress.key,
    Progress.make({
      token: JsonRpc.isId(token) ? token : undefined,
      writable: sink.writable,
      ready: sink.ready,
      send: ({ message, ...event }) =>
        sink.send(
          JsonRpc.notification(
            "notifications/progress",
            message === undefined || !revision.rules.progressMessage ? event : { ...event, message }
          ),
          "data",
          request.id
        )
    })
  )
  map.set(ClientInput.ClientInput.key, input)
  map.set(Elicitation.Elicitation.key, Elicitation.proxy(input, ClientInput.elicitationModes(asked)))
  map.set(Sampling.Sampling.key, Sampling.proxy(input, ClientInput.samplingCapabilities(asked)))
  const announcesRoots = clientCapabilities.roots?.listChanged === true
  map.set(Roots.Roots.key, Roots.proxy(input, announcesRoots ? session.rootsChanges : undefined))
  map.set(Log.key, options.logging.forRequest(session, exchange))
  return Context.makeUnsafe(map)
}
