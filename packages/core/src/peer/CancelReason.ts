/**
 * The reason of a cancellation (spec: basic/patterns/cancellation): an annotation of the interruption, so that it reaches the finalizers of
 * a handler and the requests that the handler waits for.
 */
import { beginning } from "@effect-mcp/protocol/Excerpt"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"

/** The key of the annotation. */
export class CancelReason extends Context.Service<CancelReason, string>()("@effect-mcp/core/CancelReason") {}

/**
 * The annotation to interrupt a fiber with.
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
 * The reason of an interruption, cut at 200 characters; undefined where it has none. It may be a text of the other side: `excerpt` makes
 * it fit for a log or a terminal.
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
