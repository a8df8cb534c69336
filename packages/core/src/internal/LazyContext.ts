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
  readonly slots: ReadonlyMap<string, Slot>
  private readonly layouts = new WeakMap<Services, Services>()

  constructor(factories: ReadonlyArray<ServiceFactory<Request>>) {
    this.slots = new Map(factories.map(({ key }, i) => [key, new Slot(i)]))
    this.makers = factories.map(({ make }) => make)
  }

  /** `base` with the slots of the request's services: one map for all requests over it. */
  over(base: Services): Services {
    const known = this.layouts.get(base)
    if (known !== undefined) return known
    const layout = this.layout(base)
    this.layouts.set(base, layout)
    return layout
  }

  layout(base: Services): Services {
    return new Map([...base, ...this.slots])
  }
}

/**
 * The services of `request` above those of `base`. `base` is not changed. With `shared`, requests over one `base` share its layout; a base that
 * one request has is not copied to be read.
 */
export class LazyContext<Request> implements ReadonlyMap<string, unknown> {
  private readonly base: Services
  private readonly table: ServiceTable<Request>
  private readonly request: Request
  /** Shared by all maps of the request. */
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

  /** The same services above another base: what `change` makes of this one. */
  over(change: (base: Services) => Services): LazyContext<Request> {
    return new LazyContext(change(this.base), this.table, this.request, this.made, this.shared)
  }

  /** Whether both are the services of one request. */
  isOfRequest(other: LazyContext<unknown>): boolean {
    return this.made === other.made
  }

  /** Whether the request makes the service. */
  makes(key: string): boolean {
    return this.table.slots.has(key)
  }

  /** The services below those of the request. */
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

  /** Effect asks for it at each look-up. */
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

  /** All services, made: for code that copies the map. */
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
