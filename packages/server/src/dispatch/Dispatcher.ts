/**
 * From a method to what answers it. One table for all revisions: a revision only decides which methods exist and how they are coded.
 *
 * Params are decoded once and results encoded once, by the revision's codecs; the session's record says which revision that is.
 */
import * as Completions from "@effect-mcp/core/Completions"
import { Principal } from "@effect-mcp/core/Principal"
import type { QueryServices, RequestServices } from "@effect-mcp/core/RequestContext"
import { notFound } from "@effect-mcp/core/Resources"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Method from "@effect-mcp/protocol/Method"
import type { CompleteParams, CompleteResult } from "@effect-mcp/protocol/model/Completion"
import type { PaginatedParams } from "@effect-mcp/protocol/model/Meta"
import type { ListToolsResult, Tool } from "@effect-mcp/protocol/model/Tool"
import type { Version } from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import type { Features } from "../features/Features.ts"
import type { Limits } from "../Limits.ts"
import * as ListText from "../features/EncodedLists.ts"
import type { Request as Decoded, Result } from "../request/Decoded.ts"
import { page } from "../features/Pagination.ts"
import { unknownPrompt } from "../features/PromptRegistry.ts"
import type { Session } from "../session/Session.ts"
import type { Announcer } from "../session/ChangeNotifier.ts"
import type { ServerRequest } from "../request/ServerRequest.ts"
import type { Identity } from "./Initialize.ts"
import { listen } from "./SubscriptionsListen.ts"
import * as Subscriptions from "./Subscriptions.ts"

type Handler<M extends keyof Method.ClientRequests> = (
  params: Method.ClientRequests[M]["params"],
  request: ServerRequest
) => Effect.Effect<Method.ClientRequests[M]["result"], McpError.McpError, RequestServices>

/** Everything but the handshake and `ping`, which middleware never sees. */
export type Handlers = {
  readonly [M in Exclude<keyof Method.ClientRequests, "initialize" | "ping">]: Handler<M>
}

const empty = Effect.succeed({})
const toolName = ({ name }: Tool): string => name

const needs = <A, E, R>(
  { session }: ServerRequest,
  use: (session: Session) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | McpError.McpError, R> =>
  session === undefined ? Effect.fail(McpError.invalidRequest("There is no session")) : use(session)

const complete = (
  features: Features,
  { ref, argument, context }: CompleteParams
): Effect.Effect<CompleteResult, McpError.McpError, QueryServices> =>
  Effect.flatMap(Principal, (principal) => {
    const completer =
      ref.type === "ref/prompt"
        ? features.prompts.completer(ref.name, argument.name, principal)
        : features.resources.completer(ref.uri, argument.name, principal)
    if (completer instanceof McpError.McpError) return Effect.fail(completer)
    if (completer === undefined) return Effect.succeed(Completions.resultOf([]))
    return Effect.map(completer(argument.value, context?.arguments ?? {}), Completions.resultOf)
  })

export interface Options {
  readonly features: Features
  readonly limits: Limits
  /** Items per page of a list. */
  readonly pageSize: number
  readonly identity: Identity
  /** The open `subscriptions/listen` requests. */
  readonly listeners: Set<Announcer>
}

/** The handlers over a server's features. */
export const make = ({ features, identity, limits, listeners, pageSize }: Options): Handlers => {
  const { tools, resources, prompts } = features
  const list = <A, R, B>(
    all: Effect.Effect<ReadonlyArray<A>, McpError.McpError, R>,
    key: (item: A) => string,
    params: PaginatedParams | undefined,
    result: (items: ReadonlyArray<A>) => B
  ): Effect.Effect<B & { readonly nextCursor?: string }, McpError.McpError, R> =>
    Effect.flatMapEager(all, (items) =>
      Effect.mapEager(page(items, key, params?.cursor, pageSize), ({ items, nextCursor }) => ({
        ...result(items),
        ...(nextCursor === undefined ? {} : { nextCursor })
      }))
    )
  /** The first page of a list that is the same array as long as it is the same list. */
  const firstPages = new WeakMap<ReadonlyArray<unknown>, ListToolsResult>()
  const firstPage = (items: ReadonlyArray<Tool>): Effect.Effect<ListToolsResult, McpError.McpError> => {
    const known = firstPages.get(items)
    if (known !== undefined) return Effect.succeed(known)
    const made = list(Effect.succeed(items), toolName, undefined, (tools) => ({ tools }))
    return Effect.mapEager(made, (result) => {
      firstPages.set(items, result)
      return ListText.share(result)
    })
  }
  return {
    "tools/list": (params, request) =>
      params?.cursor === undefined
        ? Effect.flatMapEager(tools.list(request), firstPage)
        : list(tools.list(request), toolName, params, (tools) => ({ tools })),
    "tools/call": (params, request) => tools.call(params, request),
    "prompts/list": (params) =>
      list(
        prompts.list,
        (prompt) => prompt.name,
        params,
        (items) => ({ prompts: items })
      ),
    "prompts/get": (params) => prompts.get(params) ?? Effect.fail(unknownPrompt(params.name)),
    "resources/list": (params) =>
      list(
        resources.list,
        (resource) => resource.uri,
        params,
        (items) => ({ resources: items })
      ),
    "resources/templates/list": (params) =>
      list(
        resources.templates,
        (template) => template.uriTemplate,
        params,
        (items) => ({ resourceTemplates: items })
      ),
    "resources/read": (params) => resources.read(params) ?? notFound(params.uri),
    "resources/subscribe": ({ uri }, request) =>
      needs(request, (session) => Effect.andThen(Subscriptions.subscribe(resources, limits, session, uri), empty)),
    "resources/unsubscribe": ({ uri }, request) =>
      needs(request, (session) => Effect.andThen(Subscriptions.unsubscribe(limits, session, uri), empty)),
    "completion/complete": (params) => complete(features, params),
    "logging/setLevel": ({ level }, request) =>
      needs(request, (session) =>
        Effect.sync(() => {
          session.logLevel = level
          return {}
        })
      ),
    "server/discover": () => Effect.succeed(discover(identity)),
    "subscriptions/listen": (params, request) => {
      const { closing, holder } = request.eraContext
      const listening = { resources, capabilities: identity.capabilities(), listeners, closing, limits, holder }
      return request.withCaller((principal) => listen(listening, request.exchange, principal, params))
    }
  }
}

const discover = ({
  capabilities,
  instructions,
  revisions
}: Identity): Method.ClientRequests["server/discover"]["result"] => ({
  supportedVersions: supportedVersions(revisions),
  capabilities: capabilities(),
  ...(instructions === undefined ? undefined : { instructions })
})

/** Newest first. */
export const supportedVersions = (revisions: Identity["revisions"]): ReadonlyArray<Version> =>
  revisions.map(({ version }) => version).toReversed()

/** The effect that answers a decoded request, with the middleware around it. Called when that effect is about to run. */
export const answer = (
  features: Features,
  handlers: Handlers,
  decoded: Decoded,
  request: ServerRequest
): Effect.Effect<Result, McpError.McpError, RequestServices> => {
  if (features.wrapped()) request.eager = false
  if (request.eager) return handle(handlers, decoded, request)
  const { bindCaller } = request
  // The handler is looked up when the effect runs: middleware may wait first, or run the effect again.
  return features.middleware(decoded, (decoded) =>
    bindCaller === undefined
      ? Effect.suspend(() => handle(handlers, decoded, request))
      : Effect.flatMap(Effect.suspend(bindCaller), () => handle(handlers, decoded, request))
  )
}

const handle = (
  handlers: Handlers,
  decoded: Decoded,
  request: ServerRequest
): Effect.Effect<Result, McpError.McpError, RequestServices> => {
  // Method and params were decoded together; the correlation is lost on the way through the table.
  const handler: (params: never, request: ServerRequest) => ReturnType<Handler<Decoded["method"]>> =
    handlers[decoded.method as keyof Handlers]
  return handler(decoded.params as never, request)
}
