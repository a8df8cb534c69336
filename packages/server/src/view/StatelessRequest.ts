/** A stateless request, from its arrival until its response. */
import * as CancelReason from "@effect-mcp/core/CancelReason"
import type { InFlightState, OpenRequest } from "@effect-mcp/core/Peer"
import type { Principal } from "@effect-mcp/core/Principal"
import type { Envelope, Sink } from "@effect-mcp/core/Transport"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import type { ProgressParams } from "@effect-mcp/protocol/model/Progress"
import type * as Fiber from "effect/Fiber"

export class StatelessRequest implements OpenRequest {
  readonly request: JsonRpc.Request
  readonly envelope: Envelope
  readonly sink: Sink
  readonly principal: Principal["Service"]
  /** Transport kind. */
  readonly kind: string | undefined
  private readonly isGivenUp: (() => boolean) | undefined
  progress: ProgressParams | undefined = undefined
  asked = 0
  /** When it arrived, if the server has an observer. */
  arrived = 0
  /** Set once a fiber is running for it. */
  since: number | undefined = undefined
  fiber: Fiber.Fiber<unknown, unknown> | undefined = undefined
  /** Why the server interrupted it. */
  reason: string | undefined = undefined
  interrupted: string | undefined = undefined

  constructor(
    request: JsonRpc.Request,
    envelope: Envelope,
    sink: Sink,
    principal: Principal["Service"],
    kind: string | undefined,
    isGivenUp: (() => boolean) | undefined
  ) {
    this.request = request
    this.envelope = envelope
    this.sink = sink
    this.principal = principal
    this.kind = kind
    this.isGivenUp = isGivenUp
  }

  get isSubscription(): boolean {
    return MethodInfo.ofRequest(this.request.method)?.subscription === true
  }

  get state(): InFlightState {
    return this.reason === undefined && this.isGivenUp?.() !== true ? "running" : "ending"
  }

  /** Interrupts the request. Only the first reason is kept. */
  interrupt(reason: string): void {
    if (this.reason !== undefined) return
    this.reason = reason
    this.fiber?.interruptUnsafe(undefined, CancelReason.annotation(reason))
  }
}
