/** State and options shared by the parts of one client. */
import { callback } from "@effect-mcp/core/internal/calling"
import { type ListKind, listKinds } from "@effect-mcp/protocol/MethodInfo"
import type { LogMessageParams } from "@effect-mcp/protocol/model/Logging"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import * as Consent from "../answering/Consent.ts"
import type { Defaults } from "../CallOptions.ts"
import type { Options } from "../Client.ts"
import type { RetryPolicy } from "../connection/Backoff.ts"
import type * as ClientHost from "../connection/ClientHost.ts"
import type * as Connection from "../connection/Connection.ts"
import * as MakeHost from "../connection/makeHost.ts"
import * as ClientExtension from "../extension/ClientExtension.ts"
import * as InUse from "../extension/InUse.ts"
import type { ListLimits } from "../features/Lists.ts"
import type { ServerLists } from "../features/ServerLists.ts"
import type * as Watch from "../features/Watch.ts"
import { Hub } from "../internal/Hub.ts"
import * as ExtensionTasks from "../tasks/ExtensionTasks.ts"
import { id } from "../tasks/TaskState.ts"

/** Streams of the server's notifications. */
interface Hubs {
  readonly logs: Hub<LogMessageParams>
  readonly updates: Hub<string>
  readonly changes: Readonly<Record<ListKind, Hub<void>>>
}

/** State and options shared by the parts of one client. */
export interface ClientParts {
  readonly options: Options
  readonly policy: RetryPolicy | undefined
  readonly defaults: Defaults
  readonly consent: Consent.Policy
  readonly host: ClientHost.ClientHost
  readonly agreement: InUse.Agreement
  /** Extensions that have a layer, plus tasks. */
  readonly extensions: ReadonlyArray<ClientExtension.ExtensionPart>
  readonly hubs: Hubs
  readonly dropped: Connection.Options["dropped"]
  readonly scope: Scope.Scope
  /** Scope for watches. It closes after the streams and the connections. */
  readonly watching: Scope.Scope
  /** `undefined` until the first connection is open. */
  watches: Watch.Watch | undefined
  lists: ServerLists | undefined
}

/** Reads the host and the extensions from the context. */
const makeHost = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<Pick<ClientParts, "agreement" | "extensions" | "host">, never, Scope.Scope> {
  // A program that implements tasks itself declares them under that name.
  const ownTasks = options.tasks !== false && options.extensions?.[id] === undefined
  const layers = yield* ClientExtension.parts
  const extensions = ownTasks ? ExtensionTasks.besideOwn(layers) : layers
  return {
    host: yield* MakeHost.makeHost({ tasks: options.tasks !== false, urlTimeout: options.urlTimeout ?? "10 minutes" }),
    agreement: {
      declare: (capabilities, revision) => InUse.declare(capabilities, extensions, revision),
      inUse: (agreed) => InUse.make(extensions, agreed)
    },
    extensions
  }
})

/** Wraps the program's callbacks, which the reader of a connection calls. Whatever they do, the reader continues. */
const guarded = (
  { dropped, onAnnouncement, onUnknownNotification }: Options,
  fork: (log: Effect.Effect<void>) => unknown
): Pick<Options, "dropped" | "onAnnouncement" | "onUnknownNotification"> => ({
  dropped: dropped && ((reason, level) => callback("dropped", fork, () => dropped(reason, level))),
  onAnnouncement:
    onAnnouncement &&
    ((announcement, relatedTo) => callback("onAnnouncement", fork, () => onAnnouncement(announcement, relatedTo))),
  onUnknownNotification:
    onUnknownNotification &&
    ((notification) => callback("onUnknownNotification", fork, () => onUnknownNotification(notification)))
})

export const makeParts = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<ClientParts, never, Scope.Scope> {
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const scope = yield* Scope.Scope
  const safe: Options = { ...options, ...guarded(options, runFork) }
  return {
    ...(yield* makeHost(options)),
    options: safe,
    policy: options.reconnect === false ? undefined : (options.reconnect ?? {}),
    defaults: {
      // In milliseconds, because every request reads them.
      timeout: Duration.toMillis(Duration.fromInputUnsafe(options.timeout ?? "60 seconds")),
      resetOnProgress: options.resetOnProgress ?? true,
      maxTotal: Duration.toMillis(Duration.fromInputUnsafe(options.maxTotal ?? "10 minutes"))
    },
    consent: yield* Consent.Consent,
    hubs: {
      logs: new Hub(),
      updates: new Hub(),
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- built with one entry per kind
      changes: Object.fromEntries(listKinds.map((kind) => [kind, new Hub<void>()])) as Record<ListKind, Hub<void>>
    },
    dropped: safe.dropped ?? ((reason, level) => void runFork(Effect.logWithLevel(level)(`MCP client: ${reason}`))),
    scope,
    watching: yield* Scope.fork(scope),
    watches: undefined,
    lists: undefined
  }
})

export const limitsOf = ({ maxListBytes, maxPages }: Options): ListLimits => ({ maxPages, maxBytes: maxListBytes })
