/** Parts that are loaded when they are needed, as those see them that need them. */
import { lateImport } from "@effect-mcp/core/internal/lateImport"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

/**
 * A module of the client could not be loaded, such as over the lost network of a browser. The connection and other requests live on; the
 * next request that needs the module loads it again.
 */
export class NotLoaded extends Data.TaggedError("NotLoaded")<{
  readonly message: string
  /** What the import was rejected with. */
  readonly cause: unknown
}> {}

/** An import as an effect. */
export const imported = <P>(module: () => Promise<P>): Effect.Effect<P, NotLoaded> =>
  Effect.tryPromise({
    try: lateImport(module),
    catch: (cause) => {
      const reason = cause instanceof Error ? cause.message : String(cause)
      const advice = "Ask again once its network or files are there; where that does not help, start the program anew"
      return new NotLoaded({ message: `A module of the client could not be loaded: ${reason}. ${advice}`, cause })
    }
  })

export interface Late<P> {
  /** The parts, once anything in the process has loaded them. */
  readonly loaded: () => P | undefined
  readonly load: Effect.Effect<P, NotLoaded>
}

/** A module that is kept once it is loaded. */
export const late = <P>(module: () => Promise<P>): Late<P> => {
  let parts: P | undefined
  return { loaded: () => parts, load: Effect.map(imported(module), (found) => (parts = found)) }
}

/** At once where the parts are loaded: what they save at the start costs no step later. */
export const withParts = <P, A, E, R>(
  { load, loaded }: Late<P>,
  use: (parts: P) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | NotLoaded, R> => {
  const parts = loaded()
  return parts === undefined ? Effect.flatMap(load, use) : use(parts)
}
