/**
 * Why a request is cancelled (spec: basic/patterns/cancellation, `reason`): an annotation of the interruption, so that it reaches the
 * finalizers of a handler and the requests that the handler waits for.
 */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"

export class CancelReason extends Context.Service<CancelReason, string>()("@effect-mcp/core/CancelReason") {}

/** The annotation to interrupt a fiber with: `fiber.interruptUnsafe(undefined, annotation("No longer needed"))`. */
export const annotation = (reason: string): Context.Context<never> => Context.make(CancelReason, reason)

/** The reason that an interruption was given, cut at 200 characters. Nothing where it has none. */
export const of = (cause: Cause.Cause<unknown>): string | undefined => {
  for (const reason of cause.reasons) {
    const text: unknown = Cause.isInterruptReason(reason) ? reason.annotations.get(CancelReason.key) : undefined
    if (typeof text === "string") return excerpt(text)
  }
  return undefined
}
