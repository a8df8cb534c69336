/** Tasks that expire while they run here: each is told once, though its lease may be lost and its end be refused in the same moment. */
import * as Effect from "effect/Effect"
import type { Journal, Lease, Lost } from "../store/Journal.ts"

/** `settle` and `lost` of a journal that run `tell` for a lease whose task has expired. */
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
