/**
 * Runs a program's handlers, which are plain or async functions, as effects of their request.
 *
 * Decides how errors are reported. Only the message of a thrown error is sent: as a failed result for a tool, and as error -32603
 * otherwise. An `McpError` is sent as it is. If the request is interrupted, the handler's signal aborts, and the handler is abandoned after
 * `cancelGrace`.
 */
import * as CancelReason from "@effect-mcp/core/CancelReason"
import type { CapabilityMissing } from "@effect-mcp/core/ClientInput"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import type * as Wire from "@effect-mcp/protocol/McpError"
import { isSuspension } from "@effect-mcp/server/internal/Replay"
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

/**
 * Runs a handler in its request and converts its value with `into`. Completes synchronously if the handler does not return a promise.
 */
export const run = <A, E, B>(
  runner: Runner<E>,
  handler: (request: Request) => A | PromiseLike<A>,
  into: (value: A) => B
): Effect.Effect<B, Failure<E>, RequestServices> =>
  Effect.contextWith((context: Parameters<typeof Request.of>[0]) => {
    const request = Request.of(context)
    try {
      const result = handler(request)
      if (isThenable(result)) return settled(result, request, runner, into)
      request.end()
      return Exit.succeed(into(result))
    } catch (thrown) {
      request.end()
      return failureOf(runner, thrown)
    }
  })

/** Returns the reason of the handler's signal: a `TimeoutError` for the tool's time limit, an `AbortError` otherwise. */
const abortReason = (cause: Cause.Cause<unknown>): DOMException =>
  new DOMException(
    CancelReason.of(cause) ?? "The request was cancelled without a reason, or its connection closed",
    CancelReason.isTimeLimit(cause) ? "TimeoutError" : "AbortError"
  )

const settled = <A, E, B>(
  promise: PromiseLike<A>,
  request: Request,
  runner: Runner<E>,
  into: (value: A) => B
): Effect.Effect<B, Failure<E>> => {
  let onEnd = (): void => request.end()
  const result = Effect.callback<B, Failure<E>>((resume) => {
    const failed = (thrown: unknown): void => {
      onEnd()
      if (!request.aborted) resume(failureOf(runner, thrown))
    }
    Promise.resolve(promise).then((value) => {
      let converted: B
      try {
        converted = into(value)
      } catch (thrown) {
        return failed(thrown)
      }
      onEnd()
      resume(Exit.succeed(converted))
    }, failed)
  })
  return Effect.onExitPrimitive(result, (exit) => {
    if (Exit.isSuccess(exit) || !Cause.hasInterrupts(exit.cause)) return undefined
    request.abort(abortReason(exit.cause), isSuspension(exit.cause))
    // A handler that waits for an answer from another run never ends.
    if (request.suspended) return undefined
    const ended = Effect.callback<void>((resume) => {
      onEnd = () => resume(Effect.void)
    })
    return Effect.asVoid(Effect.timeoutOption(ended, runner.rules.cancelGrace))
  })
}
