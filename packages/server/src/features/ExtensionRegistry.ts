/**
 * A server's extensions: their methods, notifications and subscriptions, and the declaration that a caller receives.
 *
 * Guarantees unique names. In each revision an id or a method belongs to one extension for as long as its layer lives.
 * A client notification or a kind of subscription belongs to one extension across all revisions.
 */
import {
  type Caller,
  type ExtensionEntry,
  ExtensionRegistry,
  type MethodEntry,
  type NotificationEntry,
  type SubscriptionEntry
} from "@effect-mcp/core/Extensions"
import type { EncodedResult } from "@effect-mcp/core/EncodedResult"
import * as Extension from "@effect-mcp/core/Extension"
import type { HandledRequest } from "@effect-mcp/core/internal/handlers"
import type { Principal } from "@effect-mcp/core/Principal"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import type { ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { during } from "./mounting.ts"
import { Registry } from "./Registry.ts"

/** An extension's part, together with the extension. */
interface Owned<Part> {
  readonly extension: ExtensionEntry
  readonly part: Part
}

export type ExtensionMethod = Owned<MethodEntry>

export interface ExtensionSet {
  readonly isEmpty: () => boolean
  /** True if the declaration is the same for all callers of these revisions. */
  readonly isSameForAll: (revisions: ReadonlyArray<Revision.Revision>) => boolean
  /** Returns the method with that name in a revision. */
  readonly method: (name: string, revision: Pick<Revision.Revision, "version">) => ExtensionMethod | undefined
  /** Creates the effect that answers a method in a revision. Called just before the effect runs. */
  readonly caller: (
    name: string,
    revision: Pick<Revision.Revision, "version">
  ) => (params: JsonObject, request: HandledRequest) => Effect.Effect<EncodedResult, McpError.McpError, RequestServices>
  readonly notification: (method: string) => Owned<NotificationEntry> | undefined
  /** Creates the effect that handles a notification, just before it runs. */
  readonly receive: (method: string, params: JsonObject) => Effect.Effect<void, McpError.McpError, RequestServices>
  /** Returns the kind of subscription with that key. */
  readonly subscription: (key: string) => Owned<SubscriptionEntry> | undefined
  /** Subscribes to its messages, which end when the extension's layer is closed. */
  readonly listen: (key: string, filter: unknown) => ReturnType<SubscriptionEntry["listen"]>
  /** Adds the extensions that are offered to the caller to `base`. A registered extension replaces a bare declaration. */
  readonly declared: (base: ServerCapabilities, caller: Caller) => Effect.Effect<ServerCapabilities>
  /** Lists the extensions that a principal would be offered on a new connection, each id once, in the newest revision that has it. */
  readonly offered: (
    principal: Principal["Service"],
    revisions: ReadonlyArray<Revision.Revision>
  ) => Effect.Effect<ReadonlyArray<Offered>>
}

/** An extension with its declaration. */
interface Offered {
  readonly contract: Extension.Any
  readonly settings: JsonObject
}

const merged = (base: ServerCapabilities, more: ServerCapabilities): ServerCapabilities => ({
  ...base,
  ...more,
  ...(more.experimental && { experimental: { ...base.experimental, ...more.experimental } }),
  ...(more.extensions && { extensions: { ...base.extensions, ...more.extensions } })
})

const declared = (
  entries: ReadonlyArray<ExtensionEntry>,
  base: ServerCapabilities,
  caller: Caller
): Effect.Effect<ServerCapabilities> => {
  const { revision } = caller
  const offered = entries.filter((entry) => Extension.isIn(entry, revision))
  return offered.reduce(
    (before, entry) =>
      Effect.flatMap(before, (capabilities) =>
        Effect.map(entry.settings(caller), (settings) =>
          settings === undefined
            ? capabilities
            : merged(capabilities, Extension.declarationOf(entry, revision, settings))
        )
      ),
    Effect.succeed(base)
  )
}

/** Combines a name and a revision into one key. */
const keyIn = ({ version }: Pick<Revision.Revision, "version">, name: string): string => `${name} of ${version}`

/** Interned keys of registered names: a string that is built for each request would have to be hashed each time. */
class Keys {
  private readonly byVersion = new Map<string, Map<string, string>>()

  add(revision: Revision.Revision, name: string): string {
    const known = this.byVersion.get(revision.version) ?? new Map<string, string>()
    this.byVersion.set(revision.version, known)
    const key = known.get(name) ?? keyIn(revision, name)
    known.set(name, key)
    return key
  }

  /** Returns the key, or a string that is never a key if the name is not registered. */
  of({ version }: Pick<Revision.Revision, "version">, name: string): string {
    return this.byVersion.get(version)?.get(name) ?? ""
  }
}

/** Drops extensions whose ID is also registered for a newer revision. */
const newest = (
  entries: Iterable<ExtensionEntry>,
  revisions: ReadonlyArray<Revision.Revision>
): ReadonlyArray<ExtensionEntry> => {
  const byId = new Map<string, { readonly entry: ExtensionEntry; readonly at: number }>()
  for (const entry of entries) {
    const at = revisions.findLastIndex((revision) => Extension.isIn(entry, revision))
    if (at > (byId.get(entry.id)?.at ?? -1)) byId.set(entry.id, { entry, at })
  }
  return Array.from(byId.values(), ({ entry }) => entry)
}

const offered = (
  entry: ExtensionEntry,
  principal: Principal["Service"],
  revisions: ReadonlyArray<Revision.Revision>
): Effect.Effect<ReadonlyArray<Offered>> => {
  const revision = revisions.findLast((revision) => Extension.isIn(entry, revision))
  if (revision === undefined) return Effect.succeed([])
  return Effect.map(entry.settings({ principal, revision, duplex: true }), (settings) =>
    settings === undefined ? [] : [{ contract: entry.contract, settings }]
  )
}

/** Creates a registry: the service for feature layers, and the set that the dispatcher reads. */
export const make: Effect.Effect<{
  readonly extensions: ExtensionSet
  readonly context: Context.Context<ExtensionRegistry>
}> = Effect.gen(function* () {
  const registry = yield* Registry.make<ExtensionEntry, never>("extension")
  const methods = yield* Registry.make<ExtensionMethod, never>("method")
  const notifications = yield* Registry.make<Owned<NotificationEntry>, never>("notification")
  const subscriptions = yield* Registry.make<Owned<SubscriptionEntry>, never>("subscription")
  const keys = new Keys()
  /** Returns every extension once, even though it is registered for each of its revisions. */
  const entries = () => new Set(registry.entries)
  const register = Effect.fnUntraced(function* (extension: ExtensionEntry): Effect.fn.Return<void, never, Scope.Scope> {
    for (const revision of Revision.all) {
      if (!Extension.isIn(extension, revision)) continue
      yield* registry.register(keyIn(revision, extension.id), extension, extension.id)
      for (const part of extension.methods) {
        const { method } = part.request
        if (Extension.hasMethod(part.request, revision)) {
          yield* methods.register(keys.add(revision, method), { extension, part }, method)
        }
      }
    }
    for (const part of extension.notifications) {
      yield* notifications.register(part.notification.method, { extension, part })
    }
    for (const part of extension.subscriptions) {
      yield* subscriptions.register(part.subscription.key, { extension, part })
    }
  })
  return {
    extensions: {
      isEmpty: () => registry.isEmpty,
      isSameForAll: (revisions) =>
        registry.entries.every(
          (entry) => entry.isSameForAll || !revisions.some((revision) => Extension.isIn(entry, revision))
        ),
      method: (name, revision) => methods.get(keys.of(revision, name)),
      caller: (name, revision) => {
        const key = keys.of(revision, name)
        const unknown = () => Effect.fail(McpError.methodNotFound(name))
        return (params, request) => methods.hold(key, ({ part }) => part.call(params, request), unknown, request)
      },
      notification: (method) => notifications.get(method),
      receive: (method, params) =>
        notifications.hold(
          method,
          ({ part }) => part.receive(params),
          () => Effect.void
        ),
      subscription: (key) => subscriptions.get(key),
      listen: (key, filter) =>
        Effect.suspend(() =>
          Effect.map(
            subscriptions.hold(
              key,
              ({ part }) => part.listen(filter),
              () => Effect.undefined
            ),
            (granted) => granted && { ...granted, messages: during(subscriptions, key, granted.messages) }
          )
        ),
      offered: (principal, revisions) =>
        Effect.map(
          Effect.suspend(() =>
            Effect.forEach(newest(entries(), revisions), (entry) => offered(entry, principal, revisions))
          ),
          (all) => all.flat()
        ),
      declared: (base, caller) => (registry.isEmpty ? Effect.succeed(base) : declared([...entries()], base, caller))
    },
    context: Context.make(ExtensionRegistry, { register })
  }
})
