/**
 * The conversation of a session at a node that does not hold it: requests that need nothing of the other node run here, and their responses
 * are written here. What relates to no request leaves by the node that holds the session.
 */
import type { Principal } from "@effect-mcp/core/Principal"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { firstIdOf } from "./questionIds.ts"
import { type Config, HttpSession } from "./HttpSession.ts"
import { guestOf, nameIn } from "./StreamName.ts"

export interface Options {
  readonly id: string
  readonly principal: Principal["Service"]
  readonly address: string | undefined
  readonly config: Config
  /** That of the node that holds the session. */
  readonly epoch: number
}

export class GuestSession extends HttpSession {
  readonly isGuest = true
  readonly guest: number
  private readonly forward: (message: JsonRpc.Message) => void

  /** `forward` has the node that holds the session send a message to the client. */
  constructor(
    guest: number,
    forward: (message: JsonRpc.Message) => void,
    { address, config, epoch, id, principal }: Options
  ) {
    super(id, principal, address, config, epoch)
    this.guest = guest
    this.forward = forward
  }

  override get firstId(): number {
    return firstIdOf(this.guest)
  }

  override nameOf(stream: string): string {
    return nameIn(this.epoch, stream, this.guest)
  }

  override names(stream: string): boolean {
    return guestOf(stream) === this.guest
  }

  /** The node that holds the session keeps its record. */
  override get keep(): undefined {
    return undefined
  }

  override get ended(): undefined {
    return undefined
  }

  protected override sendAlone(message: JsonRpc.Message, relatedTo: JsonRpc.Id | undefined): void {
    if (JsonRpc.isRequest(message) && relatedTo !== undefined) this.unanswered(message.id, true)
    else this.forward(message)
  }
}
