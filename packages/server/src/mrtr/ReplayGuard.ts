/**
 * Makes each `requestState` single-use, while still allowing honest retries: the reply to a state is kept until the state expires, and
 * resending the same state returns the same reply. Optional. Without it, a client can reuse a state until it expires.
 */
import { Shares } from "@effect-mcp/core/internal/inFlight"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as McpError from "@effect-mcp/protocol/McpError"

type Reply = Effect.Effect<unknown, McpError.McpError>

/** Makes each state single-use. Provide it to `McpServer.layer`. To share replies among nodes, implement `once` on a shared store. */
export class ReplayGuard extends Context.Service<
  ReplayGuard,
  {
    /**
     * Runs `reply` on the first use of `jti`. Later uses wait for that reply and return it too. `expires` is in milliseconds since the
     * epoch. `caller` is a principal, or else an address, or empty if neither is known.
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
  /** Maximum number of replies to keep (default 10 000). Beyond it, new states are rejected. */
  readonly capacity?: number | undefined
  /** Maximum number of replies to keep per caller (default a tenth of `capacity`). Beyond it, that caller's new states are rejected. */
  readonly perCaller?: number | undefined
}

interface UsedState {
  readonly caller: string
  readonly expires: number
  readonly reply: Deferred.Deferred<unknown, McpError.McpError>
}

const memory = ({ capacity = 10_000, perCaller = Math.ceil(capacity / 10) }: MemoryOptions): ReplayGuard["Service"] => {
  const used = new Map<string, UsedState>()
  const shares = new Shares({ total: capacity, perCaller })
  const drop = (jti: string): void => {
    const caller = used.get(jti)?.caller
    if (caller === undefined) return
    used.delete(jti)
    shares.add(caller, -1)
  }
  const isFull = (caller: string): boolean => shares.exceededBy(caller, 1) !== undefined
  let nextExpiry = Infinity
  const sweep = (now: number): void => {
    if (nextExpiry > now) return
    nextExpiry = Infinity
    for (const [jti, { expires }] of used) {
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
      let entry: UsedState | undefined
      // Noted inside `onExit`, because an interruption between the two would leave later uses waiting.
      const noted = Effect.suspend((): Effect.Effect<A, McpError.McpError, R> => {
        const known = used.get(jti)
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the reply under a jti came from the same request
        if (known !== undefined) return Deferred.await(known.reply) as Effect.Effect<A, McpError.McpError>
        if (isFull(caller)) sweep(now)
        if (isFull(caller)) return Effect.fail(tooMany(nextExpiry - now))
        entry = { caller, expires, reply: Deferred.makeUnsafe() }
        used.set(jti, entry)
        shares.add(caller, 1)
        nextExpiry = Math.min(nextExpiry, expires)
        return reply
      })
      return Effect.onExit(noted, (exit) =>
        entry === undefined ? Effect.void : remember(() => void (used.get(jti) === entry && drop(jti)), entry, exit)
      )
    })
  return { once }
}

/**
 * Keeps replies in this process's memory, for servers that run on a single node.
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
  McpError.limitExceeded("Too many replies are being stored. Send this answer again later", {
    retryAfterMs
  })

/** Keeps a reply. After an interruption or a defect, the state can be used again. */
const remember = (
  drop: () => void,
  entry: UsedState,
  exit: Exit.Exit<unknown, McpError.McpError>
): Effect.Effect<void> =>
  Effect.sync(() => {
    const answered = exit._tag === "Success" || exit.cause.reasons.every((reason) => reason._tag === "Fail")
    if (!answered) drop()
    const reply: Reply = answered
      ? exit
      : Effect.fail(McpError.interrupted("The first request with this state was interrupted"))
    Deferred.doneUnsafe(entry.reply, reply)
  })
