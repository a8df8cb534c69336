/**
 * Makes a `requestState` single-use, without breaking honest retries: the reply to a state is kept until the state expires, and the
 * same state gets the same reply. Optional: without it, a state may be used again within its lifetime.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as McpError from "@effect-mcp/protocol/McpError"

type Reply = Effect.Effect<unknown, McpError.McpError>

export class ReplayGuard extends Context.Service<
  ReplayGuard,
  {
    /** Runs `reply` for the first use of `jti`; later uses wait for, and get, the same. `expires` in milliseconds since the epoch. */
    readonly once: <A, R>(
      jti: string,
      expires: number,
      reply: Effect.Effect<A, McpError.McpError, R>
    ) => Effect.Effect<A, McpError.McpError, R>
  }
>()("@effect-mcp/server/mrtr/ReplayGuard") {
  /** For one process. Holds at most `capacity` replies (default 10 000); a state that would be one more is refused. */
  static readonly layerMemory = (options: { readonly capacity?: number } = {}): Layer.Layer<ReplayGuard> =>
    Layer.sync(ReplayGuard, () => memory(options.capacity ?? 10_000))
}

interface Kept {
  readonly expires: number
  readonly reply: Deferred.Deferred<unknown, McpError.McpError>
}

const memory = (capacity: number): ReplayGuard["Service"] => {
  const kept = new Map<string, Kept>()
  const sweep = (now: number): void => {
    for (const [jti, { expires }] of kept) if (expires <= now) kept.delete(jti)
  }
  const once = <A, R>(
    jti: string,
    expires: number,
    reply: Effect.Effect<A, McpError.McpError, R>
  ): Effect.Effect<A, McpError.McpError, R> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const known = kept.get(jti)
      // What is kept under a jti came from a reply to the very same request, so it has this type.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the boundary named above
      if (known !== undefined) return Deferred.await(known.reply) as Effect.Effect<A, McpError.McpError>
      if (kept.size >= capacity) sweep(now)
      if (kept.size >= capacity) return Effect.fail(McpError.limitExceeded("Too many requests wait for answers"))
      const entry: Kept = { expires, reply: Deferred.makeUnsafe() }
      kept.set(jti, entry)
      return Effect.onExit(reply, (exit) => remember(kept, jti, entry, exit))
    })
  return { once }
}

/** A reply that was cut off is no reply: the state may be used again. */
const remember = (
  kept: Map<string, Kept>,
  jti: string,
  entry: Kept,
  exit: Exit.Exit<unknown, McpError.McpError>
): Effect.Effect<void> =>
  Effect.sync(() => {
    const answered = exit._tag === "Success" || exit.cause.reasons.every((reason) => reason._tag === "Fail")
    if (!answered) kept.delete(jti)
    const reply: Reply = answered
      ? exit
      : Effect.fail(McpError.interrupted("The first use of this state was interrupted"))
    Deferred.doneUnsafe(entry.reply, reply)
  })
