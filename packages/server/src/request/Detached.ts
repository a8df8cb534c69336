/**
 * A request's services without its connection, for work that outlives the request's response, and for notifications, which have no
 * response.
 *
 * Owns the Scope of the run. Sends nothing itself: output goes to the sinks that you pass in.
 */
import * as ClientInput from "@effect-mcp/core/ClientInput"
import { LazyContext } from "@effect-mcp/core/internal/handlers"
import * as Log from "@effect-mcp/core/Log"
import { Principal } from "@effect-mcp/core/Principal"
import * as Progress from "@effect-mcp/core/Progress"
import { httpOf, type Outbound, RequestContext, type RequestServices } from "@effect-mcp/core/RequestContext"
import type { Envelope } from "@effect-mcp/core/Transport"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { inertOutbound } from "../internal/inertOutbound.ts"
import { serviceTable, type Source } from "./RequestServices.ts"

export { scope, within } from "./DetachedScope.ts"

/** Facts about a request that outlive it. Plain data, except for the revision. */
export interface Facts extends Pick<
  RequestContext["Service"],
  "clientCapabilities" | "clientInfo" | "id" | "meta" | "method" | "revision" | "sessionId"
> {
  readonly principal: Principal["Service"]
}

/** Facts about the current request, including the caller that middleware provided. They contain no headers and no token. */
export const facts: Effect.Effect<Facts, never, RequestContext | Principal> = Effect.contextWith(
  (context: Context.Context<RequestContext | Principal>) => Effect.succeed(factsOf(context))
)

/** Returns the `facts` for a request's services. */
export const factsOf = (context: Context.Context<RequestContext | Principal>): Facts => {
  const { clientCapabilities, clientInfo, id, meta, method, revision, sessionId } = Context.get(context, RequestContext)
  const principal = Context.get(context, Principal)
  return { clientCapabilities, clientInfo, id, meta, method, revision, sessionId, principal }
}

/** Output sinks, and what is still known about the connection. */
export interface Sinks {
  /** Asks the client. By default every question fails with `CapabilityMissing`. */
  readonly input?: ClientInput.ClientInput["Service"] | undefined
  /** Called each time progress increases. By default progress is dropped. */
  readonly progress?: ((progress: number, options: Progress.ReportOptions) => Effect.Effect<void>) | undefined
  /** Receives log messages. Must not block. By default they are dropped. */
  readonly log?: Log.Log["Service"]["logUnsafe"] | undefined
  /** Receives notifications. By default they are dropped. */
  readonly outbound?: Outbound | undefined
  /** The message's envelope, including its HTTP request. Empty by default. */
  readonly envelope?: Envelope | undefined
}

const unasked = ClientInput.unavailable("Cannot ask the client, because the original request has already been answered")

const growing = (report: NonNullable<Sinks["progress"]>): Progress.Progress["Service"] => {
  let last = -Infinity
  return {
    wanted: true,
    report: (progress, options = {}) =>
      Effect.suspend(() => {
        if (!(progress > last) || progress === Infinity) return Effect.void
        last = progress
        return report(progress, options)
      })
  }
}

class DetachedRequest implements Source {
  readonly principal: Principal["Service"]
  readonly client: Source["client"]
  private readonly facts: Facts
  private readonly sinks: Sinks
  private scope: Scope.Closeable | undefined = undefined

  constructor(facts: Facts, sinks: Sinks) {
    const { principal, ...context } = facts
    this.principal = principal
    this.client = { context, input: sinks.input ?? unasked, rootsChanges: undefined }
    this.facts = facts
    this.sinks = sinks
  }

  requestContext(): RequestContext["Service"] {
    const { principal: _principal, ...known } = this.facts
    const { envelope = {}, outbound = inertOutbound } = this.sinks
    return { ...known, envelope, http: httpOf(envelope), outbound, closeStream: () => {} }
  }

  progress(): Progress.Progress["Service"] {
    const { progress } = this.sinks
    return progress === undefined ? Progress.none : growing(progress)
  }

  log(): Log.Log["Service"] {
    const { log } = this.sinks
    if (log === undefined) return Log.none
    return { logUnsafe: log, log: (level, data, logger) => Effect.sync(() => log(level, data, logger)) }
  }

  openScope(): Scope.Scope {
    return (this.scope ??= Scope.makeUnsafe())
  }

  close(exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> {
    return this.scope === undefined ? Effect.void : Scope.close(this.scope, exit)
  }
}

/**
 * Runs `effect` with the services of a request that may already have ended, in a Scope that closes when the effect ends. The effect can't
 * reach the request's connection.
 *
 * @example
 * ```ts
 * import { Detached, Middleware } from "@effect-mcp/server"
 * import { Effect } from "effect"
 *
 * // Runs every tool call a second time without a client: progress and questions of that run are dropped.
 * export const shadow = Middleware.on("tools/call", (_request, next) =>
 *   Effect.gen(function* () {
 *     const facts = yield* Detached.facts
 *     yield* Effect.forkDetach(Detached.provide(next, facts))
 *     return yield* next
 *   })
 * )
 * ```
 */
export const provide = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  facts: Facts,
  sinks: Sinks = {}
): Effect.Effect<A, E, Exclude<R, RequestServices>> =>
  Effect.suspend(() => {
    const detached = new DetachedRequest(facts, sinks)
    const provided = Effect.updateContext(effect, (ambient: Context.Context<Exclude<R, RequestServices>>) => {
      const services = ambient.mapUnsafe
      // The services of a request that this fiber may run in must be neither created nor kept.
      const below = services instanceof LazyContext ? services.below : services
      return Context.makeUnsafe<R>(new LazyContext(below, serviceTable, detached))
    })
    return Effect.onExit(provided, (exit) => detached.close(exit))
  })
