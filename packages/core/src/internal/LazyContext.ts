/**
 * The services of one request as a map that makes each when it is first read: most handlers use one or two of ten.
 *
 * The fast path of `RequestServices` (server) and of `HandlerContext`. A test compares it with a plain map of the same services.
 */
import type * as Context from "effect/Context"

type Services = ReadonlyMap<string, unknown>

interface ServiceFactory<Request> {
  readonly key: string
  readonly make: (request: Request) => unknown
}

/** How one service of a request is made. */
export const service = <I, S, Request>(
  tag: Context.Key<I, S>,
  make: (request: Request) => S
): ServiceFactory<Request> => ({
  key: tag.key,
  make
})

/** The index of a service in the table. */
class Slot {
  readonly index: number
  constructor(index: number) {
    this.index = index
  }
}

/** How each service of a request is made. */
export class ServiceTable<Request> {
  readonly makers: ReadonlyArray<(request: Request) => unknown>
  private readonly slots: ReadonlyMap<string, Slot>
  private readonly layouts = new WeakMap<Services, Services>()

  constructor(factories: ReadonlyArray<ServiceFactory<Request>>) {
    this.slots = new Map(factories.map(({ key }, i) => [key, new Slot(i)]))
    this.makers = factories.map(({ make }) => make)
  }

  /** `base` with the slots of the request's services: one map for all requests over it. */
  over(base: Services): Services {
    const known = this.layouts.get(base)
    if (known !== undefined) return known
    const layout = new Map([...base, ...this.slots])
    this.layouts.set(base, layout)
    return layout
  }
}

/** The services of `request` above those of `base`. `base` is not changed. */
export class LazyContext<Request> implements ReadonlyMap<string, unknown> {
  private readonly base: Services
  private readonly table: ServiceTable<Request>
  private readonly request: Request
  /** Shared by all maps of the request. */
  private readonly made: Array<unknown>
  private readonly layout: Services
  private all: Services | undefined = undefined

  constructor(base: Services, table: ServiceTable<Request>, request: Request, made: Array<unknown> = []) {
    this.base = base
    this.table = table
    this.request = request
    this.made = made
    this.layout = table.over(base)
  }

  /** The same services above another base: what `change` makes of this one. */
  over(change: (base: Services) => Services): LazyContext<Request> {
    return new LazyContext(change(this.base), this.table, this.request, this.made)
  }

  /** The services below those of the request. */
  get below(): Services {
    return this.base
  }

  get(key: string): unknown {
    const found = this.layout.get(key)
    return found instanceof Slot ? this.service(found.index) : found
  }

  private service(index: number): unknown {
    return (this.made[index] ??= this.table.makers[index]?.(this.request))
  }

  has(key: string): boolean {
    return this.layout.has(key)
  }

  get size(): number {
    return this.layout.size
  }

  /** All services, made: for code that copies the map. */
  private whole(): Services {
    if (this.all !== undefined) return this.all
    this.all = new Map(Array.from(this.layout.keys(), (key) => [key, this.get(key)]))
    return this.all
  }

  forEach(use: (value: unknown, key: string, map: Services) => void): void {
    for (const [key, value] of this.whole()) use(value, key, this)
  }
  entries(): MapIterator<[string, unknown]> {
    return this.whole().entries()
  }
  keys(): MapIterator<string> {
    return this.whole().keys()
  }
  values(): MapIterator<unknown> {
    return this.whole().values()
  }
  [Symbol.iterator](): MapIterator<[string, unknown]> {
    return this.entries()
  }
}
