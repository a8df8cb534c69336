/** Reports to an observer when requests end, with or without a session. Only loaded if there is an observer. */
import type { Observer as PeerObserver, Peer, ReceivedEnd, RequestError, SentEnd } from "@effect-mcp/core/Peer"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { McpError } from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import type * as Exit from "effect/Exit"
import { metaOf } from "../request/RequestServices.ts"
import type { Session } from "../session/Session.ts"
import type { Observer, RequestEnd } from "./Observer.ts"
import type { StatelessRequest } from "./StatelessRequest.ts"

/** Returns the revision that a stateless message names. */
const declaredIn = (request: JsonRpc.Request): string | undefined => {
  const { [Meta.protocolVersion]: version } = metaOf(request)
  return typeof version === "string" ? version : undefined
}

/** Observes one session's peer. */
export class SessionObserver implements PeerObserver {
  readonly now: () => number
  private readonly observer: Observer
  readonly sessions: { readonly sessionOf: (peer: Peer) => Session }

  constructor(observer: Observer, now: () => number, sessions: SessionObserver["sessions"]) {
    this.observer = observer
    this.now = now
    this.sessions = sessions
  }

  received(end: ReceivedEnd, exit: Exit.Exit<unknown, McpError>, peer: Peer): void {
    const { arrived, envelope, request, waited } = end
    const { observer } = this
    if (observer.request === undefined) return
    const session = this.sessions.sessionOf(peer)
    observer.request(
      {
        request,
        envelope,
        arrived,
        waited,
        principal: envelope.principal ?? session.principal,
        session,
        transport: session.kind,
        revision: session.negotiated?.revision.version ?? declaredIn(request),
        duration: this.now() - arrived,
        interrupted: end.interrupted
      },
      exit
    )
  }

  sent({ began, method, params }: SentEnd, exit: Exit.Exit<unknown, RequestError>, peer: Peer): void {
    const duration = this.now() - began
    this.observer.question?.({ began, method, params, session: this.sessions.sessionOf(peer), duration }, exit)
  }
}

/** Describes the end of a request without a session. */
export const statelessEnd = (received: StatelessRequest, arrived: number, now: number): RequestEnd => {
  const { envelope, kind, principal, request } = received
  return {
    request,
    envelope,
    arrived,
    waited: 0,
    principal,
    session: undefined,
    transport: kind,
    revision: declaredIn(request),
    duration: now - arrived,
    interrupted: received.interrupted
  }
}
