/**
 * Calls that are running or waiting, by id, so that the next round of a request finds its call again.
 *
 * A call starts once. It ends when its result arrives, when its caller cancels, or when the next round does not arrive in time.
 */
import * as CancelReason from "@effect-mcp/core/CancelReason"
import { ClientInput } from "@effect-mcp/core/ClientInput"
import { type Bounds, oldestOfHeaviest, Shares } from "@effect-mcp/core/internal/inFlight"
import { Log } from "@effect-mcp/core/Log"
import * as Once from "@effect-mcp/core/Once"
import { Progress } from "@effect-mcp/core/Progress"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Replay from "@effect-mcp/server/internal/Replay"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import type { Upstream } from "./Upstream.ts"
import { CurrentCall, UpstreamCall } from "../call/UpstreamCall.ts"

export interface Options {
  /** How long a call waits for the next round of its request. */
  readonly roundTimeout: Duration.Input
  /** Maximum number of waiting calls. Beyond it, the longest-waiting call of the caller with the most waiting calls is cancelled. */
  readonly capacity: Bounds
}

type CallServices = ClientInput | Log | Progress | RequestContext

/** Starts a call and admits later rounds of its request. */
export interface Start<A, R = never> {
  /** The caller that the call counts against while it waits, or `undefined` if it has neither a name nor an address. */
  readonly caller: string | undefined
  readonly acquire: Effect.Effect<Upstream, McpError.McpError, Scope.Scope>
  readonly send: (upstream: Upstream, call: UpstreamCall<A>) => Effect.Effect<A, McpError.McpError>
  /**
   * Answers the request once its call has become a task. `rest` returns the call's result. Default: the request waits for the result.
   */
  readonly onTask?:
    | ((rest: Effect.Effect<A, McpError.McpError, CallServices>) => Effect.Effect<A, McpError.McpError, R>)
    | undefined
  /** Checks a later round. If it fails, only that round fails. */
  readonly admit: (call: UpstreamCall<A>) => Effect.Effect<void, McpError.McpError>
}

export interface UpstreamCalls {
  /** Acquires a connection, runs a request on it, and forwards the messages that arrive. */
  readonly run: <A, R = never>(start: Start<A, R>) => Effect.Effect<A, McpError.McpError, CallServices | R>
  readonly size: () => number
}

interface State extends Pick<Options, "roundTimeout"> {
  readonly scope: Scope.Scope
  /** Keyed by an ID that travels sealed and bound to its request, so that only that request can name the call. */
  readonly calls: Map<string, UpstreamCall<unknown>>
  /** Calls without an attached request, longest-waiting first. */
  readonly waiting: Map<UpstreamCall<unknown>, Fiber.Fiber<void>>
  /** Number of waiting calls per caller. */
  readonly shares: Shares
}

const ended = McpError.invalidParams("The call that asked has ended. Start it again")

/** Creates a gateway's calls. Running calls are interrupted when the scope closes. */
export const make = (options: Options): Effect.Effect<UpstreamCalls, never, Scope.Scope> =>
  Effect.map(Scope.Scope, (scope) => {
    const { capacity, roundTimeout } = options
    const state: State = { roundTimeout, scope, calls: new Map(), waiting: new Map(), shares: new Shares(capacity) }
    return { size: () => state.calls.size, run: (start) => run(state, start) }
  })

const run = Effect.fnUntraced(function* <A, R>(
  state: State,
  start: Start<A, R>
): Effect.fn.Return<A, McpError.McpError, CallServices | R> {
  let isFirstRound = false
  const id = yield* Once.run(
    "@effect-mcp/gateway/Calls",
    Schema.String,
    Effect.sync(() => {
      isFirstRound = true
      return globalThis.crypto.randomUUID()
    })
  )
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a call is only ever found by the request that started it, whose answer has this type
  const known = state.calls.get(id) as UpstreamCall<A> | undefined
  if (known !== undefined) {
    yield* start.admit(known)
    return yield* answer(state, known, start)
  }
  if (!isFirstRound) return yield* ended
  return yield* answer(state, yield* begin(state, id, start), start)
})

/** Returns the call's result, or the caller's answer if the call has become a task. */
const answer = <A, R>(
  state: State,
  call: UpstreamCall<A>,
  { onTask }: Pick<Start<A, R>, "onTask">
): Effect.Effect<A, McpError.McpError, CallServices | R> =>
  attach(
    state,
    call,
    onTask &&
      Effect.suspend(() => {
        // Counts the rest of the call, which may begin after this request has ended.
        call.attached++
        return Effect.tapCause(onTask(relayed(state, call)), () => Effect.sync(() => call.attached--))
      })
  )

/** Starts the call in the gateway's scope. */
const begin = Effect.fnUntraced(function* <A>(
  { calls, scope }: State,
  id: string,
  { acquire, caller, send }: Pick<Start<A>, "acquire" | "caller" | "send">
): Effect.fn.Return<UpstreamCall<A>> {
  const call = yield* UpstreamCall.make<A>(id, caller)
  calls.set(id, call)
  const sending = Effect.flatMap(acquire, (upstream) =>
    Effect.acquireUseRelease(
      Effect.sync(() => upstream.calls.add(call)),
      () => send(upstream, call),
      () => Effect.sync(() => upstream.calls.delete(call))
    )
  )
  call.fiber = yield* Effect.scoped(sending).pipe(
    Effect.provideService(CurrentCall, call),
    Effect.onExit((exit) => Effect.sync(() => call.end(exit))),
    Effect.forkIn(scope)
  )
  return call
})

/** Attaches the downstream request whose services are in the context, until the call or the request ends. */
const attach = <A, R = never>(
  state: State,
  call: UpstreamCall<A>,
  onTask?: Effect.Effect<A, McpError.McpError, R>
): Effect.Effect<A, McpError.McpError, CallServices | R> =>
  Effect.suspend(() => {
    call.attached++
    return relayed(state, call, onTask)
  })

/** Forwards messages to a request that is already counted. */
const relayed = Effect.fnUntraced(function* <A, R = never>(
  state: State,
  call: UpstreamCall<A>,
  onTask?: Effect.Effect<A, McpError.McpError, R>
): Effect.fn.Return<A, McpError.McpError, CallServices | R> {
  const input = yield* ClientInput
  const progress = yield* Progress
  const log = yield* Log
  const { outbound } = yield* RequestContext
  stopWaiting(state, call)
  const services = { input, progress, log, outbound }
  return yield* Effect.onExit(call.attach(services, onTask), (exit) => detach(state, call, exit))
})

/**
 * Leaves the call waiting if a request is suspended for the next round. If the last attached request ends in any other way, cancels the
 * call.
 */
const detach = (
  state: State,
  call: UpstreamCall<unknown>,
  exit: Exit.Exit<unknown, McpError.McpError>
): Effect.Effect<void> =>
  Effect.suspend(() => {
    call.attached--
    if (call.attached > 0) return Effect.void
    if (Exit.isFailure(exit) && Replay.isSuspension(exit.cause)) return wait(state, call)
    cancel(state, call, Exit.isFailure(exit) ? CancelReason.of(exit.cause) : undefined)
    return Effect.void
  })

/** Keeps the call for the next round of its request, for a limited time. */
const wait = (state: State, call: UpstreamCall<unknown>): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { roundTimeout, scope } = state
    const expire = Effect.andThen(
      Effect.sleep(roundTimeout),
      Effect.sync(() => {
        noLongerWaits(state, call)
        cancel(state, call, "The caller did not answer in time")
      })
    )
    return Effect.map(Effect.forkIn(expire, scope), (fiber) => waits(state, call, fiber))
  })

const waits = (state: State, call: UpstreamCall<unknown>, expiry: Fiber.Fiber<void>): void => {
  const { shares, waiting } = state
  const { caller } = call
  waiting.set(call, expiry)
  shares.add(caller, 1)
  const exceeded = shares.exceededBy(caller, 0)
  if (exceeded === undefined) return
  const among = [...waiting.keys()].filter((one) => exceeded === "total" || one.caller === caller)
  const longest = oldestOfHeaviest(among, undefined, caller)
  if (longest !== undefined) cancel(state, longest, "Too many calls are waiting for an answer")
}

const noLongerWaits = ({ shares, waiting }: State, call: UpstreamCall<unknown>): void => {
  if (waiting.delete(call)) shares.add(call.caller, -1)
}

const stopWaiting = (state: State, call: UpstreamCall<unknown>): void => {
  state.waiting.get(call)?.interruptUnsafe()
  noLongerWaits(state, call)
}

/** Ends the call. The cancellation sent to the upstream server carries `reason`. */
const cancel = (state: State, call: UpstreamCall<unknown>, reason?: string): void => {
  state.calls.delete(call.id)
  stopWaiting(state, call)
  call.fiber?.interruptUnsafe(undefined, reason === undefined ? undefined : CancelReason.annotation(reason))
}
