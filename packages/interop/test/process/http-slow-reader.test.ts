/** A reader that stops in a flood suspends the flood, and loses no message. */
import { it } from "@effect/vitest"
import { floods, stop } from "../support/slow-reader.ts"

it.live.each(floods)(
  "A flood over %s waits for a stalled reader, which receives everything on resuming",
  ([, begin, args]) => stop(begin, args)
)
