/**
 * A request's services as a map that creates each service when it is first read, because most handlers only use one or two of ten.
 *
 * This is the fast path of `RequestServices` (server) and `HandlerContext`. A test compares it with a plain map of the same services.
 */
import type * as Context from "effect/Context"
import { memoize } from "effect/Function"

type Services = ReadonlyMap<string, unknown>

interface ServiceFactory<Request> {
  readonly key: string
  readonly make: (request: Request) => unknown
}

/** Describes how to create one of a request's services. */
export const service = <I, S, Request>(
  tag: Context.Key<I, S>,
  make: (request: Request) => S
): ServiceFactory<Request> => ({
  key: tag.key,
  make
})

/** Index of a service in the table. */
class Slot {
  readonly index: number
  constructor(index: number) {
    this.index = index
  }
}

/** Describes how to create each of a request's services. */
export class ServiceTable<Request> {
  readonly makers: ReadonlyArray<(request: Request) => unknown>
  readonly slots: ReadonlyMap<string, Slot>
  /** Adds slots for the request's services to `base`. All requests with the same `base` share the map. */
  readonly over = memoize((base: Services): Services => this.layout(base))

  constructor(factories: ReadonlyArray<ServiceFactory<Request>>) {
    this.slots = new Map(factories.map(({ key }, i) => [key, new Slot(i)]))
    this.makers = factories.map(({ make }) => make)
  }

  layout(base: Services): Services {
    return new Map([...base, ...this.slots])
  }
}

/**
 * Returns the services of `request` on top of `base`, which stays unchanged. With `shared`, requests with the same
 * `base` share its layout. A base that only one request uses is not copied when it is read.
 */
export class LazyContext<Request> implements ReadonlyMap<string, unknown> {
  private readonly base: Services
  private readonly table: ServiceTable<Request>
  private readonly request: Request
  /** Shared by all of the request's maps. */
  private readonly made: Array<unknown>
  readonly shared: boolean
  private layout: Services | undefined
  private count: number | undefined = undefined
  private all: Services | undefined = undefined

  constructor(
    base: Services,
    table: ServiceTable<Request>,
    request: Request,
    made: Array<unknown> = [],
    shared: boolean = true
  ) {
    this.base = base
    this.table = table
    this.request = request
    this.made = made
    this.shared = shared
    this.layout = shared ? table.over(base) : undefined
  }

  /** Returns the same services on top of the context that `change` returns. */
  over(change: (base: Services) => Services): LazyContext<Request> {
    return new LazyContext(change(this.base), this.table, this.request, this.made, this.shared)
  }

  /** True if both belong to the same request. */
  isOfRequest(other: LazyContext<unknown>): boolean {
    return this.made === other.made
  }

  /** True if the request creates the service. */
  makes(key: string): boolean {
    return this.table.slots.has(key)
  }

  /** The context without the request's own services. */
  get below(): Services {
    return this.base
  }

  get(key: string): unknown {
    const { layout } = this
    const found = layout === undefined ? (this.table.slots.get(key) ?? this.base.get(key)) : layout.get(key)
    return found instanceof Slot ? this.service(found.index) : found
  }

  private service(index: number): unknown {
    return (this.made[index] ??= this.table.makers[index]?.(this.request))
  }

  has(key: string): boolean {
    return this.layout === undefined ? this.table.slots.has(key) || this.base.has(key) : this.layout.has(key)
  }

  /** Effect reads the size on each lookup. */
  get size(): number {
    if (this.layout !== undefined) return this.layout.size
    if (this.count !== undefined) return this.count
    this.count = this.base.size
    for (const key of this.table.slots.keys()) if (!this.base.has(key)) this.count++
    return this.count
  }

  private get laidOut(): Services {
    return (this.layout ??= this.table.layout(this.base))
  }

  /** Creates and returns all services, for code that copies the map. */
  private whole(): Services {
    if (this.all !== undefined) return this.all
    this.all = new Map(Array.from(this.laidOut.keys(), (key) => [key, this.get(key)]))
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
