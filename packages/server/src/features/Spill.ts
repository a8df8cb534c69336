/**
 * Keeps tool results that are too large to send. The client receives the beginning of the result and a link to a short-lived resource,
 * which it reads in ranges.
 *
 * A result belongs to the principal whose call it answers. Without one, its URI has 256 random bits, which only the caller learns. Results
 * are held in memory or in a registered store (`SpillStore`), with limits per caller and in total. To make room, the caller that holds the
 * most loses its oldest result.
 */
import { DeadlineQueue, type Fork, oldestOfHeaviest, Shares } from "@effect-mcp/core/internal/inFlight"
import { callerKey, Principal } from "@effect-mcp/core/Principal"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import * as Base64 from "@effect-mcp/protocol/internal/base64"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { ContentBlock } from "@effect-mcp/protocol/model/Content"
import type { ReadResourceResult } from "@effect-mcp/protocol/model/Resource"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import type * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { bytesOf } from "../internal/bytesOf.ts"
import type { SpillOptions } from "../Limits.ts"
import type { SpillBounds, Spilled, SpilledRange, SpilledResult, SpillStore, SpillUnavailable } from "./SpillStore.ts"

/** Bytes charged for each result in addition to its own. */
const perResult = 512

const scheme = "result://"
const address = /^result:\/\/([\w-]{43})(?:\?from=(\d{1,15})(?:&to=(\d{1,15}))?)?$/

const randomId = (): string => Base64.encodeUrl(globalThis.crypto.getRandomValues(new Uint8Array(32)))

/** Returns the start of the character that the byte at `at` belongs to. */
const characterAt = (bytes: Uint8Array, at: number): number => {
  let start = at
  while (start > 0 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start--
  return start
}

/**
 * Returns the end of the range. Text is never split within a character, and a range that is too small for a character
 * contains the whole character.
 */
const endOf = ({ bytes, isText }: Spilled, from: number, to: number): number => {
  if (!isText || to >= bytes.length) return Math.min(to, bytes.length)
  const end = characterAt(bytes, to)
  if (end > from) return end
  let next = from + 1
  while (next < bytes.length && ((bytes[next] ?? 0) & 0xc0) === 0x80) next++
  return next
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true })

const unreadable = (result: string, cause: Cause.Cause<SpillUnavailable>): Effect.Effect<never, McpError.McpError> =>
  Effect.andThen(
    Effect.logError("A kept result could not be read from its store", cause),
    Effect.fail(
      McpError.interrupted(`The result ${result} cannot be read now, because its store is unavailable. Try again later`)
    )
  )

/** Holds results in memory, for the same time each. */
class Memory implements SpillStore {
  private readonly shares: Shares
  private readonly kept = new Map<string, SpilledResult>()
  private readonly expiry: DeadlineQueue<SpilledResult>

  constructor(bounds: SpillBounds, timeToLive: number, clock: Clock.Clock, fork: Fork) {
    this.shares = new Shares(bounds)
    this.expiry = new DeadlineQueue(timeToLive, clock, fork, (kept) => this.forget(kept))
  }

  put(result: SpilledResult): Effect.Effect<void> {
    return Effect.sync(() => {
      this.makeRoom(result)
      this.kept.set(result.id, result)
      this.shares.add(result.caller, result.charge)
      this.expiry.add(result)
    })
  }

  private makeRoom({ caller, charge }: SpilledResult): void {
    for (
      let exceeded = this.shares.exceededBy(caller, charge);
      exceeded;
      exceeded = this.shares.exceededBy(caller, charge)
    ) {
      const all = [...this.kept.values()]
      const own = exceeded === "perCaller" ? all.filter((one) => one.caller === caller) : all
      const oldest = oldestOfHeaviest(own, (one) => one.charge, caller)
      if (oldest === undefined) return
      this.expiry.remove(oldest)
      this.forget(oldest)
    }
  }

  private forget(kept: SpilledResult): void {
    if (this.kept.delete(kept.id)) this.shares.add(kept.caller, -kept.charge)
  }

  read(id: string, owner: string | undefined, from: number, to: number): Effect.Effect<SpilledRange | undefined> {
    return Effect.sync(() => {
      const kept = this.kept.get(id)
      if (kept === undefined || kept.owner !== owner) return undefined
      const { bytes, isText, mimeType } = kept
      return { mimeType, isText, size: bytes.length, bytes: bytes.subarray(from, to) }
    })
  }
}

/** Number of bytes before and after a range that may belong to its first and last character. */
const margin = 3

export class Spill {
  private readonly options: { readonly [K in keyof SpillOptions]-?: Exclude<SpillOptions[K], undefined> }
  private readonly millis: number
  private readonly bounds: SpillBounds
  private readonly memory: SpillStore
  private registered: SpillStore | undefined

  constructor(options: SpillOptions, clock: Clock.Clock, fork: Fork) {
    this.options = {
      timeToLive: options.timeToLive ?? "10 minutes",
      rangeBytes: options.rangeBytes ?? 256 * 1024,
      previewBytes: options.previewBytes ?? 2 * 1024,
      callerBytes: options.callerBytes ?? 16 * 1024 * 1024,
      totalBytes: options.totalBytes ?? 128 * 1024 * 1024,
      withoutLinks: options.withoutLinks ?? false
    }
    this.millis = Duration.toMillis(Duration.fromInputUnsafe(this.options.timeToLive))
    this.bounds = { perCaller: this.options.callerBytes, total: this.options.totalBytes }
    this.memory = new Memory(this.bounds, this.millis, clock, fork)
  }

  /** True if results are kept in a registered store. */
  get hasStore(): boolean {
    return this.registered !== undefined
  }

  private get store(): SpillStore {
    return this.registered ?? this.memory
  }

  /** Keeps results in this store until the scope closes. */
  register(store: SpillStore): Effect.Effect<void, never, Scope.Scope> {
    const add = Effect.suspend(() => {
      if (this.hasStore)
        return Effect.die(new Error("The server already has a store for large results. Remove one of the two"))
      this.registered = store
      return Effect.void
    })
    return Effect.acquireRelease(add, () => Effect.sync(() => (this.registered = undefined)))
  }

  /**
   * Keeps a part of a tool's result for the caller of the current request. Returns the blocks that replace it, or `undefined` if the part
   * alone exceeds a limit, if the client's revision has no links, or if the store failed. `limit` is the size that the result exceeds.
   */
  keep(
    tool: string,
    limit: number,
    spilled: () => Spilled
  ): Effect.Effect<ReadonlyArray<ContentBlock> | undefined, never, Principal | RequestContext> {
    return Effect.flatMap(Effect.all([Principal, RequestContext]), ([principal, { envelope, revision }]) => {
      if (!revision.rules.resourceLinks && !this.options.withoutLinks) return Effect.undefined
      const part = spilled()
      const charge = part.bytes.length + perResult
      if (charge > this.bounds.perCaller || charge > this.bounds.total) return Effect.undefined
      const result: SpilledResult = {
        ...part,
        id: randomId(),
        owner: callerKey(principal),
        caller: callerKey(principal, envelope.address),
        charge,
        timeToLive: this.millis
      }
      const kept = Effect.map(
        Effect.suspend(() => this.store.put(result, this.bounds)),
        () => this.announce(tool, limit, result)
      )
      return Effect.catchCause(kept, (cause) =>
        Effect.as(
          Effect.logError(`The large result of the tool ${JSON.stringify(tool)} could not be kept`, cause),
          undefined
        )
      )
    })
  }

  private announce(tool: string, limit: number, kept: SpilledResult): ReadonlyArray<ContentBlock> {
    const { bytes, id, isText, mimeType } = kept
    const { previewBytes, rangeBytes } = this.options
    const uri = scheme + id
    const size = bytes.length
    const range = (from: number) => `${uri}?from=${from}&to=${Math.min(from + rangeBytes, size)}`
    const ranges = size <= rangeBytes ? range(0) : `${range(0)}, then ${range(rangeBytes)}, and so on up to ${size}`
    const shown = isText ? decoder.decode(bytes.subarray(0, endOf(kept, 0, Math.min(previewBytes, limit)))) : undefined
    const minutes = Number((this.millis / 60_000).toFixed(1))
    const text =
      `The result of the tool ${JSON.stringify(tool)} is too large to send at once: ${size} bytes of ${mimeType}, limit ${limit}. ` +
      `It can be read for ${minutes} minutes as the resource ${uri}, in ranges of at most ${rangeBytes} bytes: ${ranges}.`
    return [
      {
        type: "text",
        text: shown === undefined ? text : `${text} It begins with these ${bytesOf(shown).length} bytes:\n\n${shown}`
      },
      {
        type: "resource_link",
        uri,
        name: `${tool}-result`,
        title: `Result of ${tool}`,
        description: `${size} bytes, readable for ${minutes} minutes. A read returns at most ${rangeBytes} bytes, from the start or from a range such as ?from=0&to=${rangeBytes}.`,
        mimeType,
        size
      }
    ]
  }

  /** True if the URI may identify a kept result. */
  claims(uri: string): boolean {
    return uri.startsWith(scheme) && address.test(uri)
  }

  /**
   * Reads a range of a kept result, from the beginning by default. `otherwise` reads a URI that identifies no kept result. For any principal
   * other than its owner, a kept result doesn't exist.
   */
  read<R>(
    uri: string,
    otherwise: () => Effect.Effect<ReadResourceResult, McpError.McpError, R>
  ): Effect.Effect<ReadResourceResult, McpError.McpError, Principal | R> {
    const [, id = "", first = "0", last = Infinity] = address.exec(uri) ?? []
    const [from, to] = [Number(first), Number(last)]
    const start = Math.max(0, from - margin)
    const end = Math.max(from, Math.min(to, from + this.options.rangeBytes)) + margin
    return Effect.flatMap(Principal, (principal) => {
      const read = Effect.suspend(() => this.store.read(id, callerKey(principal), start, end))
      return Effect.flatMap(
        Effect.catchCause(read, (cause) => unreadable(scheme + id, cause)),
        (part) => (part === undefined ? otherwise() : this.rangeOf(scheme + id, from, to, start, part))
      )
    })
  }

  /** Returns a range of a result, given the part of it that begins at `start`. */
  private rangeOf(
    result: string,
    first: number,
    last: number,
    start: number,
    part: SpilledRange
  ): Effect.Effect<ReadResourceResult, McpError.McpError> {
    const { bytes, isText, mimeType, size } = part
    if (first >= Math.max(size, 1) || last <= first) {
      const range = `from ${first} to ${last === Infinity ? size : last}`
      return Effect.fail(McpError.invalidParams(`Invalid range for ${result}: ${range}. The result has ${size} bytes`))
    }
    const from = isText ? characterAt(bytes, first - start) : first - start
    // Counted from the requested position, so that consecutive ranges have no gaps.
    const to = endOf(part, from, Math.min(last, size, first + this.options.rangeBytes) - start)
    const [begin, end, shown] = [from + start, to + start, bytes.subarray(from, to)]
    const next = end < size ? { "effect-mcp/next": `${result}?from=${end}` } : undefined
    const about = { uri: `${result}?from=${begin}&to=${end}`, mimeType, _meta: { "effect-mcp/size": size, ...next } }
    return Effect.succeed({
      contents: [isText ? { ...about, text: decoder.decode(shown) } : { ...about, blob: Base64.encode(shown) }]
    })
  }
}

const textPart = (text: string, mimeType = "text/plain"): Spilled => ({ mimeType, bytes: bytesOf(text), isText: true })

const dataPart = (data: string, mimeType: string): Spilled => {
  const bytes = Base64.decode(data)
  return bytes === undefined ? textPart(data) : { mimeType, bytes, isText: false }
}

/** Returns the content to keep for a block. */
export const partOf = (block: ContentBlock): Spilled => {
  switch (block.type) {
    case "text":
      return textPart(block.text)
    case "image":
    case "audio":
      return dataPart(block.data, block.mimeType)
    case "resource": {
      const { resource } = block
      return "text" in resource
        ? textPart(resource.text, resource.mimeType)
        : dataPart(resource.blob, resource.mimeType ?? "application/octet-stream")
    }
    default:
      return textPart(JSON.stringify(block), "application/json")
  }
}

/** Returns the whole result as JSON. */
export const wholeOf = ({ content, structuredContent }: CallToolResult): Spilled =>
  textPart(
    JSON.stringify(structuredContent === undefined ? { content } : { content, structuredContent }),
    "application/json"
  )

/** Returns the structured content as JSON. */
export const structureOf = ({ structuredContent }: CallToolResult): Spilled =>
  textPart(JSON.stringify(structuredContent), "application/json")
