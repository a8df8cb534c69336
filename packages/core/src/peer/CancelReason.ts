/**
 * The reason for a cancellation (spec: basic/patterns/cancellation). It is attached to the interruption as an annotation, so that the
 * handler's finalizers and the requests the handler is waiting for can read it.
 */
import { beginning } from "@effect-mcp/protocol/Excerpt"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"

/** Annotation key. */
export class CancelReason extends Context.Service<CancelReason, string>()("@effect-mcp/core/CancelReason") {}

/** Marks the interruption of a call that has reached its time limit. */
export class TimeLimit extends Context.Service<TimeLimit, true>()("@effect-mcp/core/CancelReason/TimeLimit") {}

/** Annotation to interrupt a call with that has reached its time limit. */
export const timeLimit: Context.Context<never> = Context.make(TimeLimit, true).pipe(
  Context.add(CancelReason, "The call has reached its time limit")
)

/** True if a call was interrupted because it reached its time limit. */
export const isTimeLimit = (cause: Cause.Cause<unknown>): boolean =>
  cause.reasons.some((reason) => Cause.isInterruptReason(reason) && reason.annotations.has(TimeLimit.key))

/**
 * Returns an annotation to interrupt a fiber with.
 *
 * @example
 * ```ts
 * import { CancelReason } from "@effect-mcp/core"
 * import type { Fiber } from "effect"
 *
 * export const abandon = (call: Fiber.Fiber<unknown, unknown>) =>
 *   call.interruptUnsafe(undefined, CancelReason.annotation("The window was closed"))
 * ```
 */
export const annotation = (reason: string): Context.Context<never> => Context.make(CancelReason, reason)

/**
 * Returns the reason for an interruption, truncated to 200 characters, or `undefined` if there is no reason. The text may come from the
 * other peer, so pass it through `excerpt` before you write it to a log or terminal.
 *
 * @example
 * ```ts
 * import { CancelReason } from "@effect-mcp/core"
 * import { excerpt } from "@effect-mcp/protocol/Excerpt"
 * import { Effect } from "effect"
 *
 * declare const work: Effect.Effect<string>
 *
 * export const noted = Effect.suspend(() =>
 *   Effect.onExit(work, (exit) =>
 *     exit._tag === "Failure" ? Effect.logInfo(excerpt(CancelReason.of(exit.cause) ?? "No reason")) : Effect.void
 *   )
 * )
 * ```
 */
export const of = (cause: Cause.Cause<unknown>): string | undefined => {
  for (const reason of cause.reasons) {
    const text: unknown = Cause.isInterruptReason(reason) ? reason.annotations.get(CancelReason.key) : undefined
    if (typeof text === "string") return beginning(text)
  }
  return undefined
}
