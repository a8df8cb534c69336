/**
 * The results that a server allows to be cached (spec 2026-07-28: server/utilities/caching).
 *
 * One cache per connection, so nothing is shared between principals. Bounded: the results that were stored first are dropped first.
 * Results that a notification makes stale are dropped at once.
 */
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import { sizeOf } from "../internal/sizeOf.ts"

/** Results that are cached at most, unless the client says otherwise. */
export const defaultCapacity = 256
/** Bytes that all cached results may have together, unless the client says otherwise. */
export const defaultBytes = 32 * 1024 * 1024

interface Kept {
  readonly result: unknown
  readonly freshUntil: number
  readonly size: number
}

/** The method and every part of the params that the result depends on. */
const keyOf = (method: string, params: unknown): string => {
  const { _meta, ...rest } = isJsonObject(params) ? params : { _meta: undefined }
  const sorted = Object.entries<unknown>(rest).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `${method} ${JSON.stringify(sorted)}`
}

export class ResponseCache {
  private readonly kept = new Map<string, Kept>()
  /** By method, how often its results were dropped as stale. */
  private readonly changes = new Map<string, number>()
  private readonly capacity: number
  private readonly maxBytes: number
  private bytes = 0

  constructor(capacity: number = defaultCapacity, maxBytes: number = defaultBytes) {
    this.capacity = capacity
    this.maxBytes = maxBytes
  }

  private delete(key: string): void {
    this.bytes -= this.kept.get(key)?.size ?? 0
    this.kept.delete(key)
  }

  get size(): number {
    return this.kept.size
  }

  /** The result, if it is fresh at `now` (milliseconds since the epoch). */
  get(method: string, params: unknown, now: number): unknown {
    const key = keyOf(method, params)
    const entry = this.kept.get(key)
    if (entry === undefined) return undefined
    if (now < entry.freshUntil) return entry.result
    this.delete(key)
    return undefined
  }

  /** Grows with every `forget` of the method: a request that was sent before may bring a stale result. */
  generation(method: string): number {
    return this.changes.get(method) ?? 0
  }

  /** Stores the result of a request that was sent in that generation, for its own `ttlMs` from `now` on. */
  put(method: string, params: unknown, result: JsonObject, generation: number, now: number): void {
    const { ttlMs } = result
    if (generation !== this.generation(method)) return
    if (this.capacity <= 0 || typeof ttlMs !== "number" || !(ttlMs > 0)) return
    const key = keyOf(method, params)
    this.delete(key)
    const size = key.length + sizeOf(result)
    if (size > this.maxBytes) return
    for (const oldest of this.kept.keys()) {
      if (this.kept.size < this.capacity && this.bytes + size <= this.maxBytes) break
      this.delete(oldest)
    }
    this.bytes += size
    this.kept.set(key, { result, freshUntil: now + ttlMs, size })
  }

  /** Drops the results of these methods. */
  forget(...methods: ReadonlyArray<string>): void {
    for (const method of methods) this.changes.set(method, this.generation(method) + 1)
    for (const key of this.kept.keys()) {
      if (methods.some((method) => key.startsWith(`${method} `))) this.delete(key)
    }
  }
}
