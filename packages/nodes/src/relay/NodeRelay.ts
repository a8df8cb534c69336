/** A relay, with hooks for the directory about the nodes that have open requests. */
import { exitOf } from "@effect-mcp/core/internal/calling"
import { RelayError, type Relay, type RelayedRequest, type RelayEndpoint } from "@effect-mcp/server/Nodes"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { NodeId } from "./NodeId.ts"

export interface NodeRelay extends Relay {
  /** Called with this node's name. Requests addressed to a name from an earlier lease are not handled. */
  readonly named: (node: NodeId) => void
  /** Returns the nodes that still owe a complete response. */
  readonly asked: () => Iterable<NodeId>
  /** True if the node has announced that it is leaving. It still responds to everything it has read. */
  readonly hasLeft: (node: NodeId) => boolean
  /** Ends the requests sent to a node whose lease has ended. */
  readonly cut: (node: NodeId) => void
  /** Stops reading requests, and completes when all responses have been written, or after a time limit. */
  readonly leave: Effect.Effect<void>
}

const notHere = Effect.fail(new RelayError({ reason: "NotSent", message: "The other node does not hold this session" }))

/** Asks the endpoints of the request's server, one after another, until one of them has the session. */
export const askedOf = (
  endpoints: Iterable<RelayEndpoint>,
  request: RelayedRequest
): ReturnType<RelayEndpoint["answer"]> => {
  const asked = ([first, ...rest]: ReadonlyArray<RelayEndpoint>): ReturnType<RelayEndpoint["answer"]> => {
    if (first === undefined) return notHere
    const answer = first.answer(request)
    const done = exitOf(answer)
    if (done !== undefined && Exit.isSuccess(done)) return answer
    return Effect.catch(answer, (error) => (error.reason === "NotSent" ? asked(rest) : Effect.fail(error)))
  }
  return asked([...endpoints].filter(({ server }) => server === request.server))
}
