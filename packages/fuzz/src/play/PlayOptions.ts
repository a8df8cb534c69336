/** How a conversation is played, and how long the player waits. */
import type { Revision } from "@effect-mcp/protocol/Revision"
import type { Exchange } from "../model/Observation.ts"
import type { Rule } from "../model/Rule.ts"
import type { Wire } from "../target/Target.ts"

export interface Options {
  readonly rules: ReadonlyArray<Rule>
  /** How long a request may take before it counts as unanswered, in milliseconds. Default 5000. */
  readonly patience?: number | undefined
  /** Time limit for a process's first message, which includes its startup, in milliseconds. Default: `patience`. */
  readonly firstPatience?: number | undefined
  /** How long the server may take to exit after its input is closed, in milliseconds. Default 5000. */
  readonly exitPatience?: number | undefined
  /** Returns true if the exchange's response is worth waiting for. Default: always true. */
  readonly hopeful?: ((exchange: Exchange) => boolean) | undefined
  /** Whether to check that the server exits when its input is closed. This may take as long as `patience`. Default true. */
  readonly closing?: boolean | undefined
  /** Whether to reuse a server after it broke a rule. Default false. */
  readonly keepsBroken?: boolean | undefined
}

/** How long a handler may take, in milliseconds. After that the call is cancelled, which is not a violation. */
export const handlerPatience = 1000
/** How long a silent client waits for the server to exit by itself, in milliseconds. */
export const idleTime = 2000
/** Minimum time allowed for the response to `initialize`, in milliseconds, because a process may start slowly. */
export const startPatience = 20_000

/** Milliseconds to wait for the first message of a process, or `undefined` if it is known to be running. */
export const patienceForStart = (
  { firstPatience }: Options,
  wire: Wire | undefined,
  { era }: Revision
): number | undefined =>
  wire === undefined || (wire.before ?? []).length > 0 || era === "stateful" ? undefined : firstPatience
