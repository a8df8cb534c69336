import type * as Arbitrary from "effect/Arbitrary"
import type { Command } from "../model/Script.ts"

/** A command, and how often it is drawn. */
export type Move = readonly [weight: number, move: Arbitrary.Arbitrary<Command>]
