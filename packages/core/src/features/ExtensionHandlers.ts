/** Types for an extension's handlers on a server: the result of each part, and the services the handlers need. */
import type * as McpError from "@effect-mcp/protocol/McpError"
import type { Revision } from "@effect-mcp/protocol/Revision"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { EncodedResult } from "../contract/EncodedResult.ts"
import type { Any, Notification, Request, Subscription } from "../contract/Extension.ts"
import type { AskError } from "../request/ClientInput.ts"
import type { Principal } from "../transport/Principal.ts"

/** The caller an extension is declared to. */
export interface ExtensionCaller {
  /** Principal from the transport. Middleware has no effect on declarations. */
  readonly principal: Principal["Service"]
  readonly revision: Revision
  /** True if all messages on the connection come from one client: stdio, sockets and in-memory transports. False over HTTP. */
  readonly duplex: boolean
}

/** Errors a method's handler may fail with: the method's declared failure, a failed question, or a JSON-RPC error. */
export type HandlerError<F> = F | AskError | McpError.McpError

/** An extension notification with its params, to send to a subscription's stream; see `Extensions.message`. */
export interface SubscriptionMessage {
  readonly notification: Notification<any, "server">
  readonly params: unknown
}

/** The part of a subscription that the server grants. */
export interface Granted<P, R> {
  /** The part of the filter that the server accepts, as reported to the client. */
  readonly granted: P
  /** Notifications, pulled as fast as the client reads them. The subscription stays open after the stream ends. */
  readonly messages: Stream.Stream<SubscriptionMessage, never, R>
}

/** A request handler. An already encoded result is sent unchanged, without checking it against the method's schema. */
type RequestHandler<Q> =
  Q extends Request<infer P, infer A, infer F, any>
    ? (params: P) => Effect.Effect<A | EncodedResult, HandlerError<F>, any>
    : never
type NotificationHandler<N> =
  N extends Notification<infer P, any> ? (params: P) => Effect.Effect<void, never, any> : never
type SubscriptionHandler<S> =
  S extends Subscription<infer P>
    ? (filter: P) => Effect.Effect<Granted<P, any> | undefined, McpError.McpError, any>
    : never

/** Names of the notifications that clients send. */
type FromClient<Ns> = { readonly [K in keyof Ns]: Ns[K] extends Notification<any, "client"> ? K : never }[keyof Ns]

type RequestHandlers<Reqs> = { readonly [K in keyof Reqs]: RequestHandler<Reqs[K]> }
type NotificationHandlers<Ns> = { readonly [K in FromClient<Ns>]: NotificationHandler<Ns[K]> }
type SubscriptionHandlers<Subs> = { readonly [K in keyof Subs]: SubscriptionHandler<Subs[K]> }

/** A property that is optional if there is nothing to put in it. */
type Member<Name extends string, Handlers> = keyof Handlers extends never
  ? { readonly [K in Name]?: Handlers }
  : { readonly [K in Name]: Handlers }
type Settings<SS> = SS | ((caller: ExtensionCaller) => SS | undefined)
type SettingsMember<SS> = {} extends SS ? { readonly settings?: Settings<SS> } : { readonly settings: Settings<SS> }

/** An extension's handlers: one for each request, client notification and subscription, plus the extension's settings. */
export type Handlers<X extends Any> = Member<"requests", RequestHandlers<X["requests"]>> &
  Member<"notifications", NotificationHandlers<X["notifications"]>> &
  Member<"subscriptions", SubscriptionHandlers<X["subscriptions"]>> &
  SettingsMember<SettingsOf<X>> & {
    /**
     * Maximum requests per second and caller, for each method that isn't listed in the server's `rateLimit` option. Bursts may be twice as
     * large. Default: unlimited.
     */
    readonly rateLimit?: number | undefined
  }

type SettingsOf<X extends Any> = X["serverSettings"] extends { readonly decode: (wire: unknown) => infer D }
  ? D extends Effect.Effect<infer SS, infer _E, infer _R>
    ? SS
    : never
  : never

/** Turns handlers that don't match any part of the extension into a compile error. */
export type NoOthers<H, X extends Any> = {
  readonly [M in keyof H]: M extends "requests" | "notifications" | "subscriptions"
    ? { readonly [K in keyof H[M]]: K extends keyof X[M] ? H[M][K] : never }
    : M extends "settings" | "rateLimit"
      ? H[M]
      : never
}

type ServicesOfResult<A> = A extends Granted<any, infer R> ? R : never
type ServicesOfHandler<F> = F extends (...args: any) => Effect.Effect<infer A, infer _E, infer R>
  ? R | ServicesOfResult<A>
  : never
type ServicesOfPart<P> = { readonly [K in keyof P]: ServicesOfHandler<P[K]> }[keyof P]

/** Services the handlers need, including the services each request provides. */
export type ServicesOf<H> =
  | (H extends { readonly requests: infer P } ? ServicesOfPart<P> : never)
  | (H extends { readonly notifications: infer P } ? ServicesOfPart<P> : never)
  | (H extends { readonly subscriptions: infer P } ? ServicesOfPart<P> : never)
