/**
 * What a client offers for extensions: typed requests, notifications and subscriptions of `Extension` values, and the door for methods
 * that no value describes.
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

/** The events of a subscription: what the server granted, first and after each renewal, and the params of each notification. */
export type ListenEvent<F, P> =
  | { readonly _tag: "Listening"; readonly granted: F }
  | { readonly _tag: "Notification"; readonly params: P }

/** The events of a subscription as they are on the wire: what the server granted, first and after each renewal, and notifications. */
export type RawListenEvent =
  | { readonly _tag: "Listening"; readonly granted: JsonObject }
  | { readonly _tag: "Notification"; readonly method: string; readonly params: JsonObject }

/** Options of a request of a method that no value describes. */
export interface RawOptions extends CallOptions {
  /** Whether it only reads, and may be sent again when its connection was lost. Default false. */
  readonly readOnly?: boolean | undefined
  /**
   * Questions inside its result (2026-07-28): `answered` by the client, which sends the request again, or `returned` as its result.
   * Default `answered`.
   */
  readonly questions?: "answered" | "returned" | undefined
}

/** A notification of the server as it is on the wire, and the request that it belongs to where the wire says so. */
export interface RawNotification extends Pick<JsonRpc.Notification, "method" | "params"> {
  readonly relatedTo: JsonRpc.Id | undefined
}

/** Methods that no value describes, params and results as they are on the wire. */
export interface Raw {
  /**
   * Sends a request of any method. Only the declaration of the client (2026-07-28) and a progress token are added to its `_meta`. The
   * result is not decoded, nor are results of another kind followed.
   */
  readonly request: (method: string, params?: JsonObject, options?: RawOptions) => Effect.Effect<unknown, ClientError>
  /** Sends a notification of any method; waits until the transport has room for it. */
  readonly notify: (method: string, params?: JsonObject) => Effect.Effect<void, ClientError>
  /**
   * A subscription with any filter (2026-07-28: basic/patterns/subscriptions), for as long as the stream runs; renewed as `watchResource`
   * is. At most 256 events wait, the oldest are dropped. Fails with `CapabilityMissing` in a session.
   */
  readonly listen: (filter: JsonObject) => Stream.Stream<RawListenEvent, ClientError>
  /**
   * The server's notifications that neither the revision nor an extension of the client describes, from now on; at most 256 wait, the
   * oldest are dropped. Without a reader they are reported to `Options.dropped`.
   */
  readonly notifications: Stream.Stream<RawNotification>
}

/** The members of a client for extensions. */
export interface ExtensionCalls {
  /**
   * Sends a request of an extension. Fails with `CapabilityMissing`, and sends nothing, unless both sides declared the extension; with
   * the failure that the method declares; with `McpError` for any other error of the server.
   */
  readonly request: <P, A, F>(
    request: Extension.Request<P, A, F, "client">,
    params: NoInfer<P>,
    options?: CallOptions
  ) => Effect.Effect<A, F | ClientError>
  /**
   * Sends a notification of an extension, and waits until the transport has room for it. In 2026-07-28 it carries the declaration of the
   * client in `_meta`, as requests do: there is no session that knows the client.
   *
   * The core of that revision has one notification of clients, of cancellation; a server without sessions may ignore any other.
   */
  readonly notify: <P>(
    notification: Extension.Notification<P, "client">,
    params: NoInfer<P>
  ) => Effect.Effect<void, ClientError>
  /**
   * The params of each notification of the server, from now on; at most 256 wait, the oldest are dropped, malformed ones too. Fails with
   * `CapabilityMissing` unless both sides declared the extension.
   */
  readonly notifications: <P>(notification: Extension.Notification<P, "server">) => Stream.Stream<P, CapabilityMissing>
  /**
   * A subscription of an extension (2026-07-28: basic/patterns/subscriptions), for as long as the stream runs; renewed as
   * `watchResource` is. Of the notifications on it, those of `notification` are emitted; at most 256 events wait, the oldest are dropped.
   * Fails with `CapabilityMissing` in a session, and where the server does not grant it.
   */
  readonly listen: <F, P = never>(
    subscription: Extension.Subscription<F>,
    filter: NoInfer<F>,
    notification?: Extension.Notification<P, "server">
  ) => Stream.Stream<ListenEvent<F, P>, ClientError>
  /**
   * What the server declared with an extension; none where it did not declare it. Fails with `InvalidResult` where the settings do not
   * fit.
   */
  readonly serverSettings: <SS>(
    extension: Extension.Identity & { readonly serverSettings: ValueCodec<SS> }
  ) => Effect.Effect<Option.Option<SS>, InvalidResult>
  /**
   * Requests and notifications of methods that no `Extension` value describes, for programs that pass messages on, such as a gateway.
   * No extension is checked: the server refuses what it does not know.
   */
  readonly raw: Raw
}
