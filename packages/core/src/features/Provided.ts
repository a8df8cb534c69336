/**
 * Services that are created for each request (`Middleware.provide` in the server package). A layer captures a marker instead of such a
 * service, and its handlers receive the value created for their request.
 *
 * Each request creates a service at most once, in its Scope. Without markers, none of this code runs.
 */
import type { McpError } from "@effect-mcp/protocol/McpError"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type { RequestServices } from "../request/RequestContext.ts"

/** Describes how a request creates a service. */
export interface Provision {
  /** Key of the service. */
  readonly key: string
  readonly make: Effect.Effect<unknown, McpError, RequestServices>
}

type Services = ReadonlyMap<string, unknown>

/** Keyed by marker, because a marker rejects all property access. */
const provisions = new WeakMap<object, Provision>()

/** Stands in for the service in a layer. Using it outside a handler is a defect that names the service. */
export const marker = (provision: Provision): object => {
  const refuse = (): never => {
    throw new Error(
      `${provision.key} is built for each request, so it is available in handlers but not in layers or change streams. ` +
        "Use it in a handler's effect, or provide the service that needs it with Middleware.provide as well."
    )
  }
  const made = new Proxy(() => {}, {
    get: (_, property) => (typeof property === "string" ? refuse() : undefined),
    has: () => false,
    set: refuse,
    apply: refuse
  })
  provisions.set(made, provision)
  return made
}

/** Returns the services that each request creates, or `undefined` if there are no such services. */
export const among = (services: Services): ReadonlyArray<Provision> | undefined => {
  const found: Array<Provision> = []
  for (const value of services.values()) {
    const provision = typeof value === "function" ? provisions.get(value) : undefined
    if (provision !== undefined) found.push(provision)
  }
  return found.length === 0 ? undefined : found
}

/** The services that a request has created. */
export class Provided extends Context.Service<Provided, ProvidedServices>()("@effect-mcp/core/Provided") {}

/** A request's service, from the first step of its `make`. */
class Made {
  readonly provision: Provision
  /** The next service of the same request. */
  readonly next: Made | undefined
  /** The exit of `make`. If the fiber is interrupted it stays `undefined`, and another fiber tries again. */
  exit: Exit.Exit<unknown, McpError> | undefined = undefined
  /** The fiber that is running `make`. */
  private maker: Fiber.Fiber<unknown, unknown> | undefined = undefined
  /** Completes when `make` is no longer running. Created by the first fiber that waits. */
  private ended: Deferred.Deferred<void> | undefined = undefined

  constructor(provision: Provision, next: Made | undefined) {
    this.provision = provision
    this.next = next
  }

  /** True if this fiber should run `make`: no other fiber is running it, or the one that was has ended between two steps. */
  claim(fiber: Fiber.Fiber<unknown, unknown>): boolean {
    const { maker } = this
    if (maker !== undefined && maker !== fiber && maker.pollUnsafe() === undefined) return false
    this.maker = fiber
    return true
  }

  /** Completes when `make` is no longer running. */
  get isEnded(): Effect.Effect<unknown> {
    const { maker } = this
    const ended = Deferred.await((this.ended ??= Deferred.makeUnsafe()))
    return maker === undefined ? Effect.void : Effect.raceFirst(ended, Fiber.await(maker))
  }

  end(exit: Exit.Exit<unknown, McpError>): void {
    const { ended } = this
    this.exit = exit
    this.maker = undefined
    if (ended !== undefined) Deferred.doneUnsafe(ended, Effect.void)
  }
}

/** A linked list, because most requests only create one or two services. */
export class ProvidedServices {
  private first: Made | undefined = undefined

  of(provision: Provision): Made {
    for (let made = this.first; made !== undefined; made = made.next) if (made.provision === provision) return made
    return (this.first = new Made(provision, this.first))
  }
}

const requestOf = (fiber: Fiber.Fiber<unknown, unknown>): ProvidedServices =>
  // Outside a server there is no request, so each handler creates its own services.
  Context.getOrUndefined(fiber.context, Provided) ?? new ProvidedServices()

/**
 * Runs `use` with the service. The first fiber in the request that needs the service creates it. Other fibers wait, and one of them creates
 * it if the first is interrupted. Runs in a handler's context.
 */
const using = <A, E, R>(
  provision: Provision,
  use: (service: unknown) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | McpError, R> =>
  Effect.withFiber((fiber): Effect.Effect<A, E | McpError, R> => {
    const service = requestOf(fiber).of(provision)
    const { exit } = service
    if (exit !== undefined) return Exit.isSuccess(exit) ? use(exit.value) : Exit.failCause(exit.cause)
    if (!service.claim(fiber)) return Effect.flatMap(service.isEnded, () => using(provision, use))
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the services of a request are in the context of every handler
    return Effect.matchCauseEffect(provision.make as Effect.Effect<unknown, McpError>, {
      onFailure: (cause) => {
        const exit = Exit.failCause(cause)
        service.end(exit)
        return exit
      },
      onSuccess: (value) => {
        service.end(Exit.succeed(value))
        return use(value)
      }
    })
  })

/** Returns the request's service. Runs in a handler's context. */
export const made = (provision: Provision): Effect.Effect<unknown, McpError> => using(provision, Effect.succeed)

type Above<R> = (context: Context.Context<R>) => Context.Context<R>

/** Creates these services and then runs `handle` with them. Runs in the handler's context. */
export const within = <A, E, R>(
  wanted: ReadonlyArray<Provision>,
  handle: () => Effect.Effect<A, E, R>,
  index = 0,
  above?: Above<R>
): Effect.Effect<A, E | McpError, R> => {
  const provision = wanted[index]
  if (provision === undefined) return above === undefined ? handle() : Effect.updateContext(handle(), above)
  return using(provision, (service) =>
    // Effect adds the service to the context without copying it, and keeps its cache of the services.
    within(wanted, handle, index + 1, (context) =>
      Context.addUnsafe<R, never, unknown>(above === undefined ? context : above(context), provision.key, service)
    )
  )
}
