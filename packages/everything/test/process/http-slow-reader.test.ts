/** A reader that stops in a flood holds up the flood, and loses no message. */
import { it } from "@effect/vitest"
import { floods, stop } from "../support/slow-reader.ts"

it.live.each(floods)(
  "A flood over %s waits for a reader that stops, which gets everything when it continues",
  ([, begin, args]) => stop(begin, args)
)
