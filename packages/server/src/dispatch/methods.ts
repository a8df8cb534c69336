/**
 * The methods of a server: one row for each, from the method to its handler. `initialize` and `ping` are not among them, since they belong
 * to the session and no middleware sees them.
 *
 * What the specification says of a method (capability, session, questions) is its row of `MethodInfo` in the protocol package; how a
 * revision codes it is in that revision's table. `Dispatcher` joins the three.
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
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import type * as Caching from "../features/Caching.ts"
import * as EncodedLists from "../features/EncodedLists.ts"
import type { Features } from "../features/Features.ts"
import * as Pagination from "../features/Pagination.ts"
import { unknownPrompt } from "../features/PromptRegistry.ts"
import * as Subscriptions from "../features/Subscriptions.ts"
import type { Limits } from "../Limits.ts"
import type { ServerRequest } from "../request/ServerRequest.ts"
import type { ChangeNotifier } from "../session/ChangeNotifier.ts"
import type { Session } from "../session/Session.ts"
import * as ExtensionSubscriptions from "./ExtensionSubscriptions.ts"
import { type ServerInfo, supportedVersions } from "./ServerInfo.ts"
import { listen } from "./SubscriptionsListen.ts"

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

type MethodRows<M extends keyof Requests> = { readonly [Name in M]: MethodRow<Name> }

/** The answer without members. */
const empty = Effect.succeed({})

const pageOf = <A, R, B>(
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

const inSession = <A, E, R>(
  { session }: ServerRequest,
  use: (session: Session) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | McpError.McpError, R> =>
  session === undefined ? Effect.fail(McpError.invalidRequest("There is no session")) : use(session)

type Answered = Exclude<keyof Requests, "initialize" | "ping">

/** The rows by method: a client may name any method. */
export type MethodTable = ReadonlyMap<string, MethodRows<Answered>[Answered]>

export interface Options {
  readonly features: Features
  readonly info: ServerInfo
  readonly limits: Limits
  /** Items per page of a list. */
  readonly pageSize: number
  /** The open `subscriptions/listen` requests. */
  readonly listeners: Set<ChangeNotifier>
}

export const make = (options: Options): MethodTable => new Map(Object.entries(rowsOf(options)))

/** A method of the protocol that is missing here is a type error. */
const rowsOf = (options: Options): MethodRows<Answered> => {
  const { features, info } = options
  return {
    ...toolMethods(options),
    ...promptMethods(options),
    ...resourceMethods(options),
    "completion/complete": { handle: (params) => complete(features, params) },
    "logging/setLevel": {
      handle: ({ level }, request) =>
        inSession(request, (session) => {
          session.logLevel = level
          return session.change(empty)
        })
    },
    "server/discover": {
      handle: (_params, request) => discover(info, request),
      cacheHint: "discover",
      variesByCaller: () => !features.extensions.isSameForAll(discovering)
    },
    "subscriptions/listen": { handle: subscriptionsListen(options) }
  }
}

const toolMethods = ({ features, pageSize }: Options): MethodRows<"tools/call" | "tools/list"> => {
  const { tools } = features
  return {
    "tools/list": {
      handle: listTools(features, pageSize),
      cacheHint: "tools",
      variesByCaller: () => tools.isRestricted()
    },
    "tools/call": { handle: (params, request) => tools.call(params, request) }
  }
}

const promptMethods = ({ features, pageSize }: Options): MethodRows<"prompts/get" | "prompts/list"> => {
  const { prompts } = features
  return {
    "prompts/list": {
      handle: (params) =>
        pageOf(
          prompts.list,
          ({ name }) => name,
          params,
          pageSize,
          (prompts) => ({ prompts })
        ),
      cacheHint: "prompts",
      variesByCaller: () => prompts.isRestricted()
    },
    "prompts/get": { handle: (params) => prompts.get(params) ?? Effect.fail(unknownPrompt(params.name)) }
  }
}

type ResourceMethod =
  | "resources/list"
  | "resources/read"
  | "resources/subscribe"
  | "resources/templates/list"
  | "resources/unsubscribe"

const resourceMethods = ({ features, limits, pageSize }: Options): MethodRows<ResourceMethod> => {
  const { resources } = features
  return {
    "resources/list": {
      handle: (params) =>
        pageOf(
          resources.list,
          ({ uri }) => uri,
          params,
          pageSize,
          (resources) => ({ resources })
        ),
      cacheHint: "resources",
      variesByCaller: () => resources.isRestricted("resources")
    },
    "resources/templates/list": {
      handle: (params) =>
        pageOf(
          resources.templates,
          ({ uriTemplate }) => uriTemplate,
          params,
          pageSize,
          (resourceTemplates) => ({ resourceTemplates })
        ),
      cacheHint: "resourceTemplates",
      variesByCaller: () => resources.isRestricted("templates")
    },
    "resources/read": { handle: (params) => resources.read(params) ?? notFound(params.uri) },
    "resources/subscribe": {
      handle: ({ uri }, request) =>
        inSession(request, (session) =>
          Effect.andThen(session.change(Subscriptions.subscribe(resources, limits, session, uri)), empty)
        )
    },
    "resources/unsubscribe": {
      handle: ({ uri }, request) =>
        inSession(request, (session) =>
          Effect.andThen(session.change(Subscriptions.unsubscribe(limits, session, uri)), empty)
        )
    }
  }
}

/** The first page is one object for as long as the list is one array, so that its text is encoded once. */
const listTools = ({ tools }: Features, pageSize: number): MethodHandler<"tools/list"> => {
  const firstPages = new WeakMap<ReadonlyArray<Tool>, ListToolsResult>()
  const page = <R>(
    all: Effect.Effect<ReadonlyArray<Tool>, McpError.McpError, R>,
    params: PaginatedParams | undefined
  ) =>
    pageOf(
      all,
      ({ name }) => name,
      params,
      pageSize,
      (tools) => ({ tools })
    )
  const firstPage = (items: ReadonlyArray<Tool>): Effect.Effect<ListToolsResult, McpError.McpError> => {
    const known = firstPages.get(items)
    if (known !== undefined) return Effect.succeed(known)
    return Effect.mapEager(page(Effect.succeed(items), undefined), (result) => {
      firstPages.set(items, result)
      return EncodedLists.share(result)
    })
  }
  return (params, request) =>
    params?.cursor === undefined
      ? Effect.flatMapEager(tools.list(request), firstPage)
      : page(tools.list(request), params)
}

const complete = (
  { prompts, resources }: Features,
  { ref, argument, context }: CompleteParams
): Effect.Effect<CompleteResult, McpError.McpError, QueryServices> =>
  Effect.flatMap(Principal, (principal) => {
    const completer =
      ref.type === "ref/prompt"
        ? prompts.completer(ref.name, argument.name, principal)
        : resources.completer(ref.uri, argument.name, principal)
    if (completer instanceof McpError.McpError) return Effect.fail(completer)
    if (completer === undefined) return Effect.succeed(Completions.resultOf([]))
    return Effect.map(completer(argument.value, context?.arguments ?? {}), Completions.resultOf)
  })

/** The revisions that have `server/discover`. */
const discovering = Revision.all.filter((revision) => revision.clientRequests["server/discover"] !== undefined)

const discover = (
  info: ServerInfo,
  { eraContext, principal }: ServerRequest
): Effect.Effect<Method.ClientRequests["server/discover"]["result"]> => {
  const { context, duplex } = eraContext
  return Effect.mapEager(info.capabilitiesOf({ principal, revision: context.revision, duplex }), (capabilities) => ({
    supportedVersions: supportedVersions(info),
    capabilities,
    ...(info.instructions === undefined ? undefined : { instructions: info.instructions })
  }))
}

const subscriptionsListen =
  ({ features, info, limits, listeners }: Options): MethodHandler<"subscriptions/listen"> =>
  (params, request) => {
    const { extensions, resources } = features
    const { closing, context, duplex, holder } = request.eraContext
    const { clientCapabilities: capabilities, revision } = context
    const caller = { principal: request.principal, revision, duplex }
    const own = ExtensionSubscriptions.grant(extensions, params.notifications, caller, { capabilities, revision })
    const listening = { resources, capabilities: info.capabilities(), own, listeners, closing, limits, holder }
    return request.withCaller((principal) => listen(listening, request.received, principal, params))
  }
