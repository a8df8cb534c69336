/**
 * What a server allowed to keep for a while (spec 2026-07-28: server/utilities/caching).
 *
 * One per connection, so nothing is shared between principals; bounded, the least recently stored go first. What a notification calls
 * stale is forgotten at once.
 */
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import { sizeOf } from "../internal/sizeOf.ts"

/** Answers kept at most. */
export const defaultCapacity = 256
/** Bytes that they may have together. */
export const defaultBytes = 32 * 1024 * 1024

interface Kept {
  readonly result: unknown
  readonly freshUntil: number
  readonly size: number
}

/** Everything of the params that the answer depends on. */
const keyOf = (method: string, params: unknown): string => {
  const { _meta, ...rest } = isJsonObject(params) ? params : { _meta: undefined }
  const sorted = Object.entries<unknown>(rest).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `${method} ${JSON.stringify(sorted)}`
}

export class ResponseCache {
  private readonly kept = new Map<string, Kept>()
  /** By method, how often its answers were called stale. */
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

  /** The answer, as long as it is fresh at `now` (milliseconds since the epoch). */
  get(method: string, params: unknown, now: number): unknown {
    const key = keyOf(method, params)
    const entry = this.kept.get(key)
    if (entry === undefined) return undefined
    if (now < entry.freshUntil) return entry.result
    this.delete(key)
    return undefined
  }

  /** Where the answers of a method stand: one that was asked for before `forget` may be stale when it arrives. */
  generation(method: string): number {
    return this.changes.get(method) ?? 0
  }

  /** Keeps an answer, asked for in that generation, for as long as its own `ttlMs` allows, from `now` on. */
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

  /** Forgets the answers of these methods. */
  forget(...methods: ReadonlyArray<string>): void {
    for (const method of methods) this.changes.set(method, this.generation(method) + 1)
    for (const key of this.kept.keys()) {
      if (methods.some((method) => key.startsWith(`${method} `))) this.delete(key)
    }
  }
}
