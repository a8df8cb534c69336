/**
 * Determines a task's owner.
 *
 * A principal is identified by issuer and subject. An anonymous caller over stdio, a socket or in memory is identified by its connection,
 * unless tasks outlive it. Over HTTP, and in a store that outlives connections, an anonymous caller has no identity, so anyone who knows a
 * task's unguessable ID can access it. Such tasks count against the caller's address.
 */
import { callerKey, Principal } from "@effect-mcp/core/Principal"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { memoize } from "effect/Function"
import type { TaskStore } from "../store/TaskStore.ts"

const connectionKey = memoize<object, string>(() => `connection ${crypto.randomUUID()}`)

/** The owner of all tasks whose callers have no identity. */
export const anonymous = "anonymous"

type Store = Pick<TaskStore["Service"], "outlives">

/** Returns the owner of the tasks that a request creates and can access in a store. */
export const ownerOf = ({ outlives }: Store, context: Context.Context<RequestContext | Principal>): string => {
  const caller = callerKey(Context.get(context, Principal))
  if (caller !== undefined) return `principal ${caller}`
  const { http, outbound } = Context.get(context, RequestContext)
  if (outlives || http !== undefined || outbound.connection === undefined) return anonymous
  return connectionKey(outbound.connection)
}

/**
 * Returns the caller that a task counts against. For an anonymous caller it is the address, because all anonymous HTTP callers share one
 * owner.
 */
export const callerOf = (owner: string, context: Context.Context<RequestContext | Principal>): string => {
  if (owner !== anonymous) return owner
  const { address } = Context.get(context, RequestContext).envelope
  return `${anonymous} ${callerKey(Context.get(context, Principal), address) ?? ""}`.trim()
}

/** Returns `ownerOf` for the current request. */
export const owner = (store: Store): Effect.Effect<string, never, RequestContext | Principal> =>
  Effect.contextWith((context: Context.Context<RequestContext | Principal>) => Effect.succeed(ownerOf(store, context)))
