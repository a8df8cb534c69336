/**
 * The method table: one row per method and one list per direction.
 *
 * A row contains everything about a method: its params and result schemas, its revisions, and the properties the specification gives it.
 * Types (`Method`), codecs (`MethodCodecs`), servers, clients, gateways and tests are derived from the table; no other module lists method
 * names, except `Lists`, which has the rows of paginated lists. How a server responds to a method is defined in its `dispatch/methods.ts`.
 */
import * as Schema from "effect/Schema"
import type { ClientCapability, ServerCapabilities, ServerCapability, TaskCapabilities } from "./Capabilities.ts"
import * as Completion from "./Completion.ts"
import * as Discover from "./Discover.ts"
import * as Elicitation from "./Elicitation.ts"
import * as Lifecycle from "./Lifecycle.ts"
import { type ListKind, listKinds, listRequests } from "./Lists.ts"
import * as Logging from "./Logging.ts"
import * as Meta from "./Meta.ts"
import * as Progress from "./Progress.ts"
import * as Prompt from "./Prompt.ts"
import * as Resource from "./Resource.ts"
import * as Root from "./Root.ts"
import * as Sampling from "./Sampling.ts"
import { isJsonObject } from "./Shape.ts"
import * as Subscriptions from "./Subscriptions.ts"
import * as Tool from "./Tool.ts"
import type { Dated, Version } from "./Version.ts"

export type { ClientCapability, ServerCapability } from "./Capabilities.ts"
export { type Item, type ListKind, listKinds, type ListMethod, type ListName, lists } from "./Lists.ts"
export type { Dated } from "./Version.ts"

/** A paginated list. */
export interface ListFacts {
  /** Result field that contains the items. Also the name of the list. */
  readonly items: string
  /** Field that uniquely identifies an item in the list. */
  readonly key: string
  /** Schema of a page's items. */
  readonly schema: Schema.Codec<ReadonlyArray<object>>
}

/** Properties of a request that clients send. */
interface ClientRequestFacts extends Dated {
  /** Capability the server must declare. Absent if the method doesn't need one. */
  readonly capability?: ServerCapability
  /** True if the method changes session state. Endpoints without sessions reject it. */
  readonly needsSession?: true
  /** True if the method may respond with questions for the client (2026-07-28: basic/patterns/mrtr). */
  readonly mayAsk?: true
  /** Set if the result is a paginated list (server/utilities/pagination). */
  readonly list?: ListFacts
  /** True if the result includes caching hints (2026-07-28: server/utilities/caching). */
  readonly cacheable?: true
  /** Name of the param to copy to the `Mcp-Name` header (2026-07-28: basic/transports/streamable-http). */
  readonly nameParam?: "name" | "uri"
  /** True if the method only reads, so clients may retry it after losing the connection. */
  readonly readOnly?: true
  /** True if the request stays open until the client cancels it. */
  readonly subscription?: true
  /** True if the method may run for a long time. Clients then request progress, which restarts the timeout. */
  readonly longRunning?: true
  /** True if servers limit its rate (security considerations for tools and completion). */
  readonly rateLimited?: true
}

/** Properties of a request that servers send: as a request in a session, or as a question in a result (2026-07-28). */
interface ServerRequestFacts extends Dated {
  /** Capability the client must declare. Absent if the method doesn't need one. */
  readonly capability?: ClientCapability
  /** True if the method has no params, so that all such requests ask the same question. */
  readonly sameForAll?: true
  /** Returns true if a client that declares these task capabilities can run the request as a task (2025-11-25: basic/utilities/tasks). */
  readonly isTask?: (requests: NonNullable<TaskCapabilities["requests"]>) => boolean
}

/** A request's canonical schemas. */
export interface RequestSchemas {
  readonly params: Schema.Codec<unknown>
  readonly result: Schema.Codec<unknown>
}

/** A request that clients send. */
export interface ClientRequestInfo extends ClientRequestFacts, RequestSchemas {}

/** A request that servers send. */
export interface ServerRequestInfo extends ServerRequestFacts, RequestSchemas {}

/** A notification that clients send. */
export interface ClientNotificationInfo extends Dated {
  readonly params: Schema.Codec<unknown>
  /** Capability the client must declare. Absent if the notification doesn't need one. */
  readonly capability?: ClientCapability
  /** True if the notification concerns a request and is handled with that request. */
  readonly ofRequest?: true
}

/** A notification that servers send. */
export interface ServerNotificationInfo extends Dated {
  readonly params: Schema.Codec<unknown>
  /** Capability that must be declared. Server capabilities are declared by the server, client capabilities by the client. */
  readonly capability?: ServerCapability | ClientCapability
  /** Methods whose cached results become stale. */
  readonly stale?: ReadonlyArray<string>
}

/** A row with its own schemas, and the properties allowed for its kind. */
type Row<Info, Schemas> = Omit<Info, keyof Schemas> & Schemas

const request = <P extends Schema.Codec<unknown>, R extends Schema.Codec<unknown>>(
  params: P,
  result: R,
  facts: Omit<ClientRequestFacts, "list"> = {}
): Row<Omit<ClientRequestInfo, "list">, { readonly params: P; readonly result: R }> => ({ params, result, ...facts })

const question = <P extends Schema.Codec<unknown>, R extends Schema.Codec<unknown>>(
  params: P,
  result: R,
  facts: ServerRequestFacts = {}
): Row<ServerRequestInfo, { readonly params: P; readonly result: R }> => ({ params, result, ...facts })

const note = <P extends Schema.Codec<unknown>>(
  params: P,
  facts: Omit<ClientNotificationInfo, "params"> = {}
): Row<ClientNotificationInfo, { readonly params: P }> => ({ params, ...facts })

const news = <P extends Schema.Codec<unknown>>(
  params: P,
  facts: Omit<ServerNotificationInfo, "params"> = {}
): Row<ServerNotificationInfo, { readonly params: P }> => ({ params, ...facts })

const none = Schema.UndefinedOr(Meta.RequestParams)
const bare = Schema.UndefinedOr(Meta.NotificationParams)

const sessions = "2025-11-25"

/** Requests that clients send, by method. */
export const clientRequests = {
  initialize: request(Lifecycle.InitializeParams, Lifecycle.InitializeResult, { until: sessions }),
  ping: request(none, Meta.EmptyResult, { readOnly: true, until: sessions }),
  "completion/complete": request(Completion.CompleteParams, Completion.CompleteResult, {
    capability: "completions",
    readOnly: true,
    rateLimited: true
  }),
  "logging/setLevel": request(Logging.SetLevelParams, Meta.EmptyResult, {
    capability: "logging",
    needsSession: true,
    until: sessions
  }),
  "tools/call": request(Tool.CallToolParams, Tool.CallToolResult, {
    capability: "tools",
    mayAsk: true,
    nameParam: "name",
    longRunning: true,
    rateLimited: true
  }),
  "prompts/get": request(Prompt.GetPromptParams, Prompt.GetPromptResult, {
    capability: "prompts",
    mayAsk: true,
    nameParam: "name",
    readOnly: true
  }),
  ...listRequests,
  "resources/read": request(Resource.ReadResourceParams, Resource.ReadResourceResult, {
    capability: "resources",
    mayAsk: true,
    cacheable: true,
    nameParam: "uri",
    readOnly: true
  }),
  "resources/subscribe": request(Resource.SubscribeParams, Meta.EmptyResult, {
    capability: "resources.subscribe",
    needsSession: true,
    until: sessions
  }),
  "resources/unsubscribe": request(Resource.SubscribeParams, Meta.EmptyResult, {
    capability: "resources.subscribe",
    needsSession: true,
    until: sessions
  }),
  "server/discover": request(Meta.RequestParams, Discover.DiscoverResult, {
    cacheable: true,
    readOnly: true,
    since: "2026-07-28"
  }),
  "subscriptions/listen": request(Subscriptions.ListenParams, Subscriptions.ListenResult, {
    subscription: true,
    since: "2026-07-28"
  })
}

/** Requests that servers send, by method. */
export const serverRequests = {
  ping: question(none, Meta.EmptyResult, { until: sessions }),
  "roots/list": question(none, Root.ListRootsResult, { capability: "roots", sameForAll: true }),
  "sampling/createMessage": question(Sampling.CreateMessageParams, Sampling.CreateMessageResult, {
    capability: "sampling",
    isTask: ({ sampling }) => sampling?.createMessage !== undefined
  }),
  "elicitation/create": question(Elicitation.ElicitParams, Elicitation.ElicitResult, {
    capability: "elicitation",
    isTask: ({ elicitation }) => elicitation?.create !== undefined,
    since: "2025-06-18"
  })
}

/** Notifications that clients send, by method. */
export const clientNotifications = {
  "notifications/cancelled": note(Progress.CancelledParams, { ofRequest: true }),
  "notifications/progress": note(Progress.ProgressParams, { ofRequest: true, until: sessions }),
  "notifications/initialized": note(bare, { until: sessions }),
  "notifications/roots/list_changed": note(bare, { capability: "roots.listChanged", until: sessions })
}

/** Describes the notification for changes to a capability's lists. It was introduced with the first of these lists. */
const listChange = (kind: ListKind) => {
  const rows = Object.entries<ClientRequestInfo>(listRequests)
    .filter(([, { capability }]) => capability === kind)
    .toSorted(([, a], [, b]) => ((a.since ?? "") < (b.since ?? "") ? -1 : 1))
  const [first] = rows
  return news(bare, {
    capability: `${kind}.listChanged`,
    stale: rows.map(([method]) => method),
    ...(first?.[1].since === undefined ? undefined : { since: first[1].since })
  })
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one for each kind
const listChanges = Object.fromEntries(
  listKinds.map((kind) => [`notifications/${kind}/list_changed`, listChange(kind)])
) as { readonly [K in ListKind as `notifications/${K}/list_changed`]: ReturnType<typeof listChange> }

/** Notifications that servers send, by method. */
export const serverNotifications = {
  "notifications/cancelled": news(Progress.CancelledParams),
  "notifications/progress": news(Progress.ProgressParams),
  "notifications/message": news(Logging.LogMessageParams, { capability: "logging" }),
  "notifications/resources/updated": news(Resource.UpdatedParams, {
    capability: "resources.subscribe",
    stale: ["resources/read"]
  }),
  ...listChanges,
  "notifications/elicitation/complete": news(Elicitation.ElicitationCompleteParams, {
    capability: "elicitation.url",
    since: "2025-11-25",
    until: sessions
  }),
  "notifications/subscriptions/acknowledged": news(Subscriptions.AcknowledgedParams, { since: "2026-07-28" })
}

/** Returns true if the version includes the row's method. */
export const isIn = ({ since, until }: Dated, version: Version): boolean =>
  (since === undefined || since <= version) && (until === undefined || version <= until)

const requestsByName: ReadonlyMap<string, ClientRequestInfo> = new Map(Object.entries(clientRequests))
const questionsByName: ReadonlyMap<string, ServerRequestInfo> = new Map(Object.entries(serverRequests))
const newsByName: ReadonlyMap<string, ServerNotificationInfo> = new Map(Object.entries(serverNotifications))

/** Returns the row for a client's request, or `undefined` if there is no such method. */
export const ofRequest = (method: string): ClientRequestInfo | undefined => requestsByName.get(method)

/** Returns the row for a server's notification, or `undefined` if there is no such method. */
export const ofServerNotification = (method: string): ServerNotificationInfo | undefined => newsByName.get(method)

/** Returns true if a client that declares `tasks` can run this server request as a task. */
export const runsAsTask = (method: string, tasks: TaskCapabilities | undefined): boolean =>
  tasks?.requests !== undefined && questionsByName.get(method)?.isTask?.(tasks.requests) === true

/** Returns true if a client's notification concerns a request, sent by either side. */
export const isOfRequest = (method: string): boolean =>
  Object.entries(clientNotifications).some(
    ([name, info]: readonly [string, ClientNotificationInfo]) => name === method && info.ofRequest === true
  )

/** Returns the client requests that have the given property. */
export const requestsWith = (fact: "longRunning" | "rateLimited" | "subscription"): ReadonlyArray<string> =>
  Object.entries(clientRequests).flatMap(([method, info]: readonly [string, ClientRequestInfo]) =>
    info[fact] === true ? [method] : []
  )

const declares = (capabilities: ServerCapabilities, capability: ServerCapability): boolean => {
  const [name = "", part] = capability.split(".")
  const declared: unknown = new Map<string, unknown>(Object.entries(capabilities)).get(name)
  return part === undefined ? declared !== undefined : isJsonObject(declared) && declared[part] === true
}

/**
 * Returns the capability that a request needs but the server didn't declare, or `undefined` if the request can be sent. `rules` are the
 * rules of the revision; for example, 2024-11-05 has no completions capability.
 */
export const missingCapability = (
  { capability }: Pick<ClientRequestInfo, "capability">,
  declared: ServerCapabilities,
  rules: { readonly completionsDeclared: boolean }
): ServerCapability | undefined => {
  if (capability === undefined || declares(declared, capability)) return undefined
  return capability === "completions" && !rules.completionsDeclared ? undefined : capability
}
