/**
 * Assembles a client from its parts: streams of notifications, the reconnecting connection, calls, lists and watches. The caller supplies
 * the effect that opens a connection.
 */
import { keepAlive } from "@effect-mcp/core/KeepAlive"
import type * as Method from "@effect-mcp/protocol/Method"
import { listKinds } from "@effect-mcp/protocol/MethodInfo"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import { subscriptionId } from "@effect-mcp/protocol/model/Meta"
import * as Validate from "@effect-mcp/protocol/Validate"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { type ClientParts, limitsOf, makeParts } from "./assembly/ClientParts.ts"
import { callMembers, readMembers, streamMembers } from "./assembly/members.ts"
import type { Announcement, McpClient, Options } from "./Client.ts"
import { Closed } from "./ClientError.ts"
import type * as Connection from "./connection/Connection.ts"
import * as AnyRequest from "./features/AnyRequest.ts"
import * as Calls from "./features/Calls.ts"
import * as Extensions from "./features/Extensions.ts"
import * as ServerLists from "./features/ServerLists.ts"
import * as TaskCalls from "./features/TaskCalls.ts"
import * as Watch from "./features/Watch.ts"
import { withSafeIcons } from "./internal/icons.ts"
import * as ReconnectingConnection from "./reconnect/ReconnectingConnection.ts"
import { id } from "./tasks/TaskState.ts"

type Service = McpClient["Service"]

const defaultInfo: Implementation = { name: "effect-mcp", version: "0.1.0" }

type Announcements = {
  readonly [M in keyof Method.ServerNotifications]?: (params: Method.ServerNotifications[M]) => void
}

/** Handlers that update the client's state and publish each notification to its stream. */
const announcements = (parts: ClientParts): Announcements => {
  const { host, hubs } = parts
  return {
    "notifications/message": (params) => hubs.logs.publish(params),
    "notifications/resources/updated": ({ _meta, uri }) => {
      // An update that names its subscription has already reached its watchers.
      if (_meta?.[subscriptionId] === undefined) parts.watches?.updated(uri)
      hubs.updates.publish(uri)
    },
    ...Object.fromEntries(
      listKinds.map((kind) => [
        `notifications/${kind}/list_changed`,
        () => {
          if (kind === "tools") parts.lists?.catalog.forget()
          hubs.changes[kind].publish(undefined)
        }
      ])
    ),
    "notifications/elicitation/complete": ({ elicitationId }) => host.urls.complete(elicitationId)
  }
}

/** Creates the members for extensions. An extension named in the client's options counts as declared, like one with a layer. */
const makeExtensions = (
  { dropped, extensions, options, policy }: ClientParts,
  connection: () => ReconnectingConnection.ReconnectingConnection
): Effect.Effect<Extensions.Extensions, never, Scope.Scope> => {
  const ids = new Set([
    ...(options.tasks === false ? [] : [id]),
    ...extensions.map(({ extension }) => extension.id),
    ...Object.keys(options.extensions ?? {}),
    ...Object.keys(options.experimental ?? {})
  ])
  return Extensions.make({ parts: extensions, declares: (id) => ids.has(id), connection, policy, dropped })
}

/** Creates the handler for notifications that the revision does not define. */
const unknownTo =
  ({ onUnknownNotification }: Options, extensions: Extensions.Extensions): Connection.Options["unknown"] =>
  (notification, inUse, relatedTo) => {
    const isTaken = extensions.received(notification, inUse, relatedTo)
    if (onUnknownNotification === undefined || inUse?.ownerOf(notification.method) !== undefined) return isTaken
    const { method, params } = notification
    onUnknownNotification({ method, params, relatedTo })
    return true
  }

/** Collects the options for every connection that the client opens. */
const connectionOptions = (parts: ClientParts, extensions: Extensions.Extensions): Connection.Options => {
  const { agreement, defaults, dropped, host, hubs, options, policy } = parts
  const { clientInfo = defaultInfo } = options
  const announced = announcements(parts)
  Validate.icons(`Client ${clientInfo.name}`, clientInfo.icons)
  return {
    clientInfo,
    revisions: options.revisions,
    defaults,
    host,
    agreement,
    experimental: options.experimental,
    extensions: options.extensions,
    declaredIn: options.declaredIn,
    openingMeta: options.openingMeta,
    probeTimeout: options.probeTimeout ?? "3 seconds",
    maxRounds: options.maxRounds,
    cacheSize: options.cacheSize,
    cacheBytes: options.cacheBytes,
    policy,
    announced: (method, params, relatedTo) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- they were decoded together; a union cannot say so
      options.onAnnouncement?.({ method, params } as Announcement, relatedTo)
      announced[method]?.(params)
    },
    unknown: unknownTo(options, extensions),
    missed: () => {
      parts.lists?.catalog.forget()
      parts.watches?.missed()
      for (const hub of Object.values(hubs.changes)) hub.publish(undefined)
    },
    dropped
  }
}

/** Ends every stream when the client closes or gives up reconnecting. */
const endStreams = Effect.fnUntraced(function* (
  parts: ClientParts,
  extensions: Extensions.Extensions,
  ended: Effect.Effect<Closed>
): Effect.fn.Return<void, never, Scope.Scope> {
  const end = (closed: Closed): void => {
    parts.watches?.close(closed)
    extensions.close()
    const { changes, logs, updates } = parts.hubs
    for (const hub of [logs, updates, ...Object.values(changes), parts.host.urls]) hub.close(Exit.void)
  }
  yield* Effect.addFinalizer(() => Effect.sync(() => end(new Closed({ message: "The client is closed" }))))
  yield* Effect.forkScoped(Effect.map(ended, end), { startImmediately: true })
})

/** Makes a client. `connect` opens one connection; `reopens` is true if it may run again after a loss. */
export const make = Effect.fnUntraced(function* <E, R>(
  connect: (options: Connection.Options) => Effect.Effect<Connection.Connection, E, R>,
  reopens: boolean,
  options: Options = {}
): Effect.fn.Return<Service, E, Exclude<R, Scope.Scope> | Scope.Scope> {
  const parts = yield* makeParts(options)
  const { defaults, dropped, host, policy } = parts
  const extensions = yield* makeExtensions(parts, () => connection)
  const opening = host.repeated(connect(connectionOptions(parts, extensions)))
  const { keepAlive: keptAlive } = options
  const connection: ReconnectingConnection.ReconnectingConnection = yield* ReconnectingConnection.make({
    open:
      keptAlive === undefined
        ? opening
        : Effect.tap(opening, ({ peer, ping }) => Effect.forkScoped(keepAlive(peer, keptAlive, ping))),
    reopens,
    policy,
    defaults,
    isSafe: (method, params) =>
      options.trustAnnotations === true && parts.lists?.catalog.mayRepeat(method, params) === true,
    onLost: () => parts.lists?.catalog.forget(),
    follow: extensions.follow,
    dropped
  })
  yield* endStreams(parts, extensions, connection.reconnect.ended)
  const retrying: Calls.Options["retrying"] = (call) => host.retrying(() => connection.revision, call)
  const limits = limitsOf(options)
  const lists = (parts.lists = ServerLists.make({
    connection,
    limits,
    lists: options.listsTools ?? true,
    rejected: (reason) => dropped(reason, "Warn")
  }))
  const watching = Watch.make(() => connection, policy)
  const { watch } = (parts.watches = yield* Scope.provide(watching, parts.watching))
  const calls = Calls.make({
    connection,
    lists,
    retrying,
    consent: parts.consent,
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
    forwarded: host.forwarded,
    ...extensions.calls,
    ...callMembers(calls),
    ...TaskCalls.make({ calls, connection, exchange: extensions.exchange, limits, scope: parts.scope }),
    ...lists.members,
    ...readMembers(connection, retrying),
    ...streamMembers(parts, connection),
    watchResource: watch,
    setLogLevel: connection.setLogLevel,
    ping: Effect.map(Effect.timed(connection.ping()), ([duration]) => duration),
    request: AnyRequest.make(connection, lists, extensions.calls.request),
    awaitClosed: connection.reconnect.awaitClosed
  }
})
