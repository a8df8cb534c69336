/**
 * Runs a program's handlers, plain or async functions, as effects of the request.
 *
 * Owns the rule for errors: only the message of a thrown error is sent, as a failed result for a tool and as error -32603 otherwise. An
 * `McpError` is sent unchanged. If the request is interrupted, the handler's signal aborts and the handler is abandoned after `cancelGrace`.
 */
import * as CancelReason from "@effect-mcp/core/CancelReason"
import type { CapabilityMissing } from "@effect-mcp/core/ClientInput"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import type * as Wire from "@effect-mcp/protocol/McpError"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { isThenable } from "../boundary.ts"
import { messageOf, missingCapability, wireOf } from "../ErrorTranslation.ts"
import type { ErrorPlace } from "./Context.ts"
import { type OnError, report } from "./report.ts"
import { Request } from "./Request.ts"

/** Settings shared by all handlers of a server. */
export interface Rules {
  /** How long to wait for a handler after its request is cancelled, in milliseconds. */
  readonly cancelGrace: number
  readonly onError: OnError
}

/** Settings of one feature's handlers. `fail` creates a failure from a message. */
export interface Runner<E> {
  readonly rules: Rules
  readonly place: ErrorPlace
  readonly fail: (message: string) => E
}

type Failure<E> = E | CapabilityMissing | Wire.McpError

/** Reports a thrown value and converts it to the handler's failure. */
export const failureOf = <E>({ fail, place, rules }: Runner<E>, thrown: unknown): Exit.Exit<never, Failure<E>> => {
  report(rules.onError, thrown, place)
  return Exit.fail(wireOf(thrown) ?? missingCapability(thrown) ?? fail(messageOf(thrown)))
}

/** Runs a handler in its request. Completes synchronously if the handler does not return a promise. */
export const run = <A, E>(
  runner: Runner<E>,
  handler: (request: Request) => A | PromiseLike<A>
): Effect.Effect<A, Failure<E>, RequestServices> =>
  Effect.contextWith((context: Parameters<typeof Request.of>[0]) => {
    const request = Request.of(context)
    try {
      const result = handler(request)
      if (isThenable(result)) return settled(result, request, runner)
      request.end()
      return Exit.succeed(result)
    } catch (thrown) {
      request.end()
      return failureOf(runner, thrown)
    }
  })

const settled = <A, E>(promise: PromiseLike<A>, request: Request, runner: Runner<E>): Effect.Effect<A, Failure<E>> => {
  let onEnd = (): void => request.end()
  const result = Effect.callback<A, Failure<E>>((resume) => {
    Promise.resolve(promise).then(
      (value) => {
        onEnd()
        resume(Exit.succeed(value))
      },
      (thrown: unknown) => {
        onEnd()
        if (!request.aborted) resume(failureOf(runner, thrown))
      }
    )
  })
  const ended = Effect.callback<void>((resume) => {
    onEnd = () => resume(Effect.void)
  })
  return Effect.onExit(result, (exit) => {
    if (Exit.isSuccess(exit) || !Cause.hasInterrupts(exit.cause)) return Effect.void
    // A handler that waits for an answer from another round never ends.
    const { suspended } = request
    request.abort(CancelReason.of(exit.cause) ?? "The request is over")
    return suspended ? Effect.void : Effect.asVoid(Effect.timeoutOption(ended, runner.rules.cancelGrace))
  })
}
