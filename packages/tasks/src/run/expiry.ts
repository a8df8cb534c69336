/** Reports each task that expires while running here exactly once, even if its lease is lost and its end is rejected at the same moment. */
import * as Effect from "effect/Effect"
import type { Journal, Lease, Lost } from "../store/Journal.ts"

/** Wraps a journal's `settle` and `lost` so that they run `tell` for a lease whose task has expired. */
export const tellingExpiry = (
  journal: Journal["Service"],
  tell: (lease: Lease) => void
): Pick<Journal["Service"], "settle" | "lost"> => {
  const told = new WeakSet<Lease>()
  const once = (lease: Lease, reason: Lost["reason"]): void => {
    if (reason !== "expired" || told.has(lease)) return
    told.add(lease)
    tell(lease)
  }
  return {
    settle: (lease, outcome, message) =>
      Effect.tapError(journal.settle(lease, outcome, message), ({ reason }) => Effect.sync(() => once(lease, reason))),
    lost: (lease) => Effect.tap(journal.lost(lease), ({ reason }) => Effect.sync(() => once(lease, reason)))
  }
}
