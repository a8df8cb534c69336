/**
 * The client's members for extensions: typed requests, notifications and subscriptions based on `Extension` values, plus raw access to
 * methods that have no such value.
 */
import type * as Extension from "@effect-mcp/core/Extension"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Stream from "effect/Stream"
import type { CallOptions } from "../CallOptions.ts"
import type { CapabilityMissing, ClientError, InvalidResult } from "../ClientError.ts"
import type { ValueCodec } from "@effect-mcp/core/Tool"

/** Subscription events: the grant from the server, sent initially and after each renewal, and the params of each notification. */
export type ListenEvent<F, P> =
  | { readonly _tag: "Listening"; readonly granted: F }
  | { readonly _tag: "Notification"; readonly params: P }

/** Subscription events in wire format: the grant from the server, sent initially and after each renewal, and notifications. */
export type RawListenEvent =
  | { readonly _tag: "Listening"; readonly granted: JsonObject }
  | { readonly _tag: "Notification"; readonly method: string; readonly params: JsonObject }

/** Options for a request whose method has no `Extension` value. */
export interface RawOptions extends CallOptions {
  /** True if the request only reads data, so it may be resent if the connection is lost. Default false. */
  readonly readOnly?: boolean | undefined
  /**
   * How to handle questions in the result (2026-07-28). With `answered`, the client answers them and repeats the request. With `returned`,
   * they are returned as the result. Default `answered`.
   */
  readonly questions?: "answered" | "returned" | undefined
}

/** A server notification in wire format, along with the request it belongs to if the transport reports it. */
export interface RawNotification extends Pick<JsonRpc.Notification, "method" | "params"> {
  readonly relatedTo: JsonRpc.Id | undefined
}

/** Access to methods that have no `Extension` value. Params and results are in wire format. */
export interface Raw {
  /**
   * Sends a request with any method. Only the client's declaration (2026-07-28) and a progress token are added to its `_meta`. The result
   * is not decoded, and other result types are not followed.
   */
  readonly request: (method: string, params?: JsonObject, options?: RawOptions) => Effect.Effect<unknown, ClientError>
  /** Sends a notification with any method. Waits until the transport can take it. */
  readonly notify: (method: string, params?: JsonObject) => Effect.Effect<void, ClientError>
  /**
   * Keeps a subscription with any filter open while the stream runs (2026-07-28: basic/patterns/subscriptions). It is renewed like
   * `watchResource`. At most 256 events are buffered; after that, the oldest is dropped. Fails with `CapabilityMissing` in a session.
   */
  readonly listen: (filter: JsonObject) => Stream.Stream<RawListenEvent, ClientError>
  /**
   * Server notifications, starting now, that neither the revision nor any of the client's extensions defines. At most 256 are buffered;
   * after that, the oldest is dropped. When no one is reading, they are reported to `Options.dropped`.
   */
  readonly notifications: Stream.Stream<RawNotification>
}

/** The client's members for extensions. */
export interface ExtensionCalls {
  /**
   * Sends an extension request. Fails with `CapabilityMissing`, without sending anything, unless both sides declared the extension.
   * Otherwise fails with the method's declared failure, or with `McpError` for any other server error.
   */
  readonly request: <P, A, F>(
    request: Extension.Request<P, A, F, "client">,
    params: NoInfer<P>,
    options?: CallOptions
  ) => Effect.Effect<A, F | ClientError>
  /**
   * Sends an extension notification. Waits until the transport can take it. In 2026-07-28 there is no session, so the notification carries
   * the client's declaration in `_meta`, like requests do.
   *
   * The only client notification defined by that revision is cancellation. A server without sessions may ignore all others.
   */
  readonly notify: <P>(
    notification: Extension.Notification<P, "client">,
    params: NoInfer<P>
  ) => Effect.Effect<void, ClientError>
  /**
   * The params of each matching server notification, starting now. At most 256 are buffered; after that, the oldest is dropped. Malformed
   * notifications are also dropped. Fails with `CapabilityMissing` unless both sides declared the extension.
   */
  readonly notifications: <P>(notification: Extension.Notification<P, "server">) => Stream.Stream<P, CapabilityMissing>
  /**
   * Keeps an extension's subscription open while the stream runs (2026-07-28: basic/patterns/subscriptions). It is renewed like
   * `watchResource`. Emits the notifications described by `notification`. At most 256 events are buffered; after that, the oldest is
   * dropped. Fails with `CapabilityMissing` in a session or if the server does not grant the subscription.
   */
  readonly listen: <F, P = never>(
    subscription: Extension.Subscription<F>,
    filter: NoInfer<F>,
    notification?: Extension.Notification<P, "server">
  ) => Stream.Stream<ListenEvent<F, P>, ClientError>
  /**
   * Returns the server's settings for an extension, or `None` if the server didn't declare it. Fails with `InvalidResult` if the settings
   * don't match their schema.
   */
  readonly serverSettings: <SS>(
    extension: Extension.Identity & { readonly serverSettings: ValueCodec<SS> }
  ) => Effect.Effect<Option.Option<SS>, InvalidResult>
  /**
   * Requests and notifications for methods that have no `Extension` value. Intended for programs that forward messages, such as gateways.
   * Doesn't check whether an extension was declared: the server rejects unknown methods.
   */
  readonly raw: Raw
}
