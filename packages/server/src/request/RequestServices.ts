/**
 * The services of one request, built afresh for it. What differs by era (who asks, how questions travel, which logs pass) is given;
 * what is the same for every request is made here.
 */
import * as ClientInput from "@effect-mcp/core/ClientInput"
import { exitOf } from "@effect-mcp/core/Done"
import * as Elicitation from "@effect-mcp/core/Elicitation"
import { Log } from "@effect-mcp/core/Log"
import * as Now from "@effect-mcp/core/internal/Now"
import type { Asked } from "@effect-mcp/core/Peer"
import { Principal } from "@effect-mcp/core/Principal"
import * as Progress from "@effect-mcp/core/Progress"
import { type Connection, RequestContext, type RequestServices } from "@effect-mcp/core/RequestContext"
import { Recipe, RequestMap, service } from "@effect-mcp/core/RequestMap"
import * as Roots from "@effect-mcp/core/Roots"
import * as Sampling from "@effect-mcp/core/Sampling"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"

const noMeta: JsonObject = {}

/** The request's `_meta`, empty when it has none. */
export const metaOf = (request: JsonRpc.Request): JsonObject =>
  isJsonObject(request.params?._meta) ? request.params._meta : noMeta

/** What the era knows of a request: asked for once, by whoever is first to need some of it. */
export interface Facts {
  readonly context: Pick<RequestContext["Service"], "revision" | "sessionId" | "clientInfo" | "clientCapabilities">
  readonly input: ClientInput.ClientInput["Service"]
  readonly log: Log["Service"]
  /** Announcements that the client's roots changed, where it makes any. */
  readonly rootsChanges: Stream.Stream<void> | undefined
  readonly connection: Connection | undefined
  /** Completes when the server is about to end by itself. */
  readonly closing: Effect.Effect<void>
}

/**
 * One request, as what its services are made of. Finalizers of a cancelled one, and fibers that outlive theirs, may still hold them:
 * progress of what is over is dropped; so are logs where they belong to the request alone, not to a session.
 */
export class One implements Now.Now {
  readonly exchange: Asked
  readonly principal: Principal["Service"]
  private readonly make: () => Facts
  private readonly context: Context.Context<never>
  private made: Facts | undefined = undefined
  private services: Array<unknown> | undefined = undefined
  private scope: Scope.Closeable | undefined = undefined
  private ended = false

  /** `context`: what its handler runs in, if it runs before anything else does. */
  constructor(
    exchange: Asked,
    principal: Principal["Service"],
    make: () => Facts,
    context: Context.Context<never> = Context.empty()
  ) {
    this.exchange = exchange
    this.principal = principal
    this.make = make
    this.context = context
  }

  get facts(): Facts {
    return (this.made ??= this.make())
  }

  /** Whether nothing of the request is wanted any more. */
  get over(): boolean {
    return this.ended || this.exchange.cancelled === true
  }

  /** The request's own Scope; one that is first wanted when the request has ended is closed already. */
  openScope(): Scope.Scope {
    const scope = (this.scope ??= Scope.makeUnsafe())
    if (this.ended) Effect.runSync(Scope.close(scope, Exit.void))
    return scope
  }

  /** Its services over `base`. */
  servicesOver<R>(base: ReadonlyMap<string, unknown>): Context.Context<R> {
    return Context.makeUnsafe<R>(new RequestMap(base, recipe, this, (this.services ??= [])))
  }

  start<A, E, R>(
    handler: Effect.Effect<A, E, R>,
    change: (base: ReadonlyMap<string, unknown>) => ReadonlyMap<string, unknown>
  ): Effect.Effect<A, E> {
    this.exchange.begun?.()
    return Now.start(handler, this.servicesOver<R>(change(this.context.mapUnsafe)))
  }

  /** Whether its end is no step either. */
  endsNow(): boolean {
    if (this.scope === undefined) this.ended = true
    return this.ended
  }

  close(exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> {
    if (this.scope === undefined) {
      this.ended = true
      return Effect.void
    }
    return Effect.ensuring(
      Scope.close(this.scope, exit),
      Effect.sync(() => (this.ended = true))
    )
  }
}

const contextOf = (one: One): RequestContext["Service"] => {
  const { envelope, request, sink } = one.exchange
  const { closing, connection, context } = one.facts
  return {
    ...context,
    id: request.id,
    method: request.method,
    meta: metaOf(request),
    envelope,
    wire: {
      notify: (method, params) => {
        if (!one.over) sink.send(JsonRpc.notification(method, params), "data", request.id)
      },
      ready: sink.ready,
      closing,
      connection
    },
    disconnect: (retry) => sink.disconnect?.(retry)
  }
}

const progressOf = (one: One): Progress.Progress["Service"] => {
  const { request, sink } = one.exchange
  const token = metaOf(request).progressToken
  if (!JsonRpc.isId(token)) return Progress.none
  const { progressMessage } = one.facts.context.revision.rules
  return Progress.make({
    token,
    writable: () => sink.writable(),
    ready: sink.ready,
    send: (event) => {
      if (one.over) return
      const params = event.message === undefined || progressMessage ? event : silent(event)
      sink.send(JsonRpc.notification("notifications/progress", params), "data", request.id)
    }
  })
}

const silent = ({ message: _none, ...event }: { readonly message?: string }) => event

const logOf = (one: One): Log["Service"] => {
  const { context, log } = one.facts
  return context.revision.era === "stateless" ? until(one, log) : log
}

const until = (one: One, log: Log["Service"]): Log["Service"] => {
  const logUnsafe: Log["Service"]["logUnsafe"] = (level, data, logger) => {
    if (!one.over) log.logUnsafe(level, data, logger)
  }
  return { logUnsafe, log: (level, data, logger) => Effect.sync(() => logUnsafe(level, data, logger)) }
}

const asked = ({ revision, clientCapabilities }: Facts["context"]): ClientInput.Asked => ({
  revision,
  capabilities: clientCapabilities
})

const recipe = new Recipe<One>([
  service(RequestContext, contextOf),
  service(Principal, ({ principal }) => principal),
  service(Progress.Progress, progressOf),
  service(ClientInput.ClientInput, ({ facts }) => facts.input),
  service(Elicitation.Elicitation, ({ facts }) =>
    Elicitation.proxy(facts.input, ClientInput.elicitationModes(asked(facts.context)))
  ),
  service(Sampling.Sampling, ({ facts }) =>
    Sampling.proxy(facts.input, ClientInput.samplingCapabilities(asked(facts.context)))
  ),
  service(Roots.Roots, ({ facts }) => Roots.proxy(facts.input, facts.rootsChanges)),
  service(Log, logOf),
  service(Scope.Scope, (one: One) => one.openScope())
])

/** Runs `effect` with the services of its request, in a Scope of its own; when it is over, so is its progress. */
export const provide = <A, E>(effect: Effect.Effect<A, E, RequestServices>, one: One): Effect.Effect<A, E> => {
  const done = exitOf(effect)
  if (done !== undefined && one.endsNow()) return done
  const provided = Effect.updateContext(effect, (ambient: Context.Context<never>) =>
    one.servicesOver<RequestServices>(ambient.mapUnsafe)
  )
  return Effect.onExit(provided, (exit) => one.close(exit))
}
