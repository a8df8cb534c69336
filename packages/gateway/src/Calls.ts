/**
 * The calls that run or wait, by id: a request that is answered in rounds finds its own again.
 *
 * A call starts once. It ends when its caller cancels, when it is over, or when the caller does not come back with an answer in time.
 */
import * as CancelReason from "@effect-mcp/core/CancelReason"
import { ClientInput } from "@effect-mcp/core/ClientInput"
import { Log } from "@effect-mcp/core/Log"
import * as Once from "@effect-mcp/core/Once"
import { Progress } from "@effect-mcp/core/Progress"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Replay from "@effect-mcp/server/internal/Replay"
import * as Cause from "effect/Cause"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { Call, CurrentCall } from "./Call.ts"
import type { Upstream } from "./Upstream.ts"

export interface Options {
  /** How long a call waits for its caller's next round. */
  readonly patience: Duration.Input
  /** Calls that wait so, at most: one more, and the one that waits longest is given up. */
  readonly capacity: number
}

type CallServices = ClientInput | Log | Progress

export interface Calls {
  /** Runs a request on a conversation that is acquired for it, and passes on what comes of it. `again` admits its later rounds. */
  readonly run: <A>(
    acquire: Effect.Effect<Upstream, McpError.McpError, Scope.Scope>,
    send: (upstream: Upstream, call: Call<A>) => Effect.Effect<A, McpError.McpError>,
    again: (call: Call<A>) => Effect.Effect<void, McpError.McpError>
  ) => Effect.Effect<A, McpError.McpError, CallServices>
  readonly size: () => number
}

const gone = McpError.invalidParams("The call that asked is not in progress any more: start it again")

export const make = Effect.fnUntraced(function* ({
  capacity,
  patience
}: Options): Effect.fn.Return<Calls, never, Scope.Scope> {
  const scope = yield* Scope.Scope
  // Only the caller that started one knows its id: it travels sealed, and bound to the very request.
  const calls = new Map<string, Call<unknown>>()
  /** Those without a driver, the longest first. */
  const waiting = new Map<Call<unknown>, Fiber.Fiber<void>>()

  /** `reason` is sent to the upstream server with the cancellation. */
  const cancel = (call: Call<unknown>, reason?: string): void => {
    calls.delete(call.id)
    waiting.get(call)?.interruptUnsafe()
    waiting.delete(call)
    call.fiber?.interruptUnsafe(undefined, reason === undefined ? undefined : CancelReason.annotation(reason))
  }

  const park = (call: Call<unknown>): Effect.Effect<void> =>
    Effect.suspend(() => {
      const [longest] = waiting.keys()
      if (longest !== undefined && waiting.size >= capacity) cancel(longest, "Too many calls wait for an answer")
      const giveUp = Effect.andThen(
        Effect.sleep(patience),
        Effect.sync(() => {
          waiting.delete(call)
          cancel(call, "The caller did not answer in time")
        })
      )
      return Effect.map(Effect.forkIn(giveUp, scope), (fiber) => void waiting.set(call, fiber))
    })

  const drive = <A>(call: Call<A>): Effect.Effect<A, McpError.McpError, CallServices> =>
    Effect.gen(function* () {
      const input = yield* ClientInput
      const progress = yield* Progress
      const log = yield* Log
      call.drivers++
      waiting.get(call)?.interruptUnsafe()
      waiting.delete(call)
      return yield* Effect.onExit(call.drive({ input, progress, log }), (exit) =>
        Effect.suspend(() => {
          call.drivers--
          if (Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause)) {
            if (call.drivers > 0) return Effect.void
            if (Replay.isSuspension(exit.cause)) return park(call)
          }
          cancel(call, Exit.isFailure(exit) ? CancelReason.of(exit.cause) : undefined)
          return Effect.void
        })
      )
    })

  return {
    size: () => calls.size,
    run: <A>(
      acquire: Effect.Effect<Upstream, McpError.McpError, Scope.Scope>,
      send: (upstream: Upstream, call: Call<A>) => Effect.Effect<A, McpError.McpError>,
      again: (call: Call<A>) => Effect.Effect<void, McpError.McpError>
    ) =>
      Effect.gen(function* () {
        let started = false
        const id = yield* Once.run(
          "@effect-mcp/gateway/Calls",
          Schema.String,
          Effect.sync(() => {
            started = true
            return globalThis.crypto.randomUUID()
          })
        )
        // A call is only ever found by the request that started it, whose answer has this type.
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the boundary named above
        const known = calls.get(id) as Call<A> | undefined
        if (known !== undefined) return yield* Effect.andThen(again(known), drive(known))
        if (!started) return yield* gone
        const call = yield* Call.make<A>(id)
        calls.set(id, call)
        const behind = Effect.scoped(
          Effect.flatMap(acquire, (upstream) =>
            Effect.acquireUseRelease(
              Effect.sync(() => upstream.calls.add(call)),
              () => send(upstream, call),
              () => Effect.sync(() => upstream.calls.delete(call))
            )
          )
        ).pipe(
          Effect.provideService(CurrentCall, call),
          Effect.onExit((exit) => Effect.sync(() => call.end(exit)))
        )
        call.fiber = yield* Effect.forkIn(behind, scope)
        return yield* drive(call)
      })
  }
})
