/** Parts that are loaded when they are needed, as those see them that need them. */
import * as Effect from "effect/Effect"

export interface Late<P> {
  /** The parts, once anything in the process has loaded them. */
  readonly loaded: () => P | undefined
  readonly load: Effect.Effect<P>
}

/** At once where the parts are loaded: what they save at the start costs no step later. */
export const withParts = <P, A, E, R>(
  { load, loaded }: Late<P>,
  use: (parts: P) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  const parts = loaded()
  return parts === undefined ? Effect.flatMap(load, use) : use(parts)
}
