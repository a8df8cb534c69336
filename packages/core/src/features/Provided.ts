/**
 * Services that are made for each request (`Middleware.provide` of the server): a feature's layer captures a marker in the place of such a
 * service, and its handlers see the value that their request made.
 *
 * A request makes each of them at most once, in its Scope. Without markers nothing here runs.
 */
import type { McpError } from "@effect-mcp/protocol/McpError"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type { RequestServices } from "../request/RequestContext.ts"

/** How a request makes one service. */
export interface Provision {
  /** The key of its tag. */
  readonly key: string
  readonly make: Effect.Effect<unknown, McpError, RequestServices>
}

type Services = ReadonlyMap<string, unknown>

export const provisions = new WeakMap<object, Provision>()

/** What a layer sees in the place of the service: any use of it, outside of a handler, is a defect that names the service. */
export const marker = (provision: Provision): object => {
  const refuse = (): never => {
    throw new Error(
      `${provision.key} is made for each request: handlers have it, layers and streams of changes do not. ` +
        "Require it in the effect of a handler, or make what needs it by Middleware.provide, too."
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

/** The services among these that each request makes; undefined where there are none. */
export const among = (services: Services): ReadonlyArray<Provision> | undefined => {
  const found: Array<Provision> = []
  for (const value of services.values()) {
    const provision = typeof value === "function" ? provisions.get(value) : undefined
    if (provision !== undefined) found.push(provision)
  }
  return found.length === 0 ? undefined : found
}

/** The services that one request has made. */
export class Provided extends Context.Service<Provided, ProvidedServices>()("@effect-mcp/core/Provided") {}

/** One service of one request, from the first step of its `make` on. */
class Made {
  readonly provision: Provision
  /** That of another provision. */
  readonly next: Made | undefined
  /** How making it ended. A fiber that is interrupted leaves it undefined: another one makes it again. */
  exit: Exit.Exit<unknown, McpError> | undefined = undefined
  /** The fiber that makes it. */
  private maker: Fiber.Fiber<unknown, unknown> | undefined = undefined
  /** Completes when it is no longer being made; made by the first fiber that waits. */
  private ended: Deferred.Deferred<void> | undefined = undefined

  constructor(provision: Provision, next: Made | undefined) {
    this.provision = provision
    this.next = next
  }

  /** Whether this fiber is to make it: no other fiber is, or the one that was has ended between two steps. */
  claim(fiber: Fiber.Fiber<unknown, unknown>): boolean {
    const { maker } = this
    if (maker !== undefined && maker !== fiber && maker.pollUnsafe() === undefined) return false
    this.maker = fiber
    return true
  }

  /** Completes when it is no longer being made. */
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

/** A list: most requests make one service or two. */
export class ProvidedServices {
  private first: Made | undefined = undefined

  of(provision: Provision): Made {
    for (let made = this.first; made !== undefined; made = made.next) if (made.provision === provision) return made
    return (this.first = new Made(provision, this.first))
  }
}

const requestOf = (fiber: Fiber.Fiber<unknown, unknown>): ProvidedServices =>
  // Outside of a server there is no request: each handler makes its own.
  Context.getOrUndefined(fiber.context, Provided) ?? new ProvidedServices()

/**
 * What `use` gives with the service, which the first fiber of the request that asks makes; a fiber that comes meanwhile waits, and makes it
 * where that one was interrupted. It runs in the context of a handler.
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

/** The service of the request. It runs in the context of a handler. */
export const made = (provision: Provision): Effect.Effect<unknown, McpError> => using(provision, Effect.succeed)

type Above<R> = (context: Context.Context<R>) => Context.Context<R>

/** What `handle` gives, once these services are made, and with them. It runs in the context of its handler. */
export const within = <A, E, R>(
  wanted: ReadonlyArray<Provision>,
  handle: () => Effect.Effect<A, E, R>,
  index = 0,
  above?: Above<R>
): Effect.Effect<A, E | McpError, R> => {
  const provision = wanted[index]
  if (provision === undefined) return above === undefined ? handle() : Effect.updateContext(handle(), above)
  return using(provision, (service) =>
    // Effect puts the service above those of the context, without a copy, and keeps what it caches of them.
    within(wanted, handle, index + 1, (context) =>
      Context.addUnsafe<R, never, unknown>(above === undefined ? context : above(context), provision.key, service)
    )
  )
}
