/** Servers from a factory: one per connection or one per request. */
import { urlOf } from "../request/urls.ts"
import { authOf } from "../request/auth.ts"
import { type Choose, knownClient } from "../request/Choose.ts"
import type { Definition } from "../request/Definition.ts"
import { Actor, type ActorOptions } from "./Actor.ts"
import { McpServer } from "./McpServer.ts"
import type { Factory, McpRequestContext } from "./Factory.ts"
import type { Server } from "./Server.ts"

const requestOf = ({ headers = {}, method, originalUrl }: Parameters<Choose>[0]["envelope"]) => {
  if (method === undefined || originalUrl === undefined) return undefined
  const entries = Object.entries(headers).flatMap(([name, value]) =>
    typeof value === "string" ? [[name, value] as [string, string]] : []
  )
  const url = urlOf(originalUrl)
  return url && new globalThis.Request(url, { method, headers: entries })
}

/** Returns the actor that serves a factory's servers. `per` is the lifetime of each server. */
export const served = async (
  factory: Factory,
  { per, revisions }: { readonly per: "connection" | "request"; readonly revisions?: ActorOptions["revisions"] }
): Promise<Actor> => {
  let actor: Actor | undefined
  /** The server that was created to learn its name. It answers the first request that it fits, so it is not wasted. */
  let first: Server | undefined
  const takeFirst = (): Promise<Server> | undefined => {
    const taken = first
    first = undefined
    return taken && Promise.resolve(taken)
  }
  const make = async (context: McpRequestContext): Promise<Server> => {
    const made = await factory(context)
    return made instanceof McpServer ? made.server : made
  }
  // Keyed by connection or envelope, because both belong to core.
  const known = new WeakMap<object, Promise<Definition>>()
  const choose: Choose = ({ client, envelope, era, outbound: { connection } }) => {
    const key = per === "connection" ? (connection ?? envelope) : envelope
    const found = known.get(key)
    if (found !== undefined) return found
    const authInfo = authOf({ envelope })
    const isForAny = era === "modern" && authInfo === undefined
    const taken = isForAny ? takeFirst() : undefined
    const made = (taken ?? make({ era, authInfo, requestInfo: requestOf(envelope) })).then((server) => {
      const held = per === "connection" ? connection : undefined
      if (actor !== undefined) server.serveBy({ actor, era, connection: held, client: client && knownClient(client) })
      return server
    })
    known.set(key, made)
    return made
  }
  const own = await make({ era: "modern" })
  first = own
  actor = new Actor(own, choose, { revisions })
  own.serveBy({ actor })
  return actor
}
