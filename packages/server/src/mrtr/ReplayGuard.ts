/**
 * Makes a `requestState` single-use, without breaking honest retries: the reply to a state is kept until the state expires, and the
 * same state gets the same reply. Optional: without it, a state may be used again within its lifetime.
 */
import { Shares } from "@effect-mcp/core/internal/Shares"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as McpError from "@effect-mcp/protocol/McpError"

type Reply = Effect.Effect<unknown, McpError.McpError>

/** The service that makes states single-use. Provide it to `McpServer.layer`; a store that nodes share implements `once`. */
export class ReplayGuard extends Context.Service<
  ReplayGuard,
  {
    /**
     * Runs `reply` for the first use of `jti`; later uses wait for, and get, the same. `expires` in milliseconds since the epoch.
     * `caller` is a principal, or else an address: empty where neither is known.
     */
    readonly once: <A, R>(
      jti: string,
      expires: number,
      reply: Effect.Effect<A, McpError.McpError, R>,
      caller?: string
    ) => Effect.Effect<A, McpError.McpError, R>
  }
>()("@effect-mcp/server/ReplayGuard") {}

export interface MemoryOptions {
  /** Replies that are held (default 10 000); a state that would be one more is refused. */
  readonly capacity?: number | undefined
  /** Replies that are held for one caller (default a tenth of `capacity`); a state of that caller that would be one more is refused. */
  readonly perCaller?: number | undefined
}

interface Kept {
  readonly caller: string
  readonly expires: number
  readonly reply: Deferred.Deferred<unknown, McpError.McpError>
}

const memory = ({ capacity = 10_000, perCaller = Math.ceil(capacity / 10) }: MemoryOptions): ReplayGuard["Service"] => {
  const kept = new Map<string, Kept>()
  const shares = new Shares({ total: capacity, perCaller })
  const drop = (jti: string): void => {
    const caller = kept.get(jti)?.caller
    if (caller === undefined) return
    kept.delete(jti)
    shares.add(caller, -1)
  }
  const isFull = (caller: string): boolean => shares.exceededBy(caller, 1) !== undefined
  let nextExpiry = Infinity
  const sweep = (now: number): void => {
    if (nextExpiry > now) return
    nextExpiry = Infinity
    for (const [jti, { expires }] of kept) {
      if (expires <= now) drop(jti)
      else nextExpiry = Math.min(nextExpiry, expires)
    }
  }
  const once = <A, R>(
    jti: string,
    expires: number,
    reply: Effect.Effect<A, McpError.McpError, R>,
    caller = ""
  ): Effect.Effect<A, McpError.McpError, R> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      let entry: Kept | undefined
      // Noted inside of `onExit`: an interruption between the two would leave later uses waiting.
      const noted = Effect.suspend((): Effect.Effect<A, McpError.McpError, R> => {
        const known = kept.get(jti)
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what is kept under a jti came from a reply to the very same request, so it has this type
        if (known !== undefined) return Deferred.await(known.reply) as Effect.Effect<A, McpError.McpError>
        if (isFull(caller)) sweep(now)
        if (isFull(caller)) return Effect.fail(tooMany(nextExpiry - now))
        entry = { caller, expires, reply: Deferred.makeUnsafe() }
        kept.set(jti, entry)
        shares.add(caller, 1)
        nextExpiry = Math.min(nextExpiry, expires)
        return reply
      })
      return Effect.onExit(noted, (exit) =>
        entry === undefined ? Effect.void : remember(() => void (kept.get(jti) === entry && drop(jti)), entry, exit)
      )
    })
  return { once }
}

/**
 * Remembers replies in the memory of this process: for a server of one node.
 *
 * @example
 * ```ts
 * import { McpServer, ReplayGuard } from "@effect-mcp/server"
 * import { Layer } from "effect"
 *
 * export const server = McpServer.layer({ name: "orders", version: "1.0.0", features: Layer.empty }).pipe(
 *   Layer.provide(ReplayGuard.layerMemory({ capacity: 1000 }))
 * )
 * ```
 */
export const layerMemory = (options: MemoryOptions = {}): Layer.Layer<ReplayGuard> =>
  Layer.sync(ReplayGuard, () => memory(options))

const tooMany = (retryAfterMs: number) =>
  McpError.limitExceeded("The answers to too many questions are remembered already: send this one again later", {
    retryAfterMs
  })

/** Keeps an answer; after an interruption or a defect the state may be used again. */
const remember = (drop: () => void, entry: Kept, exit: Exit.Exit<unknown, McpError.McpError>): Effect.Effect<void> =>
  Effect.sync(() => {
    const answered = exit._tag === "Success" || exit.cause.reasons.every((reason) => reason._tag === "Fail")
    if (!answered) drop()
    const reply: Reply = answered
      ? exit
      : Effect.fail(McpError.interrupted("The first use of this state was interrupted"))
    Deferred.doneUnsafe(entry.reply, reply)
  })
