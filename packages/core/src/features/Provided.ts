/**
 * Services that are made for each request (`Middleware.provide` of the server): a feature's layer captures a marker in the place of such a
 * service, and its handlers see the value that their request made.
 *
 * A request makes each of them at most once, in its Scope. Without markers nothing here runs.
 */
import type { McpError } from "@effect-mcp/protocol/McpError"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
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
  isBeingMade = false
  /** How making it ended; undefined where it is being made, or has to be made again. */
  exit: Exit.Exit<unknown, McpError> | undefined = undefined
  /** Completes when it is no longer being made; made by the first fiber that waits. */
  private ended: Deferred.Deferred<void> | undefined = undefined

  constructor(provision: Provision, next: Made | undefined) {
    this.provision = provision
    this.next = next
  }

  get isEnded(): Effect.Effect<void> {
    return Deferred.await((this.ended ??= Deferred.makeUnsafe()))
  }

  /** An interruption belongs to the fiber that made it: another one makes it again. */
  end(exit: Exit.Exit<unknown, McpError>): void {
    const { ended } = this
    this.isBeingMade = false
    this.ended = undefined
    if (Exit.isSuccess(exit) || !Cause.hasInterrupts(exit.cause)) this.exit = exit
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

const requestOf = ({ mapUnsafe }: Context.Context<never>): ProvidedServices => {
  const provided = mapUnsafe.get(Provided.key)
  // Outside of a server there is no request: each handler makes its own.
  return provided instanceof ProvidedServices ? provided : new ProvidedServices()
}

/**
 * The service, made by the first fiber of the request that asks; a fiber that comes meanwhile waits, and makes it where that one was
 * interrupted. It runs in the context of a handler.
 */
export const made = (provision: Provision): Effect.Effect<unknown, McpError> => {
  let mine: Made | undefined
  const obtain = (context: Context.Context<never>): Effect.Effect<unknown, McpError> => {
    const service = requestOf(context).of(provision)
    if (service.exit !== undefined) return service.exit
    if (service.isBeingMade) return Effect.flatMap(service.isEnded, () => obtain(context))
    service.isBeingMade = true
    mine = service
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the services of a request are in the context of every handler
    return provision.make as Effect.Effect<unknown, McpError>
  }
  // It is claimed inside of `onExit`: a fiber may be interrupted between any two steps.
  return Effect.onExitPrimitive(Effect.contextWith(obtain), (exit) => {
    mine?.end(exit)
    return undefined
  })
}

/** What `handle` gives, once these services are made, and with them. It runs in the context of its handler. */
export const within = <A, E, R>(
  wanted: ReadonlyArray<Provision>,
  handle: () => Effect.Effect<A, E, R>,
  index = 0
): Effect.Effect<A, E | McpError, R> => {
  const provision = wanted[index]
  if (provision === undefined) return handle()
  // Effect puts the service above those of the context, without a copy, and keeps what it caches of them.
  return Effect.flatMap(made(provision), (service) =>
    Effect.updateContext(within(wanted, handle, index + 1), (context: Context.Context<R>) =>
      Context.addUnsafe<R, never, unknown>(context, provision.key, service)
    )
  )
}
