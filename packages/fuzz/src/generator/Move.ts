import type * as Arbitrary from "effect/Arbitrary"
import type { Command } from "../model/Script.ts"

/** Commands, and the weight with which they are drawn. */
export type Move = readonly [weight: number, move: Arbitrary.Arbitrary<Command>]
