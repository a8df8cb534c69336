/**
 * To which caller a task belongs.
 *
 * A principal is known by issuer and subject. An anonymous caller over stdio, a socket or in memory is its connection, unless tasks outlive
 * it. Over HTTP, and in a store that outlives connections, an anonymous caller has no name: there the id of a task, which no other caller
 * can guess, is the right to use it. Its tasks count by its address.
 */
import { callerKey, Principal } from "@effect-mcp/core/Principal"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { TaskStore } from "../store/TaskStore.ts"

const connections = new WeakMap<object, string>()

const connectionKey = (connection: object): string => {
  const known = connections.get(connection)
  if (known !== undefined) return known
  const made = `connection ${crypto.randomUUID()}`
  connections.set(connection, made)
  return made
}

/** The owner of all tasks of callers that have no name. */
export const anonymous = "anonymous"

type Store = Pick<TaskStore["Service"], "outlives">

/** The owner of the tasks that a request makes and may use in a store. */
export const ownerOf = ({ outlives }: Store, context: Context.Context<RequestContext | Principal>): string => {
  const caller = callerKey(Context.get(context, Principal))
  if (caller !== undefined) return `principal ${caller}`
  const { http, outbound } = Context.get(context, RequestContext)
  if (outlives || http !== undefined || outbound.connection === undefined) return anonymous
  return connectionKey(outbound.connection)
}

/** The caller that a task counts for: an anonymous one by its address, since all anonymous callers over HTTP are one owner. */
export const callerOf = (owner: string, context: Context.Context<RequestContext | Principal>): string => {
  if (owner !== anonymous) return owner
  const { address } = Context.get(context, RequestContext).envelope
  return `${anonymous} ${callerKey(Context.get(context, Principal), address) ?? ""}`.trim()
}

/** `ownerOf` of the running request. */
export const owner = (store: Store): Effect.Effect<string, never, RequestContext | Principal> =>
  Effect.contextWith((context: Context.Context<RequestContext | Principal>) => Effect.succeed(ownerOf(store, context)))
