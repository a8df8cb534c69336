/**
 * The extensions of a server: which methods, notifications and subscriptions they add, and what is declared of them to a caller.
 *
 * Owns the names: in each revision an id and a method belong to one extension for as long as its layer lives. A notification of
 * clients and a kind of subscription do so in all revisions together.
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
import type { HandledRequest } from "@effect-mcp/core/internal/HandlerContext"
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

/** A part of an extension, with the extension. */
export interface Owned<Part> {
  readonly extension: ExtensionEntry
  readonly part: Part
}

export type ExtensionMethod = Owned<MethodEntry>

export interface ExtensionSet {
  readonly isEmpty: () => boolean
  /** Whether all callers of one of these revisions are told the same. */
  readonly isSameForAll: (revisions: ReadonlyArray<Revision.Revision>) => boolean
  /** The method of that name in a revision. */
  readonly method: (name: string, revision: Pick<Revision.Revision, "version">) => ExtensionMethod | undefined
  /** What gives the effect that answers a method of a revision. Called when the effect is about to run. */
  readonly caller: (
    name: string,
    revision: Pick<Revision.Revision, "version">
  ) => (params: JsonObject, request: HandledRequest) => Effect.Effect<EncodedResult, McpError.McpError, RequestServices>
  readonly notification: (method: string) => Owned<NotificationEntry> | undefined
  /** The effect that handles a notification; made when it is about to run. */
  readonly receive: (method: string, params: JsonObject) => Effect.Effect<void, McpError.McpError, RequestServices>
  /** The kind of subscription with that key. */
  readonly subscription: (key: string) => Owned<SubscriptionEntry> | undefined
  /** Subscribes; the messages end when the layer of the extension does. */
  readonly listen: (key: string, filter: unknown) => ReturnType<SubscriptionEntry["listen"]>
  /** `base` with the extensions that are offered to the caller; one that is registered takes the place of a bare declaration. */
  readonly declared: (base: ServerCapabilities, caller: Caller) => Effect.Effect<ServerCapabilities>
  /** The extensions that a principal is offered over a connection of its own, each id in the newest of the revisions that has it. */
  readonly offered: (
    principal: Principal["Service"],
    revisions: ReadonlyArray<Revision.Revision>
  ) => Effect.Effect<ReadonlyArray<Offered>>
}

/** An extension with what is declared of it. */
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

/** The key of a name in a revision. */
const keyIn = ({ version }: Pick<Revision.Revision, "version">, name: string): string => `${name} of ${version}`

/** The keys of names that were registered once: a text that is put together for each request has to be hashed for each. */
class Keys {
  private readonly byVersion = new Map<string, Map<string, string>>()

  add(revision: Revision.Revision, name: string): string {
    const known = this.byVersion.get(revision.version) ?? new Map<string, string>()
    this.byVersion.set(revision.version, known)
    const key = known.get(name) ?? keyIn(revision, name)
    known.set(name, key)
    return key
  }

  /** Another text for a name that is not registered. */
  of({ version }: Pick<Revision.Revision, "version">, name: string): string {
    return this.byVersion.get(version)?.get(name) ?? ""
  }
}

/** The extensions without those whose id another one has in a newer revision. */
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

/** A new registry: the service for feature layers, and the set that the dispatcher reads. */
export const make: Effect.Effect<{
  readonly extensions: ExtensionSet
  readonly context: Context.Context<ExtensionRegistry>
}> = Effect.gen(function* () {
  const registry = yield* Registry.make<ExtensionEntry, never>("extension")
  const methods = yield* Registry.make<ExtensionMethod, never>("method")
  const notifications = yield* Registry.make<Owned<NotificationEntry>, never>("notification")
  const subscriptions = yield* Registry.make<Owned<SubscriptionEntry>, never>("subscription")
  const keys = new Keys()
  /** Each extension once, though it is registered for every revision that has it. */
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
