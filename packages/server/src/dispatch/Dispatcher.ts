/**
 * From a method to what answers it. One table for all revisions: a revision only decides which methods exist and how they are coded.
 *
 * Params are decoded once and results encoded once, by the revision's codecs; the session's record says which revision that is.
 */
import * as Completions from "@effect-mcp/core/Completions"
import type { Now } from "@effect-mcp/core/internal/Now"
import { Principal } from "@effect-mcp/core/Principal"
import type { QueryServices, RequestServices } from "@effect-mcp/core/RequestContext"
import { notFound } from "@effect-mcp/core/Resources"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Method from "@effect-mcp/protocol/Method"
import type { CompleteParams, CompleteResult } from "@effect-mcp/protocol/model/Completion"
import type { PaginatedParams } from "@effect-mcp/protocol/model/Meta"
import type { ListToolsResult, Tool } from "@effect-mcp/protocol/model/Tool"
import * as Effect from "effect/Effect"
import type { Features } from "../features/Features.ts"
import type { Limits } from "../Limits.ts"
import * as ListText from "../features/EncodedLists.ts"
import type { Request, Result } from "../features/Middleware.ts"
import { page } from "../features/Pagination.ts"
import { unknownPrompt } from "../features/PromptRegistry.ts"
import type { Session } from "../session/Session.ts"
import * as Subscriptions from "./Subscriptions.ts"
import { unknownTool } from "../features/ToolRegistry.ts"

/** Without a session in revisions that have none; their requests need none. */
type Handler<M extends keyof Method.ClientRequests> = (
  params: Method.ClientRequests[M]["params"],
  session: Session | undefined,
  /** Where the effect runs at once, and nothing lies around it that could say something else of who asks. */
  now?: Now
) => Effect.Effect<Method.ClientRequests[M]["result"], McpError.McpError, RequestServices>

/** Everything but the handshake, discovery, ping and the long request for notifications, which never reach the features. */
export type Handlers = {
  readonly [
    M in Exclude<keyof Method.ClientRequests, "initialize" | "ping" | "server/discover" | "subscriptions/listen">
  ]: Handler<M>
}

const empty = Effect.succeed({})
const toolName = ({ name }: Tool): string => name

const needs = <A, E, R>(
  session: Session | undefined,
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

/** The handlers over a server's features. `pageSize` is in items. */
export const make = (features: Features, limits: Limits, pageSize: number): Handlers => {
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
    "tools/list": (params, _session, now) =>
      params?.cursor === undefined
        ? Effect.flatMapEager(now === undefined ? tools.list : tools.listNow(now.principal), firstPage)
        : list(tools.list, toolName, params, (tools) => ({ tools })),
    "tools/call": (params, _session, now) =>
      now === undefined ? (tools.call(params) ?? Effect.fail(unknownTool(params.name))) : tools.callNow(params, now),
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
    "resources/subscribe": ({ uri }, session) =>
      needs(session, (session) => Effect.andThen(Subscriptions.subscribe(resources, limits, session, uri), empty)),
    "resources/unsubscribe": ({ uri }, session) =>
      needs(session, (session) => Effect.andThen(Subscriptions.unsubscribe(limits, session, uri), empty)),
    "completion/complete": (params) => complete(features, params),
    "logging/setLevel": ({ level }, session) =>
      needs(session, (session) =>
        Effect.sync(() => {
          session.logLevel = level
          return {}
        })
      )
  }
}

/** What a request is answered with: `run`, with the middleware around it. Called when the effect is about to run, or even `now`. */
export const answer = (
  features: Features,
  handlers: Handlers,
  request: Request,
  session: Session | undefined,
  now: Now | undefined
): Effect.Effect<Result, McpError.McpError, RequestServices> =>
  // Where nothing lies around it, the handler is asked right here: what is done already then takes no step of a fiber.
  features.wrapped()
    ? features.middleware(request, (request) => run(handlers, request, session))
    : handle(handlers, request, session, now)

/** Runs the handler of a decoded request. */
export const run = (
  handlers: Handlers,
  request: Request,
  session: Session | undefined
): Effect.Effect<Result, McpError.McpError, RequestServices> =>
  // What there is to answer with is looked up when the effect runs: middleware may take its time, or run it again.
  Effect.suspend(() => handle(handlers, request, session))

const handle = (
  handlers: Handlers,
  request: Request,
  session: Session | undefined,
  now?: Now
): Effect.Effect<Result, McpError.McpError, RequestServices> => {
  // Method and params were decoded together; the correlation is lost on the way through the table.
  const handler: (
    params: never,
    session: Session | undefined,
    now: Now | undefined
  ) => ReturnType<Handler<Request["method"]>> = handlers[request.method as keyof Handlers]
  return handler(request.params as never, session, now)
}
