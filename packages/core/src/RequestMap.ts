/**
 * The services of one request as a map that makes each when it is first asked for: most handlers use one or two of ten, and a request
 * must not pay for the others.
 *
 * The fast path of `RequestServices` (server) and of `Isolate`. A test holds it against a plain map of the same services.
 */
import type * as Context from "effect/Context"

type Services = ReadonlyMap<string, unknown>

interface Ingredient<Request> {
  readonly key: string
  readonly make: (request: Request) => unknown
}

/** How one service of a request is made. */
export const service = <I, S, Request>(tag: Context.Key<I, S>, make: (request: Request) => S): Ingredient<Request> => ({
  key: tag.key,
  make
})

/** What a request's services are made of. */
export class Recipe<Request> {
  readonly indexes: ReadonlyMap<string, number>
  readonly makers: ReadonlyArray<(request: Request) => unknown>

  constructor(ingredients: ReadonlyArray<Ingredient<Request>>) {
    this.indexes = new Map(ingredients.map(({ key }, i) => [key, i]))
    this.makers = ingredients.map(({ make }) => make)
  }
}

const sizes = new WeakMap<Services, number>()

/** The services of `request` over `base`, which is never changed. */
export class RequestMap<Request> implements ReadonlyMap<string, unknown> {
  private readonly base: Services
  private readonly recipe: Recipe<Request>
  private readonly request: Request
  /** Shared by all maps of the request. */
  private readonly made: Array<unknown>
  private all: Services | undefined = undefined

  constructor(base: Services, recipe: Recipe<Request>, request: Request, made: Array<unknown> = []) {
    this.base = base
    this.recipe = recipe
    this.request = request
    this.made = made
  }

  /** The same services over what `change` makes of the map below them. */
  over(change: (base: Services) => Services): RequestMap<Request> {
    return new RequestMap(change(this.base), this.recipe, this.request, this.made)
  }

  get(key: string): unknown {
    const index = this.recipe.indexes.get(key)
    return index === undefined ? this.base.get(key) : (this.made[index] ??= this.recipe.makers[index]?.(this.request))
  }

  has(key: string): boolean {
    return this.recipe.indexes.has(key) || this.base.has(key)
  }

  get size(): number {
    const known = sizes.get(this.base)
    if (known !== undefined) return known
    let size = this.base.size
    for (const key of this.recipe.indexes.keys()) if (!this.base.has(key)) size++
    sizes.set(this.base, size)
    return size
  }

  /** Everything at once: for whoever copies the map. */
  private whole(): Services {
    if (this.all !== undefined) return this.all
    const all = new Map(this.base)
    for (const key of this.recipe.indexes.keys()) all.set(key, this.get(key))
    this.all = all
    return all
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
