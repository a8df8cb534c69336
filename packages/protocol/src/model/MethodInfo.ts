/**
 * The table of methods: what the specification says of each, one row per method and one list per direction.
 *
 * Owns every fact of a method that is not the shape of its params or result. Both sides derive from it; no other module lists names of
 * methods. Which revisions have a method is in their tables of codecs, and how a server answers it in `dispatch/methods.ts` of the server.
 */
import type { ServerCapabilities, TaskCapabilities } from "./Capabilities.ts"
import type * as Method from "./Method.ts"

/** A capability that a server declares, dotted where it is a part of one. */
export type ServerCapability =
  | "completions"
  | "logging"
  | "prompts"
  | "prompts.listChanged"
  | "resources"
  | "resources.listChanged"
  | "resources.subscribe"
  | "tools"
  | "tools.listChanged"

/** A capability that a client declares, dotted where it is a part of one. */
export type ClientCapability = "elicitation" | "elicitation.url" | "roots" | "roots.listChanged" | "sampling"

/** A request of a client. */
export interface ClientRequestInfo {
  /** What the server must declare; absent where the method needs no declaration. */
  readonly capability?: ServerCapability
  /** It changes the state of a session: an endpoint without sessions refuses it. */
  readonly needsSession?: true
  /** Its result may be questions to the client (2026-07-28: basic/patterns/mrtr). */
  readonly mayAsk?: true
  /** Its result is a list in pages (server/utilities/pagination). */
  readonly paginated?: true
  /** Its result carries caching hints (2026-07-28: server/utilities/caching). */
  readonly cacheable?: true
  /** The param that the header `Mcp-Name` mirrors (2026-07-28: basic/transports/streamable-http). */
  readonly nameParam?: "name" | "uri"
  /** It only reads: a client may send it again when its connection was lost. */
  readonly readOnly?: true
  /** It runs until the client cancels it. */
  readonly subscription?: true
  /** It may run for long: a client asks for its progress, which starts the timeout anew. */
  readonly longRunning?: true
  /** A server limits its rate (security considerations of tools and of completion). */
  readonly rateLimited?: true
}

/** A request of a server: a request on the wire of a session, or a question inside a result (2026-07-28). */
export interface ServerRequestInfo {
  /** What the client must declare; absent where the method needs no declaration. */
  readonly capability?: ClientCapability
  /** It has no params, so two of them are the same question. */
  readonly sameForAll?: true
  /** Whether a client that declares these kinds of tasks runs it as a task (2025-11-25: basic/utilities/tasks). */
  readonly isTask?: (requests: NonNullable<TaskCapabilities["requests"]>) => boolean
}

/** A notification of a client. */
export interface ClientNotificationInfo {
  /** What the client must declare; absent where the notification needs no declaration. */
  readonly capability?: ClientCapability
  /** It is about a request, and handled with that. */
  readonly ofRequest?: true
}

/** A notification of a server. */
export interface ServerNotificationInfo {
  /** What must be declared, by the server unless it is a capability of clients. */
  readonly capability?: ServerCapability | ClientCapability
  /** The methods whose cached results are stale from then on. */
  readonly stale?: ReadonlyArray<keyof Method.ClientRequests>
}

/** The requests of clients, by method. */
export const clientRequests: { readonly [M in keyof Method.ClientRequests]: ClientRequestInfo } = {
  initialize: {},
  ping: { readOnly: true },
  "completion/complete": { capability: "completions", readOnly: true, rateLimited: true },
  "logging/setLevel": { capability: "logging", needsSession: true },
  "prompts/get": { capability: "prompts", mayAsk: true, nameParam: "name", readOnly: true },
  "prompts/list": { capability: "prompts", paginated: true, cacheable: true, readOnly: true },
  "resources/list": { capability: "resources", paginated: true, cacheable: true, readOnly: true },
  "resources/templates/list": {
    capability: "resources",
    paginated: true,
    cacheable: true,
    readOnly: true
  },
  "resources/read": {
    capability: "resources",
    mayAsk: true,
    cacheable: true,
    nameParam: "uri",
    readOnly: true
  },
  "resources/subscribe": { capability: "resources.subscribe", needsSession: true },
  "resources/unsubscribe": { capability: "resources.subscribe", needsSession: true },
  "server/discover": { cacheable: true, readOnly: true },
  "subscriptions/listen": { subscription: true },
  "tools/call": {
    capability: "tools",
    mayAsk: true,
    nameParam: "name",
    longRunning: true,
    rateLimited: true
  },
  "tools/list": { capability: "tools", paginated: true, cacheable: true, readOnly: true }
}

/** The requests of servers, by method. */
export const serverRequests: { readonly [M in keyof Method.ServerRequests]: ServerRequestInfo } = {
  ping: {},
  "roots/list": { capability: "roots", sameForAll: true },
  "sampling/createMessage": {
    capability: "sampling",
    isTask: ({ sampling }) => sampling?.createMessage !== undefined
  },
  "elicitation/create": { capability: "elicitation", isTask: ({ elicitation }) => elicitation?.create !== undefined }
}

/** The notifications of clients, by method. */
export const clientNotifications: { readonly [M in keyof Method.ClientNotifications]: ClientNotificationInfo } = {
  "notifications/cancelled": { ofRequest: true },
  "notifications/progress": { ofRequest: true },
  "notifications/initialized": {},
  "notifications/roots/list_changed": { capability: "roots.listChanged" }
}

/** The notifications of servers, by method. */
export const serverNotifications: { readonly [M in keyof Method.ServerNotifications]: ServerNotificationInfo } = {
  "notifications/cancelled": {},
  "notifications/progress": {},
  "notifications/message": { capability: "logging" },
  "notifications/resources/updated": { capability: "resources.subscribe", stale: ["resources/read"] },
  "notifications/resources/list_changed": {
    capability: "resources.listChanged",
    stale: ["resources/list", "resources/templates/list"]
  },
  "notifications/tools/list_changed": { capability: "tools.listChanged", stale: ["tools/list"] },
  "notifications/prompts/list_changed": { capability: "prompts.listChanged", stale: ["prompts/list"] },
  "notifications/elicitation/complete": { capability: "elicitation.url" },
  "notifications/subscriptions/acknowledged": {}
}

const requestsByName: ReadonlyMap<string, ClientRequestInfo> = new Map(Object.entries(clientRequests))
const questionsByName: ReadonlyMap<string, ServerRequestInfo> = new Map(Object.entries(serverRequests))
const newsByName: ReadonlyMap<string, ServerNotificationInfo> = new Map(Object.entries(serverNotifications))

/** The row of a client's request; undefined for a name that is no method. */
export const ofRequest = (method: string): ClientRequestInfo | undefined => requestsByName.get(method)

/** The row of a server's notification; undefined for a name that is no method. */
export const ofServerNotification = (method: string): ServerNotificationInfo | undefined => newsByName.get(method)

/** Whether a client that declares `tasks` runs this request of the server as a task. */
export const runsAsTask = (method: string, tasks: TaskCapabilities | undefined): boolean =>
  tasks?.requests !== undefined && questionsByName.get(method)?.isTask?.(tasks.requests) === true

/** Whether a client's notification is about one of its requests, or one of the server's. */
export const isOfRequest = (method: string): boolean =>
  Object.entries(clientNotifications).some(
    ([name, info]: readonly [string, ClientNotificationInfo]) => name === method && info.ofRequest === true
  )

/** The client's requests of which `fact` is true. */
export const requestsWith = (fact: "longRunning" | "rateLimited" | "subscription"): ReadonlyArray<string> =>
  Object.entries(clientRequests).flatMap(([method, info]: readonly [string, ClientRequestInfo]) =>
    info[fact] === true ? [method] : []
  )

const declares = (capabilities: ServerCapabilities, capability: ServerCapability): boolean => {
  switch (capability) {
    case "resources.subscribe":
      return capabilities.resources?.subscribe === true
    case "prompts.listChanged":
      return capabilities.prompts?.listChanged === true
    case "resources.listChanged":
      return capabilities.resources?.listChanged === true
    case "tools.listChanged":
      return capabilities.tools?.listChanged === true
    default:
      return capabilities[capability] !== undefined
  }
}

/**
 * The capability that a request needs and the server did not declare; undefined where the request may be sent. `rules` are those of the
 * revision: 2024-11-05 has no declaration of completions.
 */
export const missingCapability = (
  { capability }: ClientRequestInfo,
  declared: ServerCapabilities,
  rules: { readonly completionsDeclared: boolean }
): ServerCapability | undefined => {
  if (capability === undefined || declares(declared, capability)) return undefined
  return capability === "completions" && !rules.completionsDeclared ? undefined : capability
}
