/**
 * A negotiated conversation with one server: typed requests out, what the server announces in.
 *
 * It lasts as long as its wire: what calls, lists and watches are written on, `Healing`, is made of one or more. Owns the peer.
 * Refuses, before anything is sent, what the server did not declare.
 */
import type { Closed, Peer } from "@effect-mcp/core/Peer"
import * as PeerModule from "@effect-mcp/core/Peer"
import * as Transport from "@effect-mcp/core/Transport"
import type { Inbound, TransportError } from "@effect-mcp/core/Transport"
import * as Codecs from "@effect-mcp/protocol/Codecs"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as Method from "@effect-mcp/protocol/Method"
import { isExtensionId } from "@effect-mcp/protocol/model/Meta"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Policy } from "./Backoff.ts"
import type { Defaults } from "../CallOptions.ts"
import { denied } from "../ClientError.ts"
import * as Discovery from "./Discovery.ts"
import type { Era } from "./Era.ts"
import * as Stateful from "./StatefulEra.ts"
import * as Stateless from "./StatelessEra.ts"
import * as ServerRequests from "../answering/ServerRequests.ts"
import * as Negotiation from "./Negotiation.ts"

export interface Connection extends Negotiation.Negotiated, Era {
  readonly peer: Peer
  /** Whether calls take arguments along in headers. */
  readonly headers: boolean
  /** Completes once the conversation is over, however it ended. */
  readonly ended: Effect.Effect<Closed>
  readonly awaitClosed: Effect.Effect<void, TransportError>
}

export interface Options extends Omit<Negotiation.Options, "capabilities" | "timeout"> {
  readonly defaults: Defaults
  readonly services: ServerRequests.Services
  readonly experimental: Negotiation.Options["capabilities"]["experimental"]
  readonly extensions: Negotiation.Options["capabilities"]["extensions"]
  /** How long a server may stay silent before the older handshake is tried, too. */
  readonly probeTimeout: Duration.Input
  /** Rounds of questions that one request may take, where the server asks in rounds. */
  readonly maxRounds: number
  /** Answers kept at most, where the server allows it. */
  readonly cacheSize: number
  /** Bytes that they may have together. */
  readonly cacheBytes: number
  /** How often and when to try again what did not reach the server. */
  readonly policy: Policy | undefined
  /** What the server says without being asked, decoded; and for which request, if that is known. In the reader: must not block. */
  readonly announced: <M extends keyof Method.ServerNotifications>(
    method: M,
    params: Method.ServerNotifications[M],
    relatedTo: JsonRpc.Id | undefined
  ) => void
  /** Told when something may have been announced that did not arrive. */
  readonly missed: () => void
  /** Told of what is dropped by rule. `Debug`: what must be expected, such as an answer that comes after its cancellation. */
  readonly dropped: (reason: string, level: "Warn" | "Debug") => void
}

/** Decodes what the server announces; what does not decode is dropped. */
const announcer = (options: Options) => {
  const decode = <M extends keyof Method.ServerNotifications>(
    method: M,
    params: unknown,
    relatedTo: JsonRpc.Id | undefined,
    codec: Revision.NotificationTable<Method.ServerNotifications>[M]
  ): void => {
    if (codec === undefined) return options.dropped(`An unknown notification: ${excerpt(method)}`, "Warn")
    const exit = Effect.runSyncExit(Codecs.coder<Method.ServerNotifications[M]>(codec).decode(params))
    if (Exit.isSuccess(exit)) options.announced(method, exit.value, relatedTo)
    else options.dropped(`A malformed notification: ${method}`, "Warn")
  }
  return (
    { method, params }: JsonRpc.Notification,
    { serverNotifications }: Revision.Revision,
    relatedTo: JsonRpc.Id | undefined
  ): void =>
    isIn(serverNotifications, method)
      ? decode(method, params, relatedTo, serverNotifications[method])
      : // A session's server has no say in our requests.
        options.dropped(
          `An unknown notification: ${excerpt(method)}`,
          method === "notifications/cancelled" ? "Debug" : "Warn"
        )
}

/** Whether the peer would answer it: a request, or what may be one. */
const wantsAnswer = (inbound: Inbound): boolean => {
  if (inbound._tag === "Batch") return true
  if (inbound._tag === "RequestAborted") return false
  return inbound._tag === "Message" ? JsonRpc.isRequest(inbound.message) : !inbound.response
}

/**
 * What cannot be tied to any request would only confuse the server if it were answered: it is reported instead. So is all that wants
 * an answer, once `mute`: to a stateless server a client writes none (spec 2026-07-28: basic/transports/stdio).
 */
const withoutUnanswerable = (
  transport: Transport.Transport,
  mute: () => boolean,
  dropped: Options["dropped"]
): Transport.Transport =>
  Transport.filter(transport, (inbound) => {
    if (inbound._tag === "InvalidMessage" && inbound.id === undefined) {
      dropped(`Not a message: ${excerpt(inbound.text ?? inbound.error.message)}`, "Warn")
      return false
    }
    if (!mute() || !wantsAnswer(inbound)) return true
    dropped("A request from a server that must not send any", "Warn")
    return false
  })

const isIn = <T extends object>(table: T, key: string): key is keyof T & string => Object.hasOwn(table, key)

/** Says what may be lost: not where the wire is full. */
const hintsOf =
  (peer: Peer) =>
  (method: string, params: JsonRpc.Params): void => {
    if (peer.sink.writable()) peer.notify(method, params)
  }

const openingTimeout = (
  { address = "The server" }: Transport.Transport,
  method: string,
  timeout: Duration.Duration
): Effect.Effect<never, PeerModule.Timeout> =>
  Effect.fail(
    new PeerModule.Timeout({
      method,
      message:
        `${address} did not answer ${method} within ${Duration.format(timeout)}. ` +
        "Check that it is an MCP server and that it has started, or give it more time (`timeout`)."
    })
  )

/** Opens the conversation over a wire: starts the reader in the scope, then shakes hands. */
export const make = Effect.fnUntraced(function* (
  transport: Transport.Transport,
  options: Options
): Effect.fn.Return<Connection, Negotiation.NegotiationError, Scope.Scope> {
  const { experimental, extensions = {}, services } = options
  const unnamed = Object.keys(extensions).find((id) => !isExtensionId(id))
  // The programmer's mistake (spec 2026-07-28: basic/versioning, extension negotiation).
  if (unnamed !== undefined) return yield* Effect.die(new Error(`The name of an extension has a prefix: ${unnamed}`))
  const capabilities = {
    ...ServerRequests.capabilities(services),
    ...(experimental === undefined ? undefined : { experimental }),
    ...(options.extensions === undefined ? undefined : { extensions })
  }
  const answer = ServerRequests.make(services)
  const announce = announcer(options)
  const agreed = Deferred.makeUnsafe<Negotiation.Negotiated>()
  let negotiated: Negotiation.Negotiated | undefined
  let stateless: Stateless.Stateless | undefined
  const revision = () => negotiated?.revision ?? Revision.latestStateful

  const peer = yield* PeerModule.make(
    withoutUnanswerable(transport, () => negotiated?.revision.era === "stateless", options.dropped),
    {
      // A question may overtake the end of the handshake: it waits for it.
      request: ({ envelope: { relatedTo }, peer, request }) =>
        Effect.flatMap(Deferred.await(agreed), ({ revision, serverInfo: server }) =>
          // A stateless server asks in its results, and nowhere else: this one came before it was known as one.
          revision.era === "stateless"
            ? Effect.never
            : Effect.catchTag(
                answer(request, { revision, capabilities, server, relatedTo, hint: hintsOf(peer) }),
                "Refused",
                ({ error }) => Effect.fail(error)
              )
        ),
      immediate: ({ method }) => (method === "ping" ? {} : undefined),
      notification: (notification, { relatedTo }) => {
        if (stateless?.received(notification) !== true) announce(notification, revision(), relatedTo)
      },
      dropped: (reason) => options.dropped(reason, "Debug")
    },
    {
      unreadableId: () => revision().rules.unreadableId,
      batches: () => revision().rules.batches
    }
  )
  const { clientInfo, defaults, probeTimeout, revisions } = options
  const handshake = Negotiation.initialize(peer, { ...options, capabilities, timeout: defaults.timeout })
  const older = Negotiation.allowed(revisions).length > 0
  // Half of the time is left for the older handshake.
  const timeout = Duration.fromInputUnsafe(defaults.timeout)
  const patience = older
    ? Duration.min(Duration.fromInputUnsafe(probeTimeout), Duration.divideUnsafe(timeout, 2))
    : undefined
  const late = openingTimeout(transport, older ? "initialize" : "server/discover", timeout)
  const found = Discovery.probe(peer, { clientInfo, capabilities, revisions, timeout: defaults.timeout }).pipe(
    Discovery.orElse(handshake, patience)
  )
  const opened =
    transport.era === "stateful" && patience !== undefined
      ? // It may be another by now.
        Effect.catchIf(
          handshake,
          (error) => error._tag !== "Closed" || Discovery.isForeign(error),
          () => found
        )
      : found
  negotiated = yield* opened.pipe(
    // The probe and the handshake share the time that one request has.
    Effect.timeoutOrElse({ duration: timeout, orElse: () => late }),
    Effect.catchTag("Timeout", () => late),
    Effect.mapError(denied)
  )
  const agreement = negotiated
  const scope = yield* Scope.Scope
  const conversation = { revision: agreement.revision, capabilities, server: agreement.serverInfo }
  const era =
    agreement.revision.era === "stateful"
      ? Stateful.make(peer, agreement, defaults, scope)
      : (stateless = yield* Stateless.make({
          peer,
          negotiated: agreement,
          defaults,
          declared: { clientInfo, capabilities },
          answer: (question) => answer(question, conversation),
          maxRounds: options.maxRounds,
          cacheSize: options.cacheSize,
          cacheBytes: options.cacheBytes,
          policy: options.policy
        }))
  Deferred.doneUnsafe(agreed, Effect.succeed(agreement))
  if (transport.missed !== undefined) {
    yield* Effect.forkScoped(
      Stream.runForEach(transport.missed, () => Effect.sync(options.missed)),
      { startImmediately: true }
    )
  }

  const { changes } = services.roots ?? {}
  if (changes !== undefined && agreement.revision.era === "stateful") {
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
    ...agreement,
    ...era,
    peer,
    headers: transport.headers === true && agreement.revision.era === "stateless",
    ended: Effect.matchEffect(peer.awaitClosed, {
      onFailure: (cause) => Effect.succeed(new PeerModule.Closed({ message: cause.message, cause })),
      onSuccess: () => Effect.succeed(new PeerModule.Closed({ message: "The connection is closed" }))
    }),
    awaitClosed: peer.awaitClosed
  }
})

/**
 * Opens the wire too. If the conversation cannot begin, the wire is closed at once.
 *
 * Some servers of the older era leave when anything but the handshake comes first. A conversation that ends before it began is
 * therefore opened once more, and begins with the handshake then.
 */
export const open = <E, R>(
  connector: Effect.Effect<Transport.Transport, E, R>,
  options: Options
): Effect.Effect<Connection, Negotiation.NegotiationError | E, R | Scope.Scope> => {
  const stateful = Negotiation.allowed(options.revisions).map(({ version }) => version)
  const first = attempt(connector, options)
  return stateful.length === 0 || stateful.length === (options.revisions ?? Revision.all).length
    ? first
    : Effect.catchIf(
        first,
        (error: Negotiation.NegotiationError | E) => error instanceof PeerModule.Closed && leaves(error),
        () => attempt(connector, { ...options, revisions: stateful })
      )
}

/** Whether it may have been our first words that made the other side leave: not if it was never there, or said why. */
const leaves = ({ cause }: Closed): boolean =>
  cause === undefined || cause.reason === "Exited" || cause.reason === "Read" || cause.reason === "Write"

const attempt = <E, R>(
  connector: Effect.Effect<Transport.Transport, E, R>,
  options: Options
): Effect.Effect<Connection, Negotiation.NegotiationError | E, R | Scope.Scope> =>
  Effect.flatMap(
    Effect.flatMap(Scope.Scope, (parent) => Scope.fork(parent)),
    (scope) =>
      Effect.flatMap(Effect.mapError(connector, denied), (transport) => make(transport, options)).pipe(
        Scope.provide(scope),
        Effect.onExit((exit) => (Exit.isFailure(exit) ? Scope.close(scope, exit) : Effect.void))
      )
  )
