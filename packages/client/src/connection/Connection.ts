/**
 * A negotiated conversation with one server over one transport: sends typed requests and receives decoded notifications.
 *
 * Calls, lists and watches use `ReconnectingConnection`, which consists of one or more connections. Requests for features that the server
 * did not declare are rejected before they are sent.
 */
import { Spans } from "@effect-mcp/core/internal/peers"
import type { Closed, Peer } from "@effect-mcp/core/Peer"
import * as PeerModule from "@effect-mcp/core/Peer"
import * as TraceContext from "@effect-mcp/core/TraceContext"
import type { Transport, TransportError } from "@effect-mcp/core/Transport"
import type { ClientCapabilities } from "@effect-mcp/protocol/Capabilities"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { isExtensionId } from "@effect-mcp/protocol/model/Meta"
import { earlyNotifications, stateful as Stateful } from "@effect-mcp/protocol/internal/eras"
import * as Revision from "@effect-mcp/protocol/Revision"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { RetryPolicy } from "./Backoff.ts"
import type { Defaults } from "../CallOptions.ts"
import { denied } from "../ClientError.ts"
import { allowed } from "./allowed.ts"
import * as Discovery from "./Discovery.ts"
import type { EraRequests } from "./Era.ts"
import * as ServerMessages from "./ServerMessages.ts"
import type { AnswerQuestion, ClientHost, ObservedOpening } from "./ClientHost.ts"
import * as StatefulEra from "./StatefulEra.ts"
import * as Stateless from "./StatelessEra.ts"
import type { Agreement, InUse } from "../extension/InUse.ts"
import * as Negotiation from "./Negotiation.ts"

export interface Connection extends Negotiation.Negotiated, EraRequests {
  readonly peer: Peer
  /** True if call arguments are also sent as headers. */
  readonly headers: boolean
  /** Completes when the conversation has ended for any reason. */
  readonly ended: Effect.Effect<Closed>
  readonly awaitClosed: Effect.Effect<void, TransportError>
}

export interface Options extends Omit<Negotiation.Options, "capabilities" | "timeout">, ServerMessages.Options {
  readonly defaults: Defaults
  readonly host: ClientHost
  readonly agreement: Agreement
  readonly experimental: Negotiation.Options["capabilities"]["experimental"]
  readonly extensions: Negotiation.Options["capabilities"]["extensions"]
  /** Replaces both in a revision. */
  readonly declaredIn:
    | ((revision: Revision.Revision) => Pick<ClientCapabilities, "experimental" | "extensions">)
    | undefined
  /** How long a server may take to answer the probe before the older handshake is tried as well. */
  readonly probeTimeout: Duration.Input
  /** Maximum rounds of questions in one request (2026-07-28). */
  readonly maxRounds: number | undefined
  /** Maximum number of cached results (2026-07-28). */
  readonly cacheSize: number | undefined
  /** Maximum total size of cached results in bytes. */
  readonly cacheBytes: number | undefined
  /** When to resend a message that did not reach the server. */
  readonly policy: RetryPolicy | undefined
  /** Called when a notification may have been lost. */
  readonly missed: () => void
}

/** Sends notifications that may be lost. Sends none while the transport is full. */
const hintsOf =
  (peer: Peer) =>
  (method: string, params: JsonRpc.Params): void => {
    if (peer.sink.writable()) peer.notify(method, params)
  }

const shown = (timeout: Duration.Duration): string => {
  const millis = Duration.toMillis(timeout)
  return millis < 1000 ? `${millis}ms` : `${millis / 1000}s`
}

const openingTimeout = (
  { address = "The server" }: Transport,
  method: string,
  timeout: Duration.Duration
): Effect.Effect<never, PeerModule.Timeout> =>
  Effect.fail(
    new PeerModule.Timeout({
      method,
      message:
        `${address} did not respond to ${method} within ${shown(timeout)}. ` +
        "Check that it is an MCP server and that it has started, or increase `timeout`."
    })
  )

/** Facts about a conversation that become known while it is being opened. */
interface Opening {
  /** Capabilities that every revision has. `declared` adds the extensions. */
  readonly capabilities: ClientCapabilities
  readonly declared: (revision: Revision.Revision) => ClientCapabilities
  /** Answers a request from the server. */
  readonly answer: AnswerQuestion
  readonly agreed: Deferred.Deferred<Negotiation.Negotiated>
  negotiated: Negotiation.Negotiated | undefined
  inUse: InUse | undefined
  readonly observed: ObservedOpening | undefined
  /** Set if the server belongs to the stateless era. */
  stateless: Stateless.Stateless | undefined
}

const capabilitiesOf = ({ experimental, extensions, host }: Options): Effect.Effect<ClientCapabilities> => {
  const withoutPrefix = Object.keys(extensions ?? {}).find((id) => !isExtensionId(id))
  if (withoutPrefix !== undefined) {
    // A defect, because the program chose the name (spec 2026-07-28: basic/versioning, extension negotiation).
    return Effect.die(new Error(`An extension name must have a prefix: ${withoutPrefix}`))
  }
  return Effect.succeed({
    ...host.capabilities,
    ...(experimental === undefined ? undefined : { experimental }),
    ...(extensions === undefined ? undefined : { extensions })
  })
}

/** Runs each answer in a span if there is a tracer. */
const inSpans =
  (answer: AnswerQuestion): AnswerQuestion =>
  (request, conversation) =>
    Spans.server(answer(request, conversation), request, () => ({ revision: conversation.revision.version }))

/** Starts the reader, which answers and announces from now on. */
const makePeer = Effect.fnUntraced(function* (
  transport: Transport,
  options: Options,
  opening: Opening
): Effect.fn.Return<Peer, never, Scope.Scope> {
  const { agreed, answer, capabilities } = opening
  const context = yield* Effect.context<never>()
  const traced = TraceContext.isTraced(context) ? Effect.runForkWith(context) : undefined
  const announce = ServerMessages.announcer(options)
  const revision = () => opening.negotiated?.revision
  const rules = () => revision()?.rules ?? Stateful.rules
  const surroundings = () => ({ revision: revision()?.version ?? Stateful.latest })
  // A client that supports no older revision never answers requests from such a server.
  const speaksOlder = allowed(options.revisions).length > 0
  const isMute = () =>
    opening.negotiated === undefined ? !speaksOlder : opening.negotiated.revision.era === "stateless"
  return yield* PeerModule.make(
    ServerMessages.withoutUnanswerable(transport, isMute, options.dropped),
    {
      // A question may arrive before the handshake has ended, and then waits for it.
      request: ({ envelope: { relatedTo }, peer, request }) =>
        Effect.flatMap(Deferred.await(agreed), ({ revision, serverInfo: server }) =>
          // A stateless server sends no requests. This one arrived before the era was known.
          revision.era === "stateless"
            ? Effect.never
            : Effect.catchTag(
                answer(request, {
                  revision,
                  capabilities,
                  server,
                  relatedTo,
                  hint: hintsOf(peer),
                  inUse: opening.inUse
                }),
                "Refused",
                ({ error }) => Effect.fail(error)
              )
        ),
      immediate: ({ method }) => (method === "ping" ? {} : undefined),
      notification: (notification, { relatedTo }) => {
        traced?.(Spans.server(Effect.void, notification, surroundings))
        if (opening.stateless?.received(notification) !== true)
          announce(notification, revision()?.serverNotifications ?? earlyNotifications, opening.inUse, relatedTo)
      },
      dropped: (reason) => options.dropped(reason, "Debug"),
      tracing: traced && context,
      surroundings,
      observer: opening.observed?.observer
    },
    {
      unreadableId: () => rules().unreadableId,
      batches: () => rules().batches
    }
  )
})

/** Negotiates a revision, with the stateless probe or the older handshake, within the time limit for one request. */
const negotiate = (
  transport: Transport,
  peer: Peer,
  options: Options,
  capabilities: Opening["declared"]
): Effect.Effect<Negotiation.Negotiated, Negotiation.NegotiationError> => {
  const { clientInfo, defaults, openingMeta, probeTimeout, revisions } = options
  const handshake = Effect.suspend(() =>
    Negotiation.initialize(peer, {
      ...options,
      capabilities: capabilities(Revision.latestStateful),
      timeout: defaults.timeout
    })
  )
  const speaksOlder = allowed(revisions).length > 0
  const timeout = Duration.fromInputUnsafe(defaults.timeout)
  // Leaves half of the time for the older handshake.
  const timeoutOfProbe = speaksOlder
    ? Duration.min(Duration.fromInputUnsafe(probeTimeout), Duration.divideUnsafe(timeout, 2))
    : undefined
  const late = openingTimeout(transport, speaksOlder ? "initialize" : "server/discover", timeout)
  const found = Discovery.probe(peer, {
    clientInfo,
    capabilities,
    openingMeta,
    revisions,
    timeout: defaults.timeout
  }).pipe(Discovery.orElse(handshake, timeoutOfProbe))
  const negotiated =
    transport.era === "stateful" && speaksOlder
      ? // The era is remembered from an earlier connection, and the server may have changed since then.
        Effect.catchIf(
          handshake,
          (error) => error._tag !== "Closed" || Discovery.isForeign(error),
          () => found
        )
      : found
  return negotiated.pipe(
    // The probe and the handshake share the time limit for one request.
    Effect.timeoutOrElse({ duration: timeout, orElse: () => late }),
    Effect.catchTag("Timeout", () => late),
    Effect.mapError(denied)
  )
}

/** Creates the requests for the negotiated era. */
const makeEra = Effect.fnUntraced(function* (
  peer: Peer,
  negotiated: Negotiation.Negotiated,
  options: Options,
  opening: Opening
): Effect.fn.Return<EraRequests, Negotiation.NegotiationError, Scope.Scope> {
  const { cacheBytes, cacheSize, clientInfo, defaults, dropped, maxRounds, policy } = options
  const { capabilities, declared, inUse } = opening
  const { revision, serverInfo: server } = negotiated
  const answer = (question: JsonRpc.Request) => opening.answer(question, { revision, capabilities, server, inUse })
  if (revision.era === "stateful") {
    return StatefulEra.make({ peer, negotiated, defaults, answer, inUse, dropped, scope: yield* Scope.Scope })
  }
  opening.stateless = yield* Stateless.make({
    peer,
    negotiated,
    defaults,
    declared: { clientInfo, capabilities: declared(revision) },
    answer,
    inUse,
    maxRounds,
    cacheSize,
    cacheBytes,
    policy,
    dropped
  })
  return opening.stateless
})

/** Reports gaps in the server's notifications, and announces changes to the client's own roots. */
const followChanges = Effect.fnUntraced(function* (
  { missed: gaps }: Transport,
  peer: Peer,
  { host, missed }: Options,
  { revision }: Negotiation.Negotiated
): Effect.fn.Return<void, never, Scope.Scope> {
  const follow = (changes: Stream.Stream<unknown>, announce: Effect.Effect<void>) =>
    Effect.forkScoped(
      Stream.runForEach(changes, () => announce),
      { startImmediately: true }
    )
  if (gaps !== undefined) yield* follow(gaps, Effect.sync(missed))
  const { rootChanges: changes } = host
  if (changes === undefined || revision.era !== "stateful") return
  const announce = Effect.sync(() => peer.notify("notifications/roots/list_changed"))
  yield* follow(changes, Effect.andThen(peer.sink.ready, announce))
})

/** Opens the conversation over a transport: starts the reader in the scope, then negotiates. */
export const make = Effect.fnUntraced(function* (
  transport: Transport,
  options: Options
): Effect.fn.Return<Connection, Negotiation.NegotiationError, Scope.Scope> {
  const capabilities = yield* capabilitiesOf(options)
  const { agreement, host } = options
  const observed = host.observe(transport, yield* Clock.Clock)
  const opening: Opening = {
    capabilities,
    declared: (revision) => agreement.declare({ ...capabilities, ...options.declaredIn?.(revision) }, revision),
    answer: inSpans(host.answer),
    agreed: Deferred.makeUnsafe(),
    negotiated: undefined,
    inUse: undefined,
    observed,
    stateless: undefined
  }
  const bare = yield* makePeer(transport, options, opening)
  const peer = host.aroundPeer(bare)
  if (observed !== undefined) observed.peer = bare
  const negotiated = yield* negotiate(transport, peer, options, opening.declared)
  opening.negotiated = negotiated
  if (observed !== undefined) observed.negotiated = negotiated
  opening.inUse = agreement.inUse(negotiated)
  const era = yield* makeEra(peer, negotiated, options, opening)
  Deferred.doneUnsafe(opening.agreed, Effect.succeed(negotiated))
  if (observed !== undefined) yield* observed.opened
  yield* followChanges(transport, peer, options, negotiated)
  return {
    ...negotiated,
    ...era,
    peer,
    headers: transport.headers === true && negotiated.revision.era === "stateless",
    ended: Effect.matchEffect(peer.awaitClosed, {
      onFailure: (cause) => Effect.succeed(new PeerModule.Closed({ message: cause.message, cause })),
      onSuccess: () => Effect.succeed(new PeerModule.Closed({ message: "The connection is closed" }))
    }),
    awaitClosed: peer.awaitClosed
  }
})

/**
 * Opens the transport and the conversation. If the negotiation fails, the transport is closed at once.
 *
 * Some older servers close the connection unless the handshake is the first message. Therefore a conversation that ends before
 * it is negotiated is opened once more, with the handshake first.
 */
export const open = <E, R>(
  connector: Effect.Effect<Transport, E, R>,
  options: Options
): Effect.Effect<Connection, Negotiation.NegotiationError | E, R | Scope.Scope> => {
  const stateful = allowed(options.revisions)
  const first = attempt(connector, options)
  return stateful.length === 0 || stateful.length === options.revisions?.length
    ? first
    : Effect.catchIf(
        first,
        (error: Negotiation.NegotiationError | E) => error instanceof PeerModule.Closed && mayBeRejected(error),
        () => attempt(connector, { ...options, revisions: stateful })
      )
}

/**
 * True if the first message may have caused the server to close the connection. False if it was never open or closed for another reason.
 */
const mayBeRejected = ({ cause }: Closed): boolean =>
  cause === undefined || cause.reason === "Exited" || cause.reason === "Read" || cause.reason === "Write"

const attempt = <E, R>(
  connector: Effect.Effect<Transport, E, R>,
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
