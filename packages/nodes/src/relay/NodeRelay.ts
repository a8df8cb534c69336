/** A relay, and what the directory tells it of the nodes that it asks. */
import { exitOf } from "@effect-mcp/core/internal/eager"
import { RelayError, type Relay, type RelayedRequest, type RelayEndpoint } from "@effect-mcp/server/Nodes"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { NodeId } from "./NodeId.ts"

export interface NodeRelay extends Relay {
  /** Called with the name of this node: requests to another name, which an earlier lease had, are not answered. */
  readonly named: (node: NodeId) => void
  /** The nodes that have not answered a request whole. */
  readonly asked: () => Iterable<NodeId>
  /** Whether the node has said that it leaves: it has answered all that it read. */
  readonly hasLeft: (node: NodeId) => boolean
  /** Ends the requests to a node whose lease has ended. */
  readonly cut: (node: NodeId) => void
}

const notHere = Effect.fail(new RelayError({ reason: "NotSent", message: "The node does not hold the session" }))

/** Asks those endpoints of the request's server one after the other until one has the session. */
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
