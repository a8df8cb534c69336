/** The requests of the other side that a peer is busy with. */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { McpError } from "@effect-mcp/protocol/McpError"
import type * as Fiber from "effect/Fiber"
import type { Exchange, Peer } from "./Peer.ts"
import type { Envelope, Sink } from "../transport/Transport.ts"

/** One inbound request, for live views. */
export interface InFlight {
  readonly id: JsonRpc.Id
  readonly method: string
  readonly state: "running" | "pending"
  /** Milliseconds since the epoch, by the Clock. */
  readonly since: number
}

/** Whose requests they are. */
export interface Registrar extends Peer {
  /** Counts the request among those that run, unless it is there already. */
  readonly register: (entry: Running) => void
}

/** A request, from its arrival to its answer. It is registered once a fiber runs for it, or it has to wait. */
export class Running implements Exchange {
  readonly request: JsonRpc.Request
  readonly envelope: Envelope
  readonly sink: Sink
  readonly peer: Registrar
  readonly stands: boolean
  cancelled = false
  registered = false
  /** When it came, once it has to wait for something. */
  since: number | undefined = undefined
  fiber: Fiber.Fiber<unknown, McpError> | undefined = undefined
  /** Why it was interrupted. `cancelled`: by its sender, who wants no answer. */
  ended: "cancelled" | { readonly reason: string } | undefined = undefined

  constructor(request: JsonRpc.Request, envelope: Envelope, sink: Sink, peer: Registrar, stands: boolean) {
    this.request = request
    this.envelope = envelope
    this.sink = sink
    this.peer = peer
    this.stands = stands
  }

  begun(): void {
    this.peer.register(this)
  }
}

export const view = (entries: Iterable<Running>, state: InFlight["state"], now: number): ReadonlyArray<InFlight> =>
  Array.from(entries, ({ request: { id, method }, since = now }) => ({ id, method, state, since }))
