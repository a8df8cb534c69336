/** What a reader that stops in a flood of 320 MB costs the server in memory. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { floods, stop } from "../support/slow-reader.ts"

it.live.each(floods)("A reader that stops in a flood over %s costs the server less than 64 MB", ([, begin, args]) =>
  Effect.map(stop(begin, args), (cost) => assert.isBelow(cost, 64 * 1024 * 1024))
)
