/**
 * Keeps tool results that are too large to send. The client receives the beginning of the result and a link to a short-lived resource,
 * which it reads in ranges.
 *
 * A result belongs to the principal whose call it answers. Without one, its URI has 256 random bits, which only the caller learns. Results
 * are held in memory, with limits per caller and in total. To make room, the caller that holds the most loses its oldest result.
 */
import { DeadlineQueue, type Fork, oldestOfHeaviest, Shares } from "@effect-mcp/core/internal/inFlight"
import { callerKey, Principal } from "@effect-mcp/core/Principal"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import { notFound } from "@effect-mcp/core/Resources"
import * as Base64 from "@effect-mcp/protocol/internal/base64"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { ContentBlock } from "@effect-mcp/protocol/model/Content"
import type { ReadResourceResult } from "@effect-mcp/protocol/model/Resource"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { bytesOf } from "../internal/bytesOf.ts"
import type { SpillOptions } from "../Limits.ts"

/** The part of a result that is kept. */
export interface Spilled {
  readonly mimeType: string
  /** UTF-8 if `isText`. */
  readonly bytes: Uint8Array
  readonly isText: boolean
}

interface Kept extends Spilled {
  readonly id: string
  /** Key of the principal, or `undefined` if the caller is anonymous. */
  readonly owner: string | undefined
  /** The caller that the bytes are charged to. */
  readonly caller: string | undefined
  readonly size: number
}

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

export class Spill {
  private readonly options: { readonly [K in keyof SpillOptions]-?: Exclude<SpillOptions[K], undefined> }
  private readonly millis: number
  private readonly shares: Shares
  private readonly kept = new Map<string, Kept>()
  private readonly expiry: DeadlineQueue<Kept>

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
    this.shares = new Shares({ total: this.options.totalBytes, perCaller: this.options.callerBytes })
    this.expiry = new DeadlineQueue(this.millis, clock, fork, (kept) => this.forget(kept))
  }

  /** Bytes held for all callers. */
  get held(): number {
    return this.shares.total
  }

  /**
   * Keeps a part of a tool's result for the caller of the current request. Returns the blocks that replace it, or `undefined` if the part
   * alone exceeds a limit, or if the client's revision has no links. `limit` is the size that the result exceeds.
   */
  keep(
    tool: string,
    limit: number,
    spilled: () => Spilled
  ): Effect.Effect<ReadonlyArray<ContentBlock> | undefined, never, Principal | RequestContext> {
    return Effect.map(Effect.all([Principal, RequestContext]), ([principal, { envelope, revision }]) => {
      if (!revision.rules.resourceLinks && !this.options.withoutLinks) return undefined
      const part = spilled()
      const kept: Kept = {
        ...part,
        id: randomId(),
        owner: callerKey(principal),
        caller: callerKey(principal, envelope.address),
        size: part.bytes.length + perResult
      }
      if (!this.makeRoom(kept)) return undefined
      this.kept.set(kept.id, kept)
      this.shares.add(kept.caller, kept.size)
      this.expiry.add(kept)
      return this.announce(tool, limit, kept)
    })
  }

  private makeRoom({ caller, size }: Kept): boolean {
    const { perCaller, total } = this.shares.bounds
    if (size > perCaller || size > total) return false
    for (
      let exceeded = this.shares.exceededBy(caller, size);
      exceeded;
      exceeded = this.shares.exceededBy(caller, size)
    ) {
      const all = [...this.kept.values()]
      const own = exceeded === "perCaller" ? all.filter((one) => one.caller === caller) : all
      const oldest = oldestOfHeaviest(own, (one) => one.size, caller)
      if (oldest === undefined) return false
      this.expiry.remove(oldest)
      this.forget(oldest)
    }
    return true
  }

  private forget(kept: Kept): void {
    if (this.kept.delete(kept.id)) this.shares.add(kept.caller, -kept.size)
  }

  private announce(tool: string, limit: number, kept: Kept): ReadonlyArray<ContentBlock> {
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

  /** True if the URI identifies a kept result. */
  claims(uri: string): boolean {
    return this.kept.size > 0 && this.kept.has(address.exec(uri)?.[1] ?? "")
  }

  /**
   * Reads a range of a kept result, from the beginning by default. For any principal other than its owner, the result
   * doesn't exist.
   */
  read(uri: string): Effect.Effect<ReadResourceResult, McpError.McpError, Principal | RequestContext> {
    return Effect.flatMap(Principal, (principal) => this.rangeOf(uri, principal) ?? notFound(uri))
  }

  private rangeOf(
    uri: string,
    principal: Principal["Service"]
  ): Effect.Effect<ReadResourceResult, McpError.McpError> | undefined {
    const [, id = "", first = "0", last] = address.exec(uri) ?? []
    const kept = this.kept.get(id)
    if (kept === undefined || kept.owner !== callerKey(principal)) return undefined
    const { bytes, isText, mimeType } = kept
    const size = bytes.length
    if (Number(first) >= Math.max(size, 1) || (last !== undefined && Number(last) <= Number(first))) {
      return Effect.fail(
        McpError.invalidParams(
          `Invalid range for ${scheme}${id}: from ${first} to ${last ?? size}. The result has ${size} bytes`
        )
      )
    }
    const from = isText ? characterAt(bytes, Number(first)) : Number(first)
    // Counted from the requested position, so that consecutive ranges have no gaps.
    const to = endOf(kept, from, Math.min(Number(last ?? size), Number(first) + this.options.rangeBytes))
    const part = bytes.subarray(from, to)
    const next = to < size ? { "effect-mcp/next": `${scheme}${id}?from=${to}` } : undefined
    const about = { uri: `${scheme}${id}?from=${from}&to=${to}`, mimeType, _meta: { "effect-mcp/size": size, ...next } }
    return Effect.succeed({
      contents: [isText ? { ...about, text: decoder.decode(part) } : { ...about, blob: Base64.encode(part) }]
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
