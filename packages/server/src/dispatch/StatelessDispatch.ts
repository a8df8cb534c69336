/** Answers a request of a stateless revision without a session: what an HTTP endpoint calls for each POST. */
import { attempt, exitOf } from "@effect-mcp/core/internal/eager"
import * as Peer from "@effect-mcp/core/Peer"
import * as Principal from "@effect-mcp/core/Principal"
import * as TraceContext from "@effect-mcp/core/TraceContext"
import type { Envelope, Sink } from "@effect-mcp/core/Transport"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as McpError from "@effect-mcp/protocol/McpError"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as RateLimit from "../features/RateLimit.ts"
import { observed } from "./observed.ts"
import type { StatelessEra } from "./StatelessEra.ts"

export interface DispatchOptions {
  /** The network address of the client, which tells anonymous callers apart. */
  readonly address?: string | undefined
  /** Completes when the endpoint is about to stop: subscriptions then end with their result. Default never. */
  readonly closing?: Effect.Effect<void> | undefined
  /** Called when the request has passed all checks before its handler. */
  readonly admitted?: (() => void) | undefined
  /** The context of the fiber that runs the effect at once: a request that does not wait is then answered within the call. */
  readonly base?: Context.Context<never> | undefined
}

/**
 * Answers one request of a stateless revision, without a session. Interrupting the effect ends the request. Notifications go to the
 * sink, then the answer, which is sent in any case.
 */
export type Dispatch = (
  request: JsonRpc.Request,
  envelope: Envelope,
  sink: Sink,
  options?: DispatchOptions
) => Effect.Effect<void>

const answer = (sink: Sink, { id }: JsonRpc.Request, exit: Exit.Exit<unknown, McpError.McpError>): void => {
  const interrupted = Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
  Peer.answer(sink, Peer.response(id, interrupted ? "The request was interrupted" : undefined, exit))
}

export const make = (era: StatelessEra): Dispatch => {
  // Callers without a name and an address cannot be told apart: they share one budget.
  const { buckets }: RateLimit.Account = { buckets: [] }
  return (request, envelope, sink, { address, admitted, closing = Effect.never, base } = {}) => {
    const principal = envelope.principal ?? Principal.anonymous
    const origin = { principal, kept: 0, closing, admitted, buckets, address }
    const handle = (base?: Context.Context<never>) => era.handle(origin, { request, envelope, sink }, base)
    let effect: ReturnType<typeof handle> | undefined
    if (base !== undefined && !TraceContext.isTraced(base)) {
      effect = attempt(() => handle(base))
      const done = exitOf(effect)
      if (done !== undefined && Exit.isSuccess(done)) {
        answer(sink, request, done)
        return Effect.void
      }
    }
    return Effect.withFiber((fiber) =>
      observed(() => effect ?? handle(), request, TraceContext.isTraced(fiber.context))
    ).pipe(
      Effect.onExit((exit) => Effect.sync(() => answer(sink, request, exit))),
      Effect.exit,
      Effect.asVoid
    )
  }
}
