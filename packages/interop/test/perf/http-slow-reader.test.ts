/** Memory cost of a reader that stops during a flood of 320 MB. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { floods, stop } from "../support/slow-reader.ts"

it.live.each(floods)("A stalled reader of a flood over %s costs the server less than 64 MB", ([, begin, args]) =>
  Effect.map(stop(begin, args), (cost) => assert.isBelow(cost, 64 * 1024 * 1024))
)
