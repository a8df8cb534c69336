/** The types of an extension's handlers at a server: what each part is answered with, and which services the handlers need. */
import type * as McpError from "@effect-mcp/protocol/McpError"
import type { Revision } from "@effect-mcp/protocol/Revision"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { EncodedResult } from "../contract/EncodedResult.ts"
import type { Any, Notification, Request, Subscription } from "../contract/Extension.ts"
import type { AskError } from "../request/ClientInput.ts"
import type { Principal } from "../transport/Principal.ts"

/** The caller that an extension is declared to. */
export interface ExtensionCaller {
  /** As the transport knows it; middleware has no part in what is declared. */
  readonly principal: Principal["Service"]
  readonly revision: Revision
  /** Whether all messages of the connection come from one client: stdio, sockets, memory. False over HTTP. */
  readonly duplex: boolean
}

/** How a handler of a method fails: as the method declares, by a question, or by a JSON-RPC error. */
export type HandlerError<F> = F | AskError | McpError.McpError

/** A notification of an extension with its params, for a stream of a subscription: see `Extensions.message`. */
export interface SubscriptionMessage {
  readonly notification: Notification<any, "server">
  readonly params: unknown
}

/** What a server grants of a subscription. */
export interface Granted<P, R> {
  /** The part of the filter that is honoured, which the acknowledgement lists. */
  readonly granted: P
  /** Notifications of the extension; pulled as fast as the client reads. Its end does not end the subscription. */
  readonly messages: Stream.Stream<SubscriptionMessage, never, R>
}

/** A result that is encoded already is written unchanged, and is not held against the schema of the method. */
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

/** The names of the notifications that a client sends. */
type FromClient<Ns> = { readonly [K in keyof Ns]: Ns[K] extends Notification<any, "client"> ? K : never }[keyof Ns]

type RequestHandlers<Reqs> = { readonly [K in keyof Reqs]: RequestHandler<Reqs[K]> }
type NotificationHandlers<Ns> = { readonly [K in FromClient<Ns>]: NotificationHandler<Ns[K]> }
type SubscriptionHandlers<Subs> = { readonly [K in keyof Subs]: SubscriptionHandler<Subs[K]> }

/** A member that may be left out where it would be empty. */
type Member<Name extends string, Handlers> = keyof Handlers extends never
  ? { readonly [K in Name]?: Handlers }
  : { readonly [K in Name]: Handlers }
type Settings<SS> = SS | ((caller: ExtensionCaller) => SS | undefined)
type SettingsMember<SS> = {} extends SS ? { readonly settings?: Settings<SS> } : { readonly settings: Settings<SS> }

/** The handlers of an extension: one for each of its requests, notifications of clients and subscriptions, and its settings. */
export type Handlers<X extends Any> = Member<"requests", RequestHandlers<X["requests"]>> &
  Member<"notifications", NotificationHandlers<X["notifications"]>> &
  Member<"subscriptions", SubscriptionHandlers<X["subscriptions"]>> &
  SettingsMember<SettingsOf<X>> & {
    /**
     * Requests per second and caller of each of its methods that the option `rateLimit` of the server does not name; twice as many may come
     * in one burst. Default: not limited.
     */
    readonly rateLimit?: number | undefined
  }

export type SettingsOf<X extends Any> = X["serverSettings"] extends { readonly decode: (wire: unknown) => infer D }
  ? D extends Effect.Effect<infer SS, infer _E, infer _R>
    ? SS
    : never
  : never

/** Handlers that belong to no part of the extension: their type is an error. */
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

/** The services that handlers need, those of the request included. */
export type ServicesOf<H> =
  | (H extends { readonly requests: infer P } ? ServicesOfPart<P> : never)
  | (H extends { readonly notifications: infer P } ? ServicesOfPart<P> : never)
  | (H extends { readonly subscriptions: infer P } ? ServicesOfPart<P> : never)
