/**
 * A negotiated conversation with one server: typed requests out, what the server announces in.
 *
 * This is what calls, lists and watches are written on; another era or a connection that heals itself is another maker of it. Owns
 * the peer. Refuses, before anything is sent, what the server did not declare.
 */
import type { Closed, Peer, RequestOptions } from "@effect-mcp/core/Peer"
import * as PeerModule from "@effect-mcp/core/Peer"
import type { Transport, TransportError } from "@effect-mcp/core/Transport"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type * as Method from "@effect-mcp/protocol/Method"
import type { ProgressParams } from "@effect-mcp/protocol/model/Progress"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { CapabilityMissing, type ClientError, InvalidResult } from "./ClientError.ts"
import * as Handlers from "./Handlers.ts"
import * as Negotiation from "./Negotiation.ts"
import { missingFor } from "./internal/Needs.ts"

export type Requests = Method.ClientRequests

/** How one call may differ from the client's defaults. */
export interface CallOptions {
  /** How long to wait for the answer, or for the next progress. Default 60 seconds. */
  readonly timeout?: Duration.Input | undefined
  /** Whether progress starts the wait anew. Default true. */
  readonly resetOnProgress?: boolean | undefined
  /** How long to wait whatever the progress. Default 10 minutes. */
  readonly maxTotal?: Duration.Input | undefined
  /** Told of every progress event, in the reader: it must not block. */
  readonly onProgress?: ((event: ProgressParams) => void) | undefined
  /** Given every progress event; one that does not fit is dropped, so a sliding queue suits best. */
  readonly progress?: Queue.Enqueue<ProgressParams> | undefined
  /** Sent as the request's `_meta`. */
  readonly meta?: { readonly [key: string]: unknown } | undefined
}

export interface Defaults {
  readonly timeout: Duration.Input
  readonly resetOnProgress: boolean
  readonly maxTotal: Duration.Input
}

export interface Connection extends Negotiation.Negotiated {
  readonly request: <M extends keyof Requests>(
    method: M,
    params: Requests[M]["params"],
    options?: CallOptions
  ) => Effect.Effect<Requests[M]["result"], ClientError>
  readonly notify: (method: keyof Method.ClientNotifications, params?: JsonRpc.Params) => Effect.Effect<void>
  readonly peer: Peer
  /** Completes once the conversation is over, however it ended. */
  readonly ended: Effect.Effect<Closed>
  readonly awaitClosed: Effect.Effect<void, TransportError>
}

export interface Options extends Omit<Negotiation.Options, "capabilities" | "timeout"> {
  readonly defaults: Defaults
  readonly services: Handlers.Services
  readonly experimental: Negotiation.Options["capabilities"]["experimental"]
  readonly extensions: Negotiation.Options["capabilities"]["extensions"]
  /** What the server says without being asked, decoded. Called in the reader: must not block. */
  readonly announced: <M extends keyof Method.ServerNotifications>(
    method: M,
    params: Method.ServerNotifications[M]
  ) => void
  readonly dropped: (reason: string) => void
}

const noop = (): void => {}

const onProgress = (method: string, options: CallOptions): RequestOptions["onProgress"] => {
  const { onProgress: callback, progress: queue } = options
  // A tool may run long: asking for progress is what lets it restart the timeout.
  if (callback === undefined && queue === undefined) return method === "tools/call" ? noop : undefined
  return (event) => {
    callback?.(event)
    if (queue !== undefined) Queue.offerUnsafe(queue, event)
  }
}

/** The coders of a method of this revision. */
const codersOf = <M extends keyof Requests>(
  revision: Revision.Revision,
  method: M
): Codecs.Coders<Requests[M]["params"], Requests[M]["result"]> | undefined => {
  const codec = revision.requests[method]
  return codec === undefined ? undefined : Codecs.coders(codec)
}

const requester =
  (peer: Peer, negotiated: Negotiation.Negotiated, defaults: Defaults): Connection["request"] =>
  <M extends keyof Requests>(method: M, params: Requests[M]["params"], options: CallOptions = {}) =>
    Effect.suspend((): Effect.Effect<Requests[M]["result"], ClientError> => {
      const { revision, serverCapabilities } = negotiated
      const missing = missingFor(method, serverCapabilities, revision)
      const coders = codersOf(revision, method)
      if (missing !== undefined || coders === undefined) {
        const capability = missing ?? method
        return Effect.fail(new CapabilityMissing({ capability, message: `The server did not declare ${capability}` }))
      }
      const { meta } = options
      const withMeta = meta === undefined ? params : { ...params, _meta: { ...params?._meta, ...meta } }
      return coders.params.encode(withMeta).pipe(
        Effect.mapError((message) => McpError.invalidParams(`Cannot be said to this server: ${message}`)),
        Effect.flatMap((wire) =>
          peer.request(method, isJsonObject(wire) ? wire : undefined, {
            timeout: options.timeout ?? defaults.timeout,
            resetOnProgress: options.resetOnProgress ?? defaults.resetOnProgress,
            maxTotal: options.maxTotal ?? defaults.maxTotal,
            onProgress: onProgress(method, options)
          })
        ),
        Effect.flatMap((answer) =>
          Effect.mapError(
            coders.result.decode(answer),
            (message) => new InvalidResult({ method, message: `The answer to ${method} is malformed: ${message}` })
          )
        )
      )
    })

/** Decodes what the server announces; what does not decode is dropped. */
const announcer = (options: Options) => {
  const decode = <M extends keyof Method.ServerNotifications>(
    method: M,
    params: unknown,
    codec: Revision.NotificationTable<Method.ServerNotifications>[M]
  ): void => {
    if (codec === undefined) return options.dropped(`An unknown notification: ${method}`)
    const exit = Effect.runSyncExit(Codecs.coder<Method.ServerNotifications[M]>(codec).decode(params))
    if (Exit.isSuccess(exit)) options.announced(method, exit.value)
    else options.dropped(`A malformed notification: ${method}`)
  }
  return ({ method, params }: JsonRpc.Notification, { serverNotifications }: Revision.Revision): void =>
    isIn(serverNotifications, method)
      ? decode(method, params, serverNotifications[method])
      : options.dropped(`An unknown notification: ${method}`)
}

/** What cannot be tied to any request would only confuse the server if it were answered: it is reported instead. */
const withoutNoise = ({ incoming, ...rest }: Transport, dropped: Options["dropped"]): Transport => ({
  ...rest,
  incoming: Stream.filter(incoming, (inbound) => {
    if (inbound._tag !== "Unreadable" || inbound.id !== undefined) return true
    dropped(`Not a message: ${inbound.text ?? inbound.error.message}`)
    return false
  })
})

const isIn = <T extends object>(table: T, key: string): key is keyof T & string => Object.hasOwn(table, key)

/** Opens the conversation over a wire: starts the reader in the scope, then shakes hands. */
export const make = Effect.fnUntraced(function* (
  transport: Transport,
  options: Options
): Effect.fn.Return<Connection, Negotiation.NegotiationError, Scope.Scope> {
  const { experimental, extensions, services } = options
  const capabilities = {
    ...Handlers.capabilities(services),
    ...(experimental === undefined ? undefined : { experimental }),
    ...(extensions === undefined ? undefined : { extensions })
  }
  const answer = Handlers.make(services)
  const announce = announcer(options)
  const agreed = Deferred.makeUnsafe<Negotiation.Negotiated>()
  let negotiated: Negotiation.Negotiated | undefined
  const revision = () => negotiated?.revision ?? Revision.latestStateful

  const peer = yield* PeerModule.make(
    withoutNoise(transport, options.dropped),
    {
      // A question may overtake the end of the handshake: it waits for it.
      request: ({ request }) =>
        Effect.flatMap(Deferred.await(agreed), ({ revision, serverInfo: server }) =>
          answer(request, { revision, capabilities, server })
        ),
      immediate: ({ method }) => (method === "ping" ? {} : undefined),
      notification: (notification) => announce(notification, revision()),
      dropped: options.dropped
    },
    {
      unreadableId: () => revision().rules.unreadableId,
      batches: () => revision().rules.batches
    }
  )
  negotiated = yield* Negotiation.initialize(peer, { ...options, capabilities, timeout: options.defaults.timeout })
  Deferred.doneUnsafe(agreed, Effect.succeed(negotiated))

  const { changes } = services.roots ?? {}
  if (changes !== undefined) {
    yield* Effect.forkScoped(
      Stream.runForEach(changes, () =>
        Effect.andThen(
          peer.sink.ready,
          Effect.sync(() => peer.notify("notifications/roots/list_changed"))
        )
      ),
      { startImmediately: true }
    )
  }

  return {
    ...negotiated,
    peer,
    request: requester(peer, negotiated, options.defaults),
    notify: (method, params) =>
      Effect.andThen(
        peer.sink.ready,
        Effect.sync(() => peer.notify(method, params))
      ),
    ended: Effect.matchEffect(peer.awaitClosed, {
      onFailure: (cause) => Effect.succeed(new PeerModule.Closed({ message: cause.message, cause })),
      onSuccess: () => Effect.succeed(new PeerModule.Closed({ message: "The connection is closed" }))
    }),
    awaitClosed: peer.awaitClosed
  }
})
