/**
 * `subscriptions/listen` (spec 2026-07-28: basic/patterns/subscriptions). The request's fiber is the stream.
 *
 * It subscribes before acknowledging, and acknowledges before sending any other message. Every message carries the subscription ID. The
 * stream ends when the client cancels it, or with a result when the server closes.
 */
import { Spans } from "@effect-mcp/core/internal/peers"
import type { ReceivedRequest } from "@effect-mcp/core/Peer"
import type { Sink } from "@effect-mcp/core/Transport"
import type { Principal } from "@effect-mcp/core/Principal"
import type { ServerCapabilities } from "@effect-mcp/protocol/Capabilities"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { ListKind } from "@effect-mcp/protocol/MethodInfo"
import { subscriptionId } from "@effect-mcp/protocol/model/Meta"
import {
  announced,
  listFilter,
  type ListenParams,
  type ListenResult,
  type SubscriptionFilter
} from "@effect-mcp/protocol/model/Subscriptions"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { ChangeNotifier, type Subscriber } from "../session/ChangeNotifier.ts"
import type { ByteAccount, Limits } from "../Limits.ts"
import type { ResourceSet } from "../features/ResourceRegistry.ts"
import type { WireNotification, ExtensionSubscription } from "./ExtensionSubscriptions.ts"

export interface Options<R> {
  /** The resources, or `undefined` if the server never had any. */
  readonly resources: ResourceSet | undefined
  readonly capabilities: ServerCapabilities
  /** Subscribes to kinds that extensions define. */
  readonly own: Effect.Effect<ReadonlyArray<ExtensionSubscription>, McpError.McpError, R>
  /** The notifiers to call when a list changes. */
  readonly listeners: Set<ChangeNotifier>
  /** Completes when the server is about to stop. */
  readonly closing: Effect.Effect<void>
  readonly limits: Limits
  /** The account for bytes held for the request. */
  readonly holder: ByteAccount
}

/** A subscription. It is a single object, because ten thousand subscriptions don't fit in a processor's cache. */
class ListenSubscriber implements Subscriber {
  private readonly sink: Sink
  private readonly id: JsonRpc.Id
  private readonly lists: ReadonlyArray<ListKind>
  readonly fork: Subscriber["fork"]
  private readonly sender: Spans.SpanSource | undefined = Spans.currentSender()
  readonly meta: { readonly [subscriptionId]: JsonRpc.Id }

  constructor(sink: Sink, id: JsonRpc.Id, lists: ReadonlyArray<ListKind>, fork: Subscriber["fork"]) {
    this.sink = sink
    this.id = id
    this.lists = lists
    this.fork = fork
    this.meta = { [subscriptionId]: id }
  }

  writable(): boolean {
    return this.sink.writable()
  }

  get ready(): Effect.Effect<void> {
    return this.sink.ready
  }

  send(method: string, params: JsonRpc.Params): void {
    Spans.notify(this.sink, JsonRpc.notification(method, { ...params, _meta: this.meta }), "data", this.id, this.sender)
  }

  /** Sends extension messages, each as soon as there is room. Never ends. */
  forward(subscriptions: ReadonlyArray<ExtensionSubscription>): Effect.Effect<never> {
    const send = ({ method, params }: WireNotification) =>
      Effect.map(this.ready, () => this.send(method, { ...params }))
    const forwarded = Effect.forEach(subscriptions, ({ forward }) => forward(send), {
      concurrency: "unbounded",
      discard: true
    })
    return Effect.andThen(forwarded, Effect.never)
  }

  sendList(kind: ListKind): void {
    if (this.lists.includes(kind)) this.send(`notifications/${kind}/list_changed`, {})
  }

  sendUpdate(uri: string): void {
    this.send("notifications/resources/updated", { uri })
  }
}

/** Returns the result of a subscription that ends normally. */
export const ended = (id: JsonRpc.Id): ListenResult => ({ _meta: { [subscriptionId]: id } })

/** Runs until the subscription ends. */
export const listen = <R>(
  options: Options<R>,
  received: ReceivedRequest,
  principal: Principal["Service"],
  params: ListenParams
): Effect.Effect<ListenResult, McpError.McpError, Exclude<R, Scope.Scope>> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { capabilities, closing, holder, limits, listeners, resources } = options
      const { request, sink } = received
      const wanted = params.notifications
      const scope = yield* Scope.Scope
      const kept = limits.listen(holder, request.params, wanted.resourceSubscriptions ?? [])
      if (kept instanceof McpError.McpError) return yield* kept
      yield* Scope.addFinalizer(
        scope,
        Effect.sync(() => limits.unlisten(holder, kept))
      )
      const runFork = Effect.runForkWith(yield* Effect.context<never>())
      const lists = announced(wanted, capabilities)
      const uris = [...new Set(wanted.resourceSubscriptions)]
        .filter((uri) => capabilities.resources?.subscribe === true && resources?.has(uri, principal) === true)
        .slice(0, limits.subscriptions)
      const stream = new ListenSubscriber(sink, request.id, lists, (effect) => void Fiber.runIn(runFork(effect), scope))
      const notifier = new ChangeNotifier(stream)
      for (const uri of uris) if (resources !== undefined) yield* resources.subscribe(uri, principal, notifier)
      yield* Effect.acquireRelease(
        Effect.sync(() => listeners.add(notifier)),
        () =>
          Effect.sync(() => {
            notifier.close()
            listeners.delete(notifier)
          })
      )
      const own = yield* options.own
      const granted: SubscriptionFilter = {
        ...Object.fromEntries(own.map(({ granted, key }) => [key, granted])),
        ...listFilter(lists),
        ...(uris.length > 0 ? { resourceSubscriptions: uris } : undefined)
      }
      stream.send("notifications/subscriptions/acknowledged", { notifications: granted })
      notifier.open()
      yield* own.length === 0 ? closing : Effect.raceFirst(closing, stream.forward(own))
      return ended(request.id)
    })
  )
