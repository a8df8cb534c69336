/**
 * Holds results that are too large to send until they expire. `Limits.spill` decides which results are kept, and for how long.
 *
 * By default a server holds them in its memory. A feature can register another store, such as the database of `@effect-mcp/tasks`, in which
 * results outlive the process and are shared by all nodes.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

/** The part of a tool's result that is kept. */
export interface Spilled {
  readonly mimeType: string
  /** UTF-8 if `isText`. */
  readonly bytes: Uint8Array
  readonly isText: boolean
}

/** A result to keep. */
export interface SpilledResult extends Spilled {
  /** 256 random bits, as 43 characters of base64url. */
  readonly id: string
  /** Key of the principal that may read it, or `undefined` if the caller is anonymous. */
  readonly owner: string | undefined
  /** Key of the caller that it is charged to, or `undefined` if unknown. An unknown caller only counts toward the total. */
  readonly caller: string | undefined
  /** Bytes to charge: slightly more than `bytes` has. */
  readonly charge: number
  /** How long it can be read, in milliseconds. */
  readonly timeToLive: number
}

/** Maximum number of bytes to hold. */
export interface SpillBounds {
  readonly perCaller: number
  readonly total: number
}

/** A range of a kept result. */
export interface SpilledRange extends Spilled {
  /** Size of the whole result. */
  readonly size: number
}

/** The store doesn't respond or has no space. */
export class SpillUnavailable extends Data.TaggedError("SpillUnavailable")<{
  readonly message: string
  readonly cause?: unknown
}> {}

/** Holds results until they expire. */
export interface SpillStore {
  /**
   * Stores a result, and atomically makes room for it: first the caller loses its oldest results, then the caller that holds the most loses
   * its oldest. `charge` alone never exceeds the bounds. Several servers may put results at the same time.
   */
  readonly put: (result: SpilledResult, bounds: SpillBounds) => Effect.Effect<void, SpillUnavailable>
  /**
   * Reads the bytes from `from` up to but excluding `to`, or fewer if the result ends before. Returns `undefined` if there is no such result,
   * if it has expired, or if it has another owner.
   */
  readonly read: (
    id: string,
    owner: string | undefined,
    from: number,
    to: number
  ) => Effect.Effect<SpilledRange | undefined, SpillUnavailable>
}

/** The service that `layer` registers a server's store with. */
export class SpillRegistry extends Context.Service<
  SpillRegistry,
  { readonly register: (store: SpillStore) => Effect.Effect<void, never, Scope.Scope> }
>()("@effect-mcp/server/SpillRegistry") {}

/**
 * Keeps a server's large results in this store for as long as the layer lives. Also declares resources, as the option `limits.spill` does.
 * Does nothing if that option is false. Fails the build of a server that has two stores.
 *
 * @example
 * ```ts
 * import { McpServer, SpillStore } from "@effect-mcp/server"
 * import { Effect } from "effect"
 *
 * const results = new Map<string, SpillStore.SpilledResult>()
 *
 * // Without bounds and expiry, which a real store needs.
 * const store: SpillStore.SpillStore = {
 *   put: (result) => Effect.sync(() => void results.set(result.id, result)),
 *   read: (id, owner, from, to) =>
 *     Effect.sync(() => {
 *       const result = results.get(id)
 *       if (result === undefined || result.owner !== owner) return undefined
 *       return { ...result, size: result.bytes.length, bytes: result.bytes.subarray(from, to) }
 *     })
 * }
 *
 * export const server = McpServer.layer({ name: "archive", version: "1.0.0", features: SpillStore.layer(Effect.succeed(store)) })
 * ```
 */
export const layer = <E, R>(
  store: Effect.Effect<SpillStore, E, R>
): Layer.Layer<never, E, SpillRegistry | Exclude<R, Scope.Scope>> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { register } = yield* SpillRegistry
      yield* register(yield* store)
    })
  )
