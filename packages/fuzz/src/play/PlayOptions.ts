/** How a conversation is played, and how long the player waits. */
import type { Revision } from "@effect-mcp/protocol/Revision"
import type { Exchange } from "../model/Observation.ts"
import type { Rule } from "../model/Rule.ts"
import type { Wire } from "../target/Target.ts"

export interface Options {
  readonly rules: ReadonlyArray<Rule>
  /** How long a request may take before it counts as never answered, in milliseconds. Default 5000. */
  readonly patience?: number | undefined
  /** How long a process may take to start: its first message can arrive this late, in milliseconds. Default: `patience`. */
  readonly firstPatience?: number | undefined
  /** How long the server may take to exit once its input has ended, in milliseconds. Default 5000. */
  readonly exitPatience?: number | undefined
  /** Whether an exchange is worth waiting for. Default: all are. */
  readonly hopeful?: ((exchange: Exchange) => boolean) | undefined
  /** Whether to see if the server exits when its input ends, which can take the patience. Default true. */
  readonly closing?: boolean | undefined
  /** Whether a server that broke a rule may have another conversation. Default false. */
  readonly keepsBroken?: boolean | undefined
}

/** How long code of the server's own may take: a call is then cancelled, and counts as no violation. */
export const handlerPatience = 1000
/** How long a silent client waits for a server that ends by itself, in milliseconds. */
export const idleTime = 2000
/** A process may take long to start, in milliseconds. */
export const startPatience = 20_000

/** Milliseconds to wait for the first message of a process, or `undefined` if it has had a conversation or a handshake. */
export const patienceForStart = (
  { firstPatience }: Options,
  wire: Wire | undefined,
  { era }: Revision
): number | undefined =>
  wire === undefined || (wire.before ?? []).length > 0 || era === "stateful" ? undefined : firstPatience
