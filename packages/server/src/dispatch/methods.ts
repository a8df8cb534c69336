/**
 * A server's methods: one row per method, with its handler. `initialize` and `ping` are missing, because they belong to
 * the session and no middleware sees them.
 *
 * A method's row of `MethodInfo` in the protocol package describes it (capability, session, questions), and each
 * revision's table defines its encoding. `Dispatcher` combines the three.
 */
import * as Completions from "@effect-mcp/core/Completions"
import { Principal } from "@effect-mcp/core/Principal"
import type { QueryServices, RequestServices } from "@effect-mcp/core/RequestContext"
import { notFound } from "@effect-mcp/core/Resources"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Method from "@effect-mcp/protocol/Method"
import { type ListMethod, type ListName, lists } from "@effect-mcp/protocol/MethodInfo"
import type { CompleteParams, CompleteResult } from "@effect-mcp/protocol/model/Completion"
import type { PaginatedParams } from "@effect-mcp/protocol/model/Meta"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import * as Struct from "effect/Struct"
import { memoize } from "effect/Function"
import type * as Caching from "../features/Caching.ts"
import * as EncodedLists from "../features/EncodedLists.ts"
import type { Features, OfferedList } from "../features/Features.ts"
import * as Pagination from "../features/Pagination.ts"
import * as Subscriptions from "../features/Subscriptions.ts"
import type { Limits } from "../Limits.ts"
import type { ServerRequest } from "../request/ServerRequest.ts"
import type { ChangeNotifier } from "../session/ChangeNotifier.ts"
import type { Session } from "../session/Session.ts"
import * as ExtensionSubscriptions from "./ExtensionSubscriptions.ts"
import { type ServerInfo, supportedVersions } from "./ServerInfo.ts"
import { listen } from "./SubscriptionsListen.ts"

type Requests = Method.ClientRequests
type MethodHandler<M extends keyof Requests> = (
  params: Requests[M]["params"],
  request: ServerRequest
) => Effect.Effect<Requests[M]["result"], McpError.McpError, RequestServices>

/** How the server answers one method. */
interface MethodRow<M extends keyof Requests> {
  readonly handle: MethodHandler<M>
  /**
   * The `caching` option whose hint the result carries. The result of reading a resource has the resource's own hint.
   */
  readonly cacheHint?: keyof Caching.Hints
  /** Returns true if the result depends on the caller. Such a result is always private, regardless of its hint. */
  readonly variesByCaller?: () => boolean
}

type MethodRows<M extends keyof Requests> = { readonly [Name in M]: MethodRow<Name> }

/** A result without members. */
const empty = Effect.succeed({})

/**
 * The protocol's lists. The first page is the same object as long as the list is the same array, so that its text is
 * encoded once.
 */
const listMethods = ({ features, pageSize }: Options): MethodRows<ListMethod> =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each row has the items of its list
  Object.fromEntries(
    Struct.keys(lists).map((name) => [lists[name].method, listMethod(name, features.lists[name], pageSize)])
  ) as MethodRows<ListMethod>

const listMethod = (name: ListName, { isRestricted, items }: OfferedList<object>, pageSize: number) => {
  const { key } = lists[name]
  const page = (all: ReadonlyArray<object>, cursor: string | undefined) =>
    Effect.mapEager(
      // The row's type guarantees that the key is a field of every list item.
      Pagination.page(all, (item) => String(Reflect.get(item, key)), cursor, pageSize),
      ({ items, nextCursor }) => ({ [name]: items, ...(nextCursor === undefined ? undefined : { nextCursor }) })
    )
  const firstPage = memoize((all: ReadonlyArray<object>) => Effect.mapEager(page(all, undefined), EncodedLists.share))
  return {
    handle: (params: PaginatedParams | undefined, request: ServerRequest) =>
      Effect.flatMapEager(items(request), (all) =>
        params?.cursor === undefined ? firstPage(all) : page(all, params.cursor)
      ),
    cacheHint: name,
    variesByCaller: isRestricted
  }
}

const inSession = <A, E, R>(
  { session }: ServerRequest,
  use: (session: Session) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | McpError.McpError, R> =>
  session === undefined ? Effect.fail(McpError.invalidRequest("This method requires a session")) : use(session)

type Answered = Exclude<keyof Requests, "initialize" | "ping">

/** The rows by method. A Map, because a client may send any name. */
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

/** Builds the rows. A missing protocol method is a type error. */
const rowsOf = (options: Options): MethodRows<Answered> => {
  const { features, info } = options
  return {
    ...listMethods(options),
    ...resourceMethods(options),
    "tools/call": { handle: (params, request) => features.tools.call(params, request) },
    "prompts/get": {
      handle: (params) => features.prompts.get(params) ?? Effect.fail(McpError.unknownPrompt(params.name))
    },
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

type ResourceMethod = "resources/read" | "resources/subscribe" | "resources/unsubscribe"

const resourceMethods = ({ features, limits }: Options): MethodRows<ResourceMethod> => {
  const { resources } = features
  return {
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

/** Revisions that have `server/discover`. */
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
