/** A request of the other side, from its arrival to its answer. */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { McpError } from "@effect-mcp/protocol/McpError"
import type * as Fiber from "effect/Fiber"
import type { Envelope, Sink } from "../transport/Transport.ts"
import type { Exchange, InFlight, Peer } from "./types.ts"

/** Where the requests in flight are counted. */
export interface Registry {
  /** Counts the request among those that run. Does nothing when it is there already. */
  readonly register: (request: InboundRequest) => void
}

/** It is registered once a fiber runs for it, or once it has to wait. */
export class InboundRequest implements Exchange {
  readonly request: JsonRpc.Request
  readonly envelope: Envelope
  readonly sink: Sink
  readonly peer: Peer
  readonly isSubscription: boolean
  cancelled = false
  registered = false
  /** When it came, once it has to wait. */
  since: number | undefined = undefined
  fiber: Fiber.Fiber<unknown, McpError> | undefined = undefined
  /** Why it was interrupted. `cancelled`: by its sender, so it is not answered. */
  ended: "cancelled" | { readonly reason: string } | undefined = undefined
  private readonly registry: Registry

  constructor(
    request: JsonRpc.Request,
    envelope: Envelope,
    sink: Sink,
    peer: Peer,
    registry: Registry,
    isSubscription: boolean
  ) {
    this.request = request
    this.envelope = envelope
    this.sink = sink
    this.peer = peer
    this.registry = registry
    this.isSubscription = isSubscription
  }

  onFork(): void {
    this.registry.register(this)
  }
}

export const view = (
  requests: Iterable<InboundRequest>,
  state: InFlight["state"],
  now: number
): ReadonlyArray<InFlight> =>
  Array.from(requests, ({ request: { id, method }, since = now }) => ({ id, method, state, since }))
