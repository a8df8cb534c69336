/**
 * Results that a server allows to be cached (spec 2026-07-28: server/utilities/caching).
 *
 * There is one cache per connection, so principals share nothing. It is bounded: the oldest results are dropped first. Results that a
 * notification makes stale are dropped at once.
 */
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import { sizeOf } from "../internal/sizeOf.ts"

/** Default maximum number of cached results. */
const defaultCapacity = 256
/** Default maximum size of all cached results in bytes. */
export const defaultBytes = 32 * 1024 * 1024

interface CachedResponse {
  readonly result: unknown
  readonly freshUntil: number
  readonly size: number
}

/** Returns a key made of the method and every part of the params that the result depends on. */
const keyOf = (method: string, params: unknown): string => {
  const { _meta, ...rest } = isJsonObject(params) ? params : { _meta: undefined }
  const sorted = Object.entries<unknown>(rest).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `${method} ${JSON.stringify(sorted)}`
}

export class ResponseCache {
  private readonly responses = new Map<string, CachedResponse>()
  /** Number of times that a method's results have been dropped as stale. */
  private readonly changes = new Map<string, number>()
  private readonly capacity: number
  private readonly maxBytes: number
  private bytes = 0

  constructor(capacity: number = defaultCapacity, maxBytes: number = defaultBytes) {
    this.capacity = capacity
    this.maxBytes = maxBytes
  }

  private delete(key: string): void {
    this.bytes -= this.responses.get(key)?.size ?? 0
    this.responses.delete(key)
  }

  get size(): number {
    return this.responses.size
  }

  /** Returns the result if it is fresh at `now` (milliseconds since 1970). */
  get(method: string, params: unknown, now: number): unknown {
    const key = keyOf(method, params)
    const entry = this.responses.get(key)
    if (entry === undefined) return undefined
    if (now < entry.freshUntil) return entry.result
    this.delete(key)
    return undefined
  }

  /** Increases with every `forget` of the method, because the result of an earlier request may be stale. */
  generation(method: string): number {
    return this.changes.get(method) ?? 0
  }

  /** Stores the result of a request that was sent in this generation, for its `ttlMs` from `now`. */
  put(method: string, params: unknown, result: JsonObject, generation: number, now: number): void {
    const { ttlMs } = result
    if (generation !== this.generation(method)) return
    if (this.capacity <= 0 || typeof ttlMs !== "number" || !(ttlMs > 0)) return
    const key = keyOf(method, params)
    this.delete(key)
    const size = key.length + sizeOf(result)
    if (size > this.maxBytes) return
    for (const oldest of this.responses.keys()) {
      if (this.responses.size < this.capacity && this.bytes + size <= this.maxBytes) break
      this.delete(oldest)
    }
    this.bytes += size
    this.responses.set(key, { result, freshUntil: now + ttlMs, size })
  }

  /** Drops the results of these methods. */
  forget(...methods: ReadonlyArray<string>): void {
    for (const method of methods) this.changes.set(method, this.generation(method) + 1)
    for (const key of this.responses.keys()) {
      if (methods.some((method) => key.startsWith(`${method} `))) this.delete(key)
    }
  }
}
