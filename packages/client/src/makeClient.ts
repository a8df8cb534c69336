/** The client's parts, put together over whatever makes its connections. */
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
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type ClientError, Closed } from "./ClientError.ts"
import type { Defaults, Requests } from "./CallOptions.ts"
import { Callers } from "./answering/Callers.ts"
import * as Calls from "./features/Calls.ts"
import * as Changes from "./features/Changes.ts"
import type * as Connection from "./connection/Connection.ts"
import * as ServerRequests from "./answering/ServerRequests.ts"
import * as ReconnectingConnection from "./reconnect/ReconnectingConnection.ts"
import * as InputRounds from "./connection/InputRounds.ts"
import * as Lists from "./features/Lists.ts"
import type { Announcement, McpClient, Options } from "./Client.ts"
import * as ResponseCache from "./connection/ResponseCache.ts"
import { ToolCatalog } from "./features/ToolCatalog.ts"
import * as ToolHeaders from "./features/ToolHeaders.ts"
import { areTold, UrlElicitations } from "./answering/UrlElicitations.ts"
import * as Watch from "./features/Watch.ts"
import { Hub } from "./internal/Hub.ts"
import { withSafeIcons } from "./internal/icons.ts"

type Service = McpClient["Service"]
type Iconic = Parameters<typeof withSafeIcons>[0]

const defaultInfo: Implementation = { name: "effect-mcp", version: "0.1.0" }

/** `reopens`: whether there can be more than one connection. */
export const make = Effect.fnUntraced(function* <E, R>(
  connect: (options: Connection.Options) => Effect.Effect<Connection.Connection, E, R>,
  reopens: boolean,
  options: Options = {}
): Effect.fn.Return<Service, E, Exclude<R, Scope.Scope> | Scope.Scope> {
  const policy = options.reconnect === false ? undefined : (options.reconnect ?? {})
  const callers = new Callers()
  const services = callers.routed(yield* ServerRequests.services)
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const defaults: Defaults = {
    // In milliseconds: every request asks for them.
    timeout: Duration.toMillis(Duration.fromInputUnsafe(options.timeout ?? "60 seconds")),
    resetOnProgress: options.resetOnProgress ?? true,
    maxTotal: Duration.toMillis(Duration.fromInputUnsafe(options.maxTotal ?? "10 minutes"))
  }
  const urls = new UrlElicitations(services.elicitation, options.urlTimeout ?? "10 minutes")
  const logs = new Hub<LogMessageParams>()
  const updates = new Hub<string>()
  const changes = { tools: new Hub<void>(), resources: new Hub<void>(), prompts: new Hub<void>() }
  const watches = yield* Watch.make(() => conversation, policy)
  let catalog: ToolCatalog | undefined

  const announced: Announcements = {
    "notifications/message": (params) => logs.publish(params),
    "notifications/resources/updated": ({ _meta, uri }) => {
      // One that names its subscription has reached its watchers already.
      if (_meta?.[subscriptionId] === undefined) watches.updated(uri)
      updates.publish(uri)
    },
    "notifications/tools/list_changed": () => {
      catalog?.forget()
      changes.tools.publish(undefined)
    },
    "notifications/resources/list_changed": () => changes.resources.publish(undefined),
    "notifications/prompts/list_changed": () => changes.prompts.publish(undefined),
    "notifications/elicitation/complete": ({ elicitationId }) => urls.complete(elicitationId)
  }

  const dropped: Connection.Options["dropped"] =
    options.dropped ?? ((reason, level) => void runFork(Effect.logWithLevel(level)(`MCP client: ${reason}`)))
  const { clientInfo = defaultInfo, keepAlive: keptAlive } = options
  Validate.icons(`Client ${clientInfo.name}`, clientInfo.icons)
  const connection = connect({
    clientInfo,
    revisions: options.revisions,
    defaults,
    services: { ...services, elicitation: services.elicitation && urls.remembering(services.elicitation) },
    experimental: options.experimental,
    extensions: options.extensions,
    probeTimeout: options.probeTimeout ?? "3 seconds",
    maxRounds: options.maxRounds ?? InputRounds.defaultMaxRounds,
    cacheSize: options.cacheSize ?? ResponseCache.defaultCapacity,
    cacheBytes: options.cacheBytes ?? ResponseCache.defaultBytes,
    policy,
    announced: (method, params, relatedTo) => {
      // They were decoded together; a union cannot say so.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the boundary named above
      options.onAnnouncement?.({ method, params } as Announcement, relatedTo)
      announced[method]?.(params)
    },
    missed: () => {
      tools.forget()
      watches.missed()
      for (const hub of [changes.tools, changes.resources, changes.prompts]) hub.publish(undefined)
    },
    dropped
  })
  const conversation: ReconnectingConnection.ReconnectingConnection = yield* ReconnectingConnection.make({
    open:
      keptAlive === undefined
        ? connection
        : Effect.tap(connection, ({ peer, ping }) => Effect.forkScoped(keepAlive(peer, keptAlive, ping))),
    reopens,
    policy,
    defaults,
    isSafe: (method, params) => options.trustAnnotations === true && tools.mayRepeat(method, params),
    onLost: () => tools.forget(),
    dropped
  })
  const { reconnect, request } = conversation
  const limits: Lists.Limits = {
    maxPages: options.maxPages ?? Lists.defaultMaxPages,
    maxBytes: options.maxListBytes ?? Lists.defaultMaxBytes
  }
  const tools = (catalog = new ToolCatalog(conversation, (reason) => dropped(reason, "Warn"), limits.maxBytes))
  const hubs = [logs, updates, changes.tools, changes.resources, changes.prompts, urls]
  const end = (closed: Closed): void => {
    watches.close(closed)
    for (const hub of hubs) hub.close(Exit.void)
  }
  yield* Effect.addFinalizer(() => Effect.sync(() => end(new Closed({ message: "The client is closed" }))))
  yield* Effect.forkScoped(Effect.map(reconnect.ended, end), { startImmediately: true })
  const visits = services.elicitation?.modes.url === true
  const retrying = <A>(call: () => Effect.Effect<A, ClientError>): Effect.Effect<A, ClientError> =>
    visits
      ? Effect.suspend(() => (areTold(conversation.revision) ? urls.retrying(Effect.suspend(call)) : call()))
      : call()

  const headers = ToolHeaders.make({ connection: conversation, catalog: tools, limits })
  const calls = Calls.make({
    connection: conversation,
    catalog: tools,
    headers,
    retrying,
    consent: services.consent,
    validate: options.validateOutput ?? true
  })
  const items = <M extends Lists.ListMethod, A extends Iconic>(
    method: M,
    itemsOf: (page: Requests[M]["result"]) => ReadonlyArray<A>
  ): Stream.Stream<A, ClientError> =>
    Stream.flatMap(Lists.pages(conversation, method, limits), (page) =>
      Stream.fromIterable(itemsOf(page).map(withSafeIcons))
    )
  const changesOf = (hub: Hub<void>) => Changes.stream({ conversation, hub, policy, dropped })
  const readResource: Service["readResource"] = (uri, callOptions) =>
    retrying(() => request("resources/read", { uri }, callOptions))
  const getPromptByName: Service["getPromptByName"] = (name, args = {}, callOptions) =>
    retrying(() => request("prompts/get", { name, arguments: args }, callOptions))

  const client: Service = {
    get revision() {
      return conversation.revision
    },
    get serverInfo() {
      return withSafeIcons(conversation.serverInfo)
    },
    get serverCapabilities() {
      return conversation.serverCapabilities
    },
    get instructions() {
      return conversation.instructions
    },
    callers,
    ...calls,
    callToolStream: (tool, input, callOptions = {}) =>
      Calls.stream((withProgress) => calls.callTool(tool, input, withProgress), callOptions),
    callToolByNameStream: (name, args, callOptions = {}) =>
      Calls.stream((withProgress) => calls.callToolByName(name, args, withProgress), callOptions),
    listTools: items("tools/list", (page) => tools.learn(page.tools)),
    listResources: items("resources/list", (page) => page.resources),
    listResourceTemplates: items("resources/templates/list", (page) => page.resourceTemplates),
    listPrompts: items("prompts/list", (page) => page.prompts),
    readResource,
    readResourceText: (uri, callOptions) =>
      Effect.map(readResource(uri, callOptions), ({ contents }) =>
        contents.flatMap((content) => ("text" in content ? [content.text] : [])).join("\n")
      ),
    getPromptByName,
    getPrompt: ({ encode, name }, args, callOptions) =>
      Effect.mapError(encode(args), ({ message }) =>
        McpError.invalidParams(`The arguments do not fit the prompt: ${message}`)
      ).pipe(Effect.flatMap((encoded) => getPromptByName(name, encoded, callOptions))),
    complete: (params, callOptions) =>
      Effect.map(request("completion/complete", params, callOptions), ({ completion }) => completion),
    watchResource: watches.watch,
    subscribeResource: (uri) => Effect.asVoid(request("resources/subscribe", { uri })),
    unsubscribeResource: (uri) => Effect.asVoid(request("resources/unsubscribe", { uri })),
    resourceUpdates: updates.stream(256),
    setLogLevel: conversation.setLogLevel,
    logs: logs.stream(options.logBuffer ?? 256),
    toolChanges: changesOf(changes.tools),
    resourceChanges: changesOf(changes.resources),
    promptChanges: changesOf(changes.prompts),
    elicitationsCompleted: urls.completions,
    ping: Effect.map(Effect.timed(conversation.ping()), ([duration]) => duration),
    request: headers.request,
    awaitClosed: reconnect.awaitClosed
  }
  return client
})

type Announcements = {
  readonly [M in keyof Method.ServerNotifications]?: (params: Method.ServerNotifications[M]) => void
}
