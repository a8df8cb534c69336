/**
 * Notifications from extensions, and with methods that nothing else defines, for streams, handlers and subscriptions.
 *
 * The reader only adds them, undecoded, to bounded queues; the fiber that uses a notification decodes it. A full queue drops its oldest
 * notification. A malformed notification is reported and skipped.
 */
import { textOf } from "@effect-mcp/core/internal/calling"
import type * as Extension from "@effect-mcp/core/Extension"
import type { InvalidValue } from "@effect-mcp/core/Tool"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { CapabilityMissing, type ClientError, InvalidResult } from "../ClientError.ts"
import { Backoff, type RetryPolicy } from "../connection/Backoff.ts"
import type { ExtensionPart } from "../extension/ClientExtension.ts"
import type { ListenEvent, RawListenEvent } from "../extension/ExtensionCalls.ts"
import { expanded } from "../internal/streams.ts"
import type { ReconnectingConnection } from "../reconnect/ReconnectingConnection.ts"
import * as Resubscribe from "../reconnect/Resubscribe.ts"

/** Number of notifications to keep for a slow reader. */
const capacity = 256

export interface Options {
  readonly parts: ReadonlyArray<ExtensionPart>
  readonly connection: () => Pick<ReconnectingConnection, "listen">
  readonly policy: RetryPolicy | undefined
  readonly dropped: (reason: string, level: "Warn" | "Debug") => void
}

interface NotificationInbox {
  /** Queues a notification for its extension's handler. Called by the reader. */
  readonly handle: (owner: ExtensionPart, notification: JsonRpc.Notification) => void
  /** Decodes a notification's params. */
  readonly decoded: <P>(notification: Extension.Notification<P>, wires: Stream.Stream<JsonObject>) => Stream.Stream<P>
}

type Dropped = Options["dropped"]

/** Starts a fiber for each extension that handles notifications. */
export const make = Effect.fnUntraced(function* ({
  dropped,
  parts
}: Pick<Options, "dropped" | "parts">): Effect.fn.Return<NotificationInbox, never, Scope.Scope> {
  const handling = new Map<ExtensionPart, Queue.Queue<JsonRpc.Notification>>()
  for (const part of parts) if (part.notifications.size > 0) handling.set(part, yield* handler(part, dropped))
  return {
    handle: (owner, { method, params = {}, ...rest }) => {
      const queue = owner.notifications.has(method) ? handling.get(owner) : undefined
      if (queue !== undefined) Queue.offerUnsafe(queue, { method, params, ...rest })
    },
    decoded: ({ method, params }, wires) => expanded(wires, (wire) => valid(method, params.decode(wire), dropped))
  }
})

/** Starts the fiber that handles an extension's notifications one by one, and returns its queue. */
const handler = Effect.fnUntraced(function* (
  { notifications }: ExtensionPart,
  dropped: Dropped
): Effect.fn.Return<Queue.Queue<JsonRpc.Notification>, never, Scope.Scope> {
  const queue = yield* Queue.sliding<JsonRpc.Notification>(capacity)
  const handle = ({ method, params = {} }: JsonRpc.Notification) =>
    // A handler may interrupt itself. An interruption of this fiber is never caught.
    Effect.catchCause(
      Effect.suspend(() => valid(method, notifications.get(method)?.(params) ?? Effect.void, dropped)),
      (cause) => Effect.sync(() => dropped(`The handler for ${method} failed: ${textOf(cause)}`, "Warn"))
    )
  yield* Effect.forkScoped(Effect.forever(Effect.flatMap(Queue.take(queue), handle)))
  return queue
})

/** Returns the value, or reports an invalid one and returns an empty result. */
const valid = <A>(
  method: string,
  value: Effect.Effect<A, InvalidValue>,
  dropped: Dropped
): Effect.Effect<ReadonlyArray<A>> =>
  Effect.matchEffect(value, {
    onFailure: ({ message }) => {
      dropped(`Invalid notification ${method}: ${message}`, "Warn")
      return Effect.succeed([])
    },
    onSuccess: (value) => Effect.succeed([value])
  })

/** The acknowledgements and notifications of a subscription that is reopened when it ends. The server must grant `key`. */
const subscription = (
  { connection, policy }: Pick<Options, "connection" | "policy">,
  filter: Effect.Effect<JsonObject, ClientError>,
  key?: string
): Stream.Stream<JsonRpc.Notification, ClientError> =>
  Stream.callback<JsonRpc.Notification, ClientError>(
    (queue) => {
      const backoff = policy && new Backoff(policy)
      const received = (notification: JsonRpc.Notification): void => {
        if (notification.method !== acknowledged) backoff?.succeeded()
        Queue.offerUnsafe(queue, notification)
      }
      const kept = Effect.flatMap(filter, (wire) =>
        Resubscribe.keep({
          subscribe: Effect.flatMap(connection().listen(wire, received), ({ ended, granted }) =>
            key === undefined || Object.hasOwn(granted, key) ? Effect.succeed(ended) : Effect.fail(refused(key))
          ),
          // The acknowledgement has already reported it, in order with the notifications.
          onSubscribed: () => {},
          backoff
        })
      )
      return Effect.catchCause(kept, (cause) => Queue.failCause(queue, cause))
    },
    { bufferSize: capacity, strategy: "sliding" }
  )

/** A subscription's undecoded events; see `Raw.listen`. */
export const listenRaw = (
  options: Pick<Options, "connection" | "policy">,
  filter: JsonObject
): Stream.Stream<RawListenEvent, ClientError> =>
  Stream.map(subscription(options, Effect.succeed(filter)), ({ method, params = {} }) => {
    if (method !== acknowledged) return { _tag: "Notification", method, params }
    return { _tag: "Listening", granted: isJsonObject(params.notifications) ? params.notifications : {} }
  })

/** The events of a subscription that is reopened when it ends; see `ExtensionCalls.listen`. */
export const listen = <F, P>(
  options: Options,
  { filter: codec, key }: Extension.Subscription<F>,
  filter: F,
  notification: Extension.Notification<P> | undefined
): Stream.Stream<ListenEvent<F, P>, ClientError> => {
  const encoded = Effect.mapBoth(codec.encode(filter), {
    onFailure: ({ message }) => McpError.invalidParams(`The filter ${key} does not match its schema: ${message}`),
    onSuccess: (wire) => ({ [key]: wire })
  })
  const eventsOf = ({
    method,
    params = {}
  }: JsonRpc.Notification): Effect.Effect<ReadonlyArray<ListenEvent<F, P>>, ClientError> => {
    if (method === acknowledged) return listening(key, codec.decode, params)
    if (notification?.method !== method) return Effect.succeed([])
    const decoded = Effect.map(notification.params.decode(params), (params) => ({
      _tag: "Notification" as const,
      params
    }))
    return valid(method, decoded, options.dropped)
  }
  return expanded(subscription(options, encoded, key), eventsOf)
}

const acknowledged = "notifications/subscriptions/acknowledged"

const refused = (key: string): CapabilityMissing =>
  new CapabilityMissing({ capability: key, message: `The server did not grant the subscription ${key}` })

/** Decodes the filter that the server granted. A subscription without a filter was rejected earlier. */
const listening = <F>(
  key: string,
  decode: Extension.Subscription<F>["filter"]["decode"],
  { notifications }: JsonRpc.Params
): Effect.Effect<ReadonlyArray<{ readonly _tag: "Listening"; readonly granted: F }>, InvalidResult> => {
  if (!isJsonObject(notifications) || !Object.hasOwn(notifications, key)) return Effect.succeed([])
  return Effect.mapBoth(decode(notifications[key]), {
    onFailure: ({ message }) =>
      new InvalidResult({
        method: "subscriptions/listen",
        message: `The server's grant for ${key} does not match its schema: ${message}`,
        result: notifications
      }),
    onSuccess: (granted) => [{ _tag: "Listening", granted }]
  })
}
