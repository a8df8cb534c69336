/**
 * The parts of a client, put together over whatever opens its connections: streams of notifications, the reconnecting connection,
 * calls, lists and watches.
 */
import { keepAlive } from "@effect-mcp/core/KeepAlive"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Method from "@effect-mcp/protocol/Method"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import { subscriptionId } from "@effect-mcp/protocol/model/Meta"
import type { LogMessageParams } from "@effect-mcp/protocol/model/Logging"
import * as Validate from "@effect-mcp/protocol/Validate"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type ClientError, Closed } from "./ClientError.ts"
import { ClientMiddleware } from "./connection/ClientMiddleware.ts"
import * as ClientObserver from "./connection/ClientObserver.ts"
import type { Defaults } from "./CallOptions.ts"
import { ForwardedRequests } from "./answering/ForwardedRequests.ts"
import * as ClientExtension from "./extension/ClientExtension.ts"
import * as Calls from "./features/Calls.ts"
import * as Extensions from "./features/Extensions.ts"
import * as AnyRequest from "./features/AnyRequest.ts"
import * as TaskCalls from "./features/TaskCalls.ts"
import * as Changes from "./features/Changes.ts"
import type { RetryPolicy } from "./connection/Backoff.ts"
import type * as Connection from "./connection/Connection.ts"
import * as ServerRequests from "./answering/ServerRequests.ts"
import * as ReconnectingConnection from "./reconnect/ReconnectingConnection.ts"
import * as InputRounds from "./connection/InputRounds.ts"
import * as Lists from "./features/Lists.ts"
import type { Announcement, McpClient, Options } from "./Client.ts"
import * as ResponseCache from "./connection/ResponseCache.ts"
import { ToolCatalog } from "./features/ToolCatalog.ts"
import * as ToolHeaders from "./features/ToolHeaders.ts"
import { type Receiver, TaskReceiver } from "./tasks/Receiver.ts"
import * as TaskParts from "./tasks/TaskParts.ts"
import { id } from "./tasks/TaskState.ts"
import { areTold, UrlElicitations } from "./answering/UrlElicitations.ts"
import * as Watch from "./features/Watch.ts"
import { Hub } from "./internal/Hub.ts"
import { withSafeIcons } from "./internal/icons.ts"

type Service = McpClient["Service"]
type Iconic = Parameters<typeof withSafeIcons>[0]

const defaultInfo: Implementation = { name: "effect-mcp", version: "0.1.0" }

/** The streams that the server's notifications go to. */
interface Hubs {
  readonly logs: Hub<LogMessageParams>
  readonly updates: Hub<string>
  readonly tools: Hub<void>
  readonly resources: Hub<void>
  readonly prompts: Hub<void>
}

/** What the parts of one client share. */
interface Parts {
  readonly options: Options
  readonly policy: RetryPolicy | undefined
  readonly defaults: Defaults
  readonly limits: Lists.ListLimits
  readonly services: ServerRequests.HostServices
  readonly receiver: Receiver | undefined
  readonly urls: UrlElicitations
  readonly hubs: Hubs
  /** The extensions that have a layer. */
  readonly extensions: ReadonlyArray<ClientExtension.ExtensionPart>
  readonly dropped: Connection.Options["dropped"]
  readonly middleware: Connection.Options["middleware"]
  readonly observers: Connection.Options["observers"]
}

/** The extensions with that of tasks, unless the program has it for itself. */
const withTasks = (parts: Parts["extensions"], { extensions, tasks }: Options): Parts["extensions"] =>
  tasks === false || extensions?.[id] !== undefined ? parts : TaskParts.beside(parts)

const makeParts = Effect.fnUntraced(function* (
  options: Options,
  forwarded: ForwardedRequests
): Effect.fn.Return<Parts, never, Scope.Scope> {
  const services = forwarded.routed(yield* ServerRequests.services)
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  return {
    options,
    policy: options.reconnect === false ? undefined : (options.reconnect ?? {}),
    defaults: {
      // In milliseconds, since every request reads them.
      timeout: Duration.toMillis(Duration.fromInputUnsafe(options.timeout ?? "60 seconds")),
      resetOnProgress: options.resetOnProgress ?? true,
      maxTotal: Duration.toMillis(Duration.fromInputUnsafe(options.maxTotal ?? "10 minutes"))
    },
    limits: {
      maxPages: options.maxPages ?? Lists.defaultMaxPages,
      maxBytes: options.maxListBytes ?? Lists.defaultMaxBytes
    },
    services,
    receiver: yield* Option.match(options.tasks === false ? Option.none() : yield* Effect.serviceOption(TaskReceiver), {
      onNone: () => Effect.undefined,
      onSome: ({ make }) => make
    }),
    urls: new UrlElicitations(services.elicitation, options.urlTimeout ?? "10 minutes"),
    hubs: { logs: new Hub(), updates: new Hub(), tools: new Hub(), resources: new Hub(), prompts: new Hub() },
    extensions: withTasks(yield* ClientExtension.parts, options),
    middleware: Option.getOrElse(yield* Effect.serviceOption(ClientMiddleware), () => []),
    observers: yield* ClientObserver.current,
    dropped: options.dropped ?? ((reason, level) => void runFork(Effect.logWithLevel(level)(`MCP client: ${reason}`)))
  }
})

type Announcements = {
  readonly [M in keyof Method.ServerNotifications]?: (params: Method.ServerNotifications[M]) => void
}

/** What each notification changes, and which stream it goes to. */
const announcements = (
  { hubs, urls }: Parts,
  watches: Watch.Watch,
  catalog: () => ToolCatalog | undefined
): Announcements => ({
  "notifications/message": (params) => hubs.logs.publish(params),
  "notifications/resources/updated": ({ _meta, uri }) => {
    // An update that names its subscription has reached its watchers already.
    if (_meta?.[subscriptionId] === undefined) watches.updated(uri)
    hubs.updates.publish(uri)
  },
  "notifications/tools/list_changed": () => {
    catalog()?.forget()
    hubs.tools.publish(undefined)
  },
  "notifications/resources/list_changed": () => hubs.resources.publish(undefined),
  "notifications/prompts/list_changed": () => hubs.prompts.publish(undefined),
  "notifications/elicitation/complete": ({ elicitationId }) => urls.complete(elicitationId)
})

/** The members for extensions. A name that the client's options declare counts as declared, too. */
const makeExtensions = (
  { dropped, extensions, options, policy }: Parts,
  connection: () => ReconnectingConnection.ReconnectingConnection
): ReturnType<typeof Extensions.make> => {
  const ids = new Set([
    ...extensions.map(({ extension }) => extension.id),
    ...Object.keys(options.extensions ?? {}),
    ...Object.keys(options.experimental ?? {})
  ])
  return Extensions.make({ parts: extensions, declares: (id) => ids.has(id), connection, policy, dropped })
}

/** What takes the notifications that the revision does not know. */
const unknownTo =
  ({ onUnknownNotification }: Options, { received }: Extensions.Extensions): Connection.Options["unknown"] =>
  (notification, inUse, relatedTo) => {
    const isTaken = received(notification, inUse, relatedTo)
    if (onUnknownNotification === undefined || inUse?.ownerOf(notification.method) !== undefined) return isTaken
    const { method, params } = notification
    onUnknownNotification({ method, params, relatedTo })
    return true
  }

/** The options of every connection of the client. */
const connectionOptions = (
  { defaults, dropped, extensions, hubs, middleware, observers, options, policy, receiver, services, urls }: Parts,
  announced: Announcements,
  unknown: Connection.Options["unknown"],
  watches: Watch.Watch,
  catalog: () => ToolCatalog | undefined
): Connection.Options => {
  const { clientInfo = defaultInfo } = options
  Validate.icons(`Client ${clientInfo.name}`, clientInfo.icons)
  return {
    clientInfo,
    revisions: options.revisions,
    defaults,
    receiver,
    services: { ...services, elicitation: services.elicitation && urls.remembering(services.elicitation) },
    experimental: options.experimental,
    extensions: options.extensions,
    declaredIn: options.declaredIn,
    parts: extensions,
    probeTimeout: options.probeTimeout ?? "3 seconds",
    maxRounds: options.maxRounds ?? InputRounds.defaultMaxRounds,
    cacheSize: options.cacheSize ?? ResponseCache.defaultCapacity,
    cacheBytes: options.cacheBytes ?? ResponseCache.defaultBytes,
    policy,
    middleware,
    observers,
    announced: (method, params, relatedTo) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- they were decoded together; a union cannot say so
      options.onAnnouncement?.({ method, params } as Announcement, relatedTo)
      announced[method]?.(params)
    },
    unknown,
    missed: () => {
      catalog()?.forget()
      watches.missed()
      for (const hub of [hubs.tools, hubs.resources, hubs.prompts]) hub.publish(undefined)
    },
    dropped
  }
}

/** Ends every stream when the client is closed, or when no connection will be opened any more. */
const endStreams = Effect.fnUntraced(function* (
  { hubs, urls }: Parts,
  watches: Watch.Watch,
  extensions: Extensions.Extensions,
  ended: Effect.Effect<Closed>
): Effect.fn.Return<void, never, Scope.Scope> {
  const end = (closed: Closed): void => {
    watches.close(closed)
    extensions.close()
    for (const hub of [...Object.values(hubs), urls]) hub.close(Exit.void)
  }
  yield* Effect.addFinalizer(() => Effect.sync(() => end(new Closed({ message: "The client is closed" }))))
  yield* Effect.forkScoped(Effect.map(ended, end), { startImmediately: true })
})

/** Runs a call again after the URLs were visited that its refusal names, where the revision has such refusals. */
const retryingAfterUrls =
  ({ services, urls }: Parts, connection: ReconnectingConnection.ReconnectingConnection) =>
  <A>(call: () => Effect.Effect<A, ClientError>): Effect.Effect<A, ClientError> =>
    services.elicitation?.modes.url === true
      ? Effect.suspend(() => (areTold(connection.revision) ? urls.retrying(Effect.suspend(call)) : call()))
      : call()

/** `connect` opens one connection; `reopens` says whether it may run more than once. */
export const make = Effect.fnUntraced(function* <E, R>(
  connect: (options: Connection.Options) => Effect.Effect<Connection.Connection, E, R>,
  reopens: boolean,
  options: Options = {}
): Effect.fn.Return<Service, E, Exclude<R, Scope.Scope> | Scope.Scope> {
  const forwarded = new ForwardedRequests()
  const parts = yield* makeParts(options, forwarded)
  const { defaults, dropped, limits, policy } = parts
  const watches = yield* Watch.make(() => connection, policy)
  let catalog: ToolCatalog | undefined
  const announced = announcements(parts, watches, () => catalog)
  const extensions = yield* makeExtensions(parts, () => connection)
  const opening = ClientObserver.repeated(
    parts.observers,
    connect(connectionOptions(parts, announced, unknownTo(options, extensions), watches, () => catalog))
  )
  const { keepAlive: keptAlive } = options
  const connection: ReconnectingConnection.ReconnectingConnection = yield* ReconnectingConnection.make({
    open:
      keptAlive === undefined
        ? opening
        : Effect.tap(opening, ({ peer, ping }) => Effect.forkScoped(keepAlive(peer, keptAlive, ping))),
    reopens,
    policy,
    defaults,
    isSafe: (method, params) => options.trustAnnotations === true && catalog?.mayRepeat(method, params) === true,
    onLost: () => catalog?.forget(),
    follow: extensions.follow,
    dropped
  })
  const tools = (catalog = new ToolCatalog(connection, (reason) => dropped(reason, "Warn"), limits.maxBytes))
  yield* endStreams(parts, watches, extensions, connection.reconnect.ended)
  const headers = ToolHeaders.make({ connection, catalog: tools, limits, lists: options.listsTools ?? true })
  const retrying = retryingAfterUrls(parts, connection)
  const calls = Calls.make({
    connection,
    catalog: tools,
    headers,
    retrying,
    consent: parts.services.consent,
    validate: options.validateOutput ?? true,
    tasks: options.tasks !== false
  })
  return {
    get revision() {
      return connection.revision
    },
    get serverInfo() {
      return withSafeIcons(connection.serverInfo)
    },
    get serverCapabilities() {
      return connection.serverCapabilities
    },
    get instructions() {
      return connection.instructions
    },
    forwarded,
    ...extensions.calls,
    ...callMembers(calls),
    ...TaskCalls.make({ calls, connection, exchange: extensions.exchange, limits, scope: yield* Effect.scope }),
    ...listMembers(parts, connection, tools),
    ...readMembers(connection, retrying),
    ...streamMembers(parts, connection),
    watchResource: watches.watch,
    setLogLevel: connection.setLogLevel,
    ping: Effect.map(Effect.timed(connection.ping()), ([duration]) => duration),
    request: AnyRequest.make(headers.request, extensions.calls.request),
    awaitClosed: connection.reconnect.awaitClosed
  }
})

type Members<K extends keyof Service> = Pick<Service, K>

const callMembers = ({
  callTool,
  callToolByName
}: Calls.Calls): Members<"callTool" | "callToolByName" | "callToolStream" | "callToolByNameStream"> => ({
  callTool,
  callToolByName,
  callToolStream: (tool, input, options = {}) =>
    Calls.stream((withProgress) => callTool(tool, input, withProgress), options),
  callToolByNameStream: (name, args, options = {}) =>
    Calls.stream((withProgress) => callToolByName(name, args, withProgress), options)
})

const listMembers = (
  { limits }: Parts,
  connection: ReconnectingConnection.ReconnectingConnection,
  tools: ToolCatalog
): Members<"listTools" | "listResources" | "listResourceTemplates" | "listPrompts"> => {
  const items = <M extends Lists.ListMethod, A extends Iconic>(
    method: M,
    itemsOf: (page: Method.ClientRequests[M]["result"]) => ReadonlyArray<A>
  ): Stream.Stream<A, ClientError> =>
    Stream.flatMap(Lists.pages(connection, method, limits), (page) =>
      Stream.fromIterable(itemsOf(page).map(withSafeIcons))
    )
  return {
    listTools: items("tools/list", (page) => tools.learn(page.tools)),
    listResources: items("resources/list", (page) => page.resources),
    listResourceTemplates: items("resources/templates/list", (page) => page.resourceTemplates),
    listPrompts: items("prompts/list", (page) => page.prompts)
  }
}

const readMembers = (
  { request }: ReconnectingConnection.ReconnectingConnection,
  retrying: Calls.Options["retrying"]
): Members<
  | "readResource"
  | "readResourceText"
  | "getPromptByName"
  | "getPrompt"
  | "complete"
  | "subscribeResource"
  | "unsubscribeResource"
> => {
  const readResource: Service["readResource"] = (uri, options) =>
    retrying(() => request("resources/read", { uri }, options))
  const getPromptByName: Service["getPromptByName"] = (name, args = {}, options) =>
    retrying(() => request("prompts/get", { name, arguments: args }, options))
  return {
    readResource,
    readResourceText: (uri, options) =>
      Effect.map(readResource(uri, options), ({ contents }) =>
        contents.flatMap((content) => ("text" in content ? [content.text] : [])).join("\n")
      ),
    getPromptByName,
    getPrompt: ({ encode, name }, args, options) =>
      Effect.mapError(encode(args), ({ message }) =>
        McpError.invalidParams(`The arguments do not fit the prompt: ${message}`)
      ).pipe(Effect.flatMap((encoded) => getPromptByName(name, encoded, options))),
    complete: (params, options) =>
      Effect.map(request("completion/complete", params, options), ({ completion }) => completion),
    subscribeResource: (uri) => Effect.asVoid(request("resources/subscribe", { uri })),
    unsubscribeResource: (uri) => Effect.asVoid(request("resources/unsubscribe", { uri }))
  }
}

const streamMembers = (
  { dropped, hubs, options, policy, urls }: Parts,
  conversation: ReconnectingConnection.ReconnectingConnection
): Members<
  "resourceUpdates" | "logs" | "toolChanges" | "resourceChanges" | "promptChanges" | "elicitationsCompleted"
> => {
  const changesOf = (hub: Hub<void>) => Changes.stream({ conversation, hub, policy, dropped })
  return {
    resourceUpdates: hubs.updates.stream(256),
    logs: hubs.logs.stream(options.logBuffer ?? 256),
    toolChanges: changesOf(hubs.tools),
    resourceChanges: changesOf(hubs.resources),
    promptChanges: changesOf(hubs.prompts),
    elicitationsCompleted: urls.completions
  }
}
