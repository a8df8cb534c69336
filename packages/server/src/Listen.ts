/**
 * `subscriptions/listen` (spec 2026-07-28: basic/patterns/subscriptions): the request's fiber is the stream.
 *
 * Subscribed before it is acknowledged, acknowledged before anything else; every message carries the subscription's id. It ends when
 * the client cancels it, or with a result when the server closes.
 */
import type { Asked } from "@effect-mcp/core/Peer"
import type { Principal } from "@effect-mcp/core/Principal"
import type { ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { subscriptionId } from "@effect-mcp/protocol/model/Meta"
import type { ListenParams, ListenResult, SubscriptionFilter } from "@effect-mcp/protocol/model/Subscriptions"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { Announcer, type ListKind } from "./Announcer.ts"
import type { ResourceSet } from "./ResourceRegistry.ts"
import { maxPerSession } from "./Subscriptions.ts"

export interface Options {
  readonly resources: ResourceSet
  readonly capabilities: ServerCapabilities
  /** Whoever is in it is told of changed lists. */
  readonly listeners: Set<Announcer>
  /** Completes when the server ends its subscriptions by itself. */
  readonly closing: Effect.Effect<void>
}

const kinds: ReadonlyArray<ListKind> = ["tools", "prompts", "resources"]

/** Runs for as long as the subscription does. */
export const listen = (
  options: Options,
  exchange: Asked,
  principal: Principal["Service"],
  { notifications: wanted }: ListenParams
): Effect.Effect<ListenResult> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { capabilities, closing, listeners, resources } = options
      const { request, sink } = exchange
      const scope = yield* Scope.Scope
      const runFork = Effect.runForkWith(yield* Effect.context<never>())
      const _meta = { [subscriptionId]: request.id }
      const send = (method: string, params: JsonRpc.Params = {}): void =>
        sink.send(JsonRpc.notification(method, { ...params, _meta }), "data", request.id)

      const lists = kinds.filter(
        (kind) => wanted[`${kind}ListChanged`] === true && capabilities[kind]?.listChanged === true
      )
      const uris = [...new Set(wanted.resourceSubscriptions)]
        .filter((uri) => capabilities.resources?.subscribe === true && resources.has(uri, principal))
        .slice(0, maxPerSession)
      const announcer = new Announcer({
        writable: () => sink.writable(),
        ready: sink.ready,
        runFork: (effect) => void Fiber.runIn(runFork(effect), scope),
        sendList: (kind) => {
          if (lists.includes(kind)) send(`notifications/${kind}/list_changed`)
        },
        sendUpdate: (uri) => send("notifications/resources/updated", { uri })
      })
      for (const uri of uris) yield* resources.subscribe(uri, () => announcer.resourceUpdated(uri))
      yield* Effect.acquireRelease(
        Effect.sync(() => listeners.add(announcer)),
        () =>
          Effect.sync(() => {
            announcer.close()
            listeners.delete(announcer)
          })
      )
      const granted: SubscriptionFilter = {
        ...Object.fromEntries(lists.map((kind) => [`${kind}ListChanged`, true])),
        ...(uris.length > 0 ? { resourceSubscriptions: uris } : undefined)
      }
      send("notifications/subscriptions/acknowledged", { notifications: granted })
      announcer.open()
      yield* closing
      return { _meta }
    })
  )
