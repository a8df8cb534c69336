/** A request from the other peer, from its arrival to its response. */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { McpError } from "@effect-mcp/protocol/McpError"
import type { ProgressParams } from "@effect-mcp/protocol/model/Progress"
import type * as Fiber from "effect/Fiber"
import type { Envelope, Sink } from "../transport/Transport.ts"
import type { Exchange, InFlightState, OpenRequest, Peer } from "./types.ts"

/** Registered before its fiber starts. A request that completes immediately is never registered. */
export class InboundRequest implements Exchange, OpenRequest {
  readonly request: JsonRpc.Request
  readonly envelope: Envelope
  sink: Sink
  readonly peer: Peer
  readonly isSubscription: boolean
  cancelled = false
  registered = false
  /** Size in characters of JSON. Only set if the request has to wait for a permit. */
  size = 0
  /** When the request arrived. Only set if it has to wait. */
  since: number | undefined = undefined
  fiber: Fiber.Fiber<unknown, McpError> | undefined = undefined
  /** Only set if the peer is observed. */
  arrived = 0
  waited = 0
  /** Why the request was interrupted. `cancelled` means that its sender cancelled it, so no response is sent. */
  ended: "cancelled" | { readonly reason: string } | undefined = undefined
  progress: ProgressParams | undefined = undefined
  asked = 0
  interrupted: string | undefined = undefined

  constructor(request: JsonRpc.Request, envelope: Envelope, sink: Sink, peer: Peer, isSubscription: boolean) {
    this.request = request
    this.envelope = envelope
    this.sink = sink
    this.peer = peer
    this.isSubscription = isSubscription
  }

  get state(): InFlightState {
    if (this.ended !== undefined) return "ending"
    return this.registered ? "running" : "pending"
  }
}
