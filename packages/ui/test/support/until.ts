import { Effect } from "effect"
import type { PageState } from "../../src/messages/Events.ts"
import type { UiSession } from "../../src/session/Session.ts"

/** Waits until the page shows this. */
export const until = ({ board }: UiSession, isThere: (state: PageState) => boolean): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const leave = board.follow(() => {
      if (isThere(board.state)) resume(Effect.void)
    })
    return Effect.sync(leave)
  })
