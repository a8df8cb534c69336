/** MethodRows of the table of methods: from a method to its handler. `dispatch/methods` puts them together. */
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Method from "@effect-mcp/protocol/Method"
import type { PaginatedParams } from "@effect-mcp/protocol/model/Meta"
import * as Effect from "effect/Effect"
import type { Limits } from "../Limits.ts"
import type { ServerRequest } from "../request/ServerRequest.ts"
import type { Session } from "../session/Session.ts"
import type * as Caching from "./Caching.ts"
import * as Pagination from "./Pagination.ts"

type Requests = Method.ClientRequests
export type MethodHandler<M extends keyof Requests> = (
  params: Requests[M]["params"],
  request: ServerRequest
) => Effect.Effect<Requests[M]["result"], McpError.McpError, RequestServices>

/** How a server answers one method. */
export interface MethodRow<M extends keyof Requests> {
  readonly handle: MethodHandler<M>
  /** The option of `caching` whose hint the result carries; a resource that is read has its own. */
  readonly cacheHint?: keyof Caching.Hints
  /** Whether the result depends on the caller: such a result is private, whatever its hint says. */
  readonly variesByCaller?: () => boolean
}

export type MethodRows<M extends keyof Requests> = { readonly [Name in M]: MethodRow<Name> }

/** The methods of every server. */
export type BaseMethod = "completion/complete" | "logging/setLevel" | "tools/call" | "tools/list"
/** The methods that only the stateless era has. */
export type StatelessMethod = "server/discover" | "subscriptions/listen"

export interface MethodOptions {
  readonly limits: Limits
  /** Items per page of a list. */
  readonly pageSize: number
}

/** The answer without members. */
export const empty = Effect.succeed({})

export const pageOf = <A, R, B>(
  all: Effect.Effect<ReadonlyArray<A>, McpError.McpError, R>,
  key: (item: A) => string,
  params: PaginatedParams | undefined,
  pageSize: number,
  result: (items: ReadonlyArray<A>) => B
): Effect.Effect<B & { readonly nextCursor?: string }, McpError.McpError, R> =>
  Effect.flatMapEager(all, (items) =>
    Effect.mapEager(Pagination.page(items, key, params?.cursor, pageSize), ({ items, nextCursor }) => ({
      ...result(items),
      ...(nextCursor === undefined ? {} : { nextCursor })
    }))
  )

export const inSession = <A, E, R>(
  { session }: ServerRequest,
  use: (session: Session) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | McpError.McpError, R> =>
  session === undefined ? Effect.fail(McpError.invalidRequest("There is no session")) : use(session)
