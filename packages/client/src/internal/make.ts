/** The client's parts, put together over one wire. */
import { keepAlive } from "@effect-mcp/core/KeepAlive"
import type { Transport } from "@effect-mcp/core/Transport"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Method from "@effect-mcp/protocol/Method"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import { subscriptionId } from "@effect-mcp/protocol/model/Meta"
import type { LogMessageParams } from "@effect-mcp/protocol/model/Logging"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type ClientError, Closed } from "../ClientError.ts"
import type { Defaults, Requests } from "../CallOptions.ts"
import * as Calls from "../Calls.ts"
import * as Connection from "../Connection.ts"
import * as Handlers from "../Handlers.ts"
import * as InputRounds from "../InputRounds.ts"
import * as Lists from "../Lists.ts"
import type { ConnectError, McpClient, Options } from "../McpClient.ts"
import * as ResponseCache from "../ResponseCache.ts"
import { ToolCatalog } from "../ToolCatalog.ts"
import { areTold, UrlElicitations } from "../UrlElicitations.ts"
import * as Watch from "../Watch.ts"
import { Hub } from "./Hub.ts"
import { withSafeIcons } from "./icons.ts"

type Service = McpClient["Service"]
type Iconic = Parameters<typeof withSafeIcons>[0]

const defaultInfo: Implementation = { name: "effect-mcp", version: "0.1.0" }

export const make = Effect.fnUntraced(function* (
  transport: Transport,
  options: Options = {}
): Effect.fn.Return<Service, ConnectError, Scope.Scope> {
  const services = yield* Handlers.services
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const defaults: Defaults = {
    timeout: options.timeout ?? "60 seconds",
    resetOnProgress: options.resetOnProgress ?? true,
    maxTotal: options.maxTotal ?? "10 minutes"
  }
  const urls = new UrlElicitations(services.elicitation, options.urlTimeout ?? "10 minutes")
  const logs = new Hub<LogMessageParams>()
  const updates = new Hub<string>()
  const changes = { tools: new Hub<void>(), resources: new Hub<void>(), prompts: new Hub<void>() }
  const watches = yield* Watch.make(() => connection)
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
  const connection: Connection.Connection = yield* Connection.make(transport, {
    clientInfo: options.clientInfo ?? defaultInfo,
    revisions: options.revisions,
    defaults,
    services: { ...services, elicitation: services.elicitation && urls.remembering(services.elicitation) },
    experimental: options.experimental,
    extensions: options.extensions,
    probeTimeout: options.probeTimeout ?? "3 seconds",
    maxRounds: options.maxRounds ?? InputRounds.defaultMaxRounds,
    cacheSize: options.cacheSize ?? ResponseCache.defaultCapacity,
    announced: (method, params) => announced[method]?.(params),
    dropped
  })
  const { peer, request, revision } = connection
  const tools = (catalog = new ToolCatalog(revision))
  const hubs = [logs, updates, changes.tools, changes.resources, changes.prompts, urls]
  const end = (closed: Closed): void => {
    watches.close(closed)
    for (const hub of hubs) hub.close(Exit.void)
  }
  yield* Effect.addFinalizer(() => Effect.sync(() => end(new Closed({ message: "The client is closed" }))))
  yield* Effect.forkScoped(Effect.map(connection.ended, end), { startImmediately: true })
  if (options.keepAlive !== undefined) yield* Effect.forkScoped(keepAlive(peer, options.keepAlive, connection.ping))
  const retrying = <A>(call: Effect.Effect<A, ClientError>) => (areTold(revision) ? urls.retrying(call) : call)

  const calls = Calls.make({
    connection,
    catalog: tools,
    retrying,
    consent: services.consent,
    validate: options.validateOutput ?? true
  })
  const items = <M extends Lists.ListMethod, A extends Iconic>(
    method: M,
    itemsOf: (page: Requests[M]["result"]) => ReadonlyArray<A>
  ): Stream.Stream<A, ClientError> =>
    Stream.flatMap(Lists.pages(connection, method, options.maxPages ?? Lists.defaultMaxPages), (page) =>
      Stream.fromIterable(itemsOf(page).map(withSafeIcons))
    )
  const read: Service["read"] = (uri, callOptions) => retrying(request("resources/read", { uri }, callOptions))
  const prompt: Service["prompt"] = (name, args = {}, callOptions) =>
    retrying(request("prompts/get", { name, arguments: args }, callOptions))

  const client: Service = {
    revision,
    serverInfo: withSafeIcons(connection.serverInfo),
    serverCapabilities: connection.serverCapabilities,
    instructions: connection.instructions,
    ...calls,
    callStream: (tool, input, callOptions = {}) =>
      Calls.stream((withProgress) => calls.call(tool, input, withProgress), callOptions),
    callToolStream: (name, args, callOptions = {}) =>
      Calls.stream((withProgress) => calls.callTool(name, args, withProgress), callOptions),
    tools: items("tools/list", (page) => {
      tools.learn(page.tools)
      return page.tools
    }),
    resources: items("resources/list", (page) => page.resources),
    resourceTemplates: items("resources/templates/list", (page) => page.resourceTemplates),
    prompts: items("prompts/list", (page) => page.prompts),
    read,
    readText: (uri, callOptions) =>
      Effect.map(read(uri, callOptions), ({ contents }) =>
        contents.flatMap((content) => ("text" in content ? [content.text] : [])).join("\n")
      ),
    prompt,
    getPrompt: ({ encode, name }, args, callOptions) =>
      Effect.mapError(encode(args), ({ message }) =>
        McpError.invalidParams(`The arguments do not fit the prompt: ${message}`)
      ).pipe(Effect.flatMap((encoded) => prompt(name, encoded, callOptions))),
    complete: (params, callOptions) =>
      Effect.map(request("completion/complete", params, callOptions), ({ completion }) => completion),
    watch: watches.watch,
    subscribe: (uri) => Effect.asVoid(request("resources/subscribe", { uri })),
    unsubscribe: (uri) => Effect.asVoid(request("resources/unsubscribe", { uri })),
    resourceUpdates: updates.stream(256),
    setLogLevel: connection.setLogLevel,
    logs: logs.stream(options.logBuffer ?? 256),
    toolChanges: announcedBy(connection, changes.tools, dropped),
    resourceChanges: announcedBy(connection, changes.resources, dropped),
    promptChanges: announcedBy(connection, changes.prompts, dropped),
    elicitationsCompleted: urls.completions,
    ping: Effect.map(Effect.timed(connection.ping()), ([duration]) => duration),
    request,
    awaitClosed: connection.awaitClosed
  }
  return client
})

type Announcements = {
  readonly [M in keyof Method.ServerNotifications]?: (params: Method.ServerNotifications[M]) => void
}

/** Changes of a list, with the server made to tell of them for as long as someone listens; it ends when the server will not. */
const announcedBy = (
  { announcing }: Connection.Connection,
  hub: Hub<void>,
  dropped: Connection.Options["dropped"]
): Stream.Stream<void> =>
  Stream.merge(
    hub.stream(1),
    Stream.drain(
      Stream.fromEffect(
        Effect.scoped(Effect.flatten(announcing)).pipe(
          Effect.catch((error) => Effect.sync(() => dropped(`No changes will be told of: ${error.message}`, "Warn")))
        )
      )
    ),
    { haltStrategy: "either" }
  )
