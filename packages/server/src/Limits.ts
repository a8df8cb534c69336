/**
 * Limits how many bytes the server holds for its clients: per session, per caller, and in total.
 *
 * A session holds the client's info and capabilities and its subscribed URIs. An open `subscriptions/listen` holds its request. A request
 * that exceeds a limit fails with -31429; the error's `data` contains the limit, the actual value, and the maximum.
 */
import type { CallLimits as ToolLimits } from "@effect-mcp/core/Tools"
import * as Principal from "@effect-mcp/core/Principal"
import { Shares } from "@effect-mcp/core/internal/inFlight"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import type * as Duration from "effect/Duration"
import { bytesOf } from "./internal/bytesOf.ts"

/**
 * Limits on concurrent requests and held bytes. Bytes are counted as UTF-8. Set a limit to `Infinity` to disable it.
 *
 * @example
 * ```ts
 * import { type Limits, McpServer } from "@effect-mcp/server"
 * import { Layer } from "effect"
 *
 * const limits: Limits.Options = { inFlight: 8, tool: { time: "30 seconds", bytes: 64 * 1024 } }
 *
 * export const server = McpServer.layer({ name: "search", version: "1.0.0", features: Layer.empty, limits })
 * ```
 */
export interface Options {
  /** Maximum number of concurrent requests per session. Further requests wait. Default 64. */
  readonly inFlight?: number | undefined
  /** Maximum number of waiting requests per session. Further requests are rejected. Default 1024. */
  readonly pending?: number | undefined
  /** Time and size limits for tools that don't set their own. Default 1 hour and 3 MiB. */
  readonly tool?: ToolLimits | undefined
  /**
   * How to send results that exceed a tool's size limit. If spilling is on, the client receives the beginning and a link to a short-lived
   * resource, which it reads in ranges. If it is off, the client receives an error that names the limit. Default: on for servers that offer
   * resources, because clients read resources only from servers that declare them. `true` or options also declare resources.
   */
  readonly spill?: SpillOptions | boolean | undefined
  /** Maximum JSON size of `clientInfo` and `capabilities` in `initialize`. If icons exceed it, they are dropped. Default 16 KiB. */
  readonly clientBytes?: number | undefined
  /** Maximum size of a subscribed URI. Default 8 KiB. */
  readonly uriBytes?: number | undefined
  /**
   * Maximum number of URIs that a session or a `subscriptions/listen` may subscribe to. A session's further subscriptions are rejected; a
   * `subscriptions/listen` is granted only the first ones. Default 1024.
   */
  readonly subscriptions?: number | undefined
  /** Maximum bytes held per session, including 512 bytes for each subscription. Default 1 MiB. */
  readonly sessionBytes?: number | undefined
  /**
   * Maximum bytes held per caller, across all of the caller's sessions. A caller is a principal, or else an address (for IPv6, its first 64
   * bits). Callers with neither, such as over stdio, only count toward `totalBytes`. Default 16 MiB.
   */
  readonly callerBytes?: number | undefined
  /** Maximum bytes held for all clients together. Default 256 MiB. */
  readonly totalBytes?: number | undefined
}

/**
 * Results that are too large to send. They are held in memory, or in the database of tasks with the layer of `@effect-mcp/tasks/spill`. A
 * result belongs to the principal whose call it answers; a result for an anonymous caller can be read by everyone who knows its URI, which
 * has 256 random bits.
 */
export interface SpillOptions {
  /** How long a result can be read. Default 10 minutes. */
  readonly timeToLive?: Duration.Input | undefined
  /** Maximum bytes that one read returns. Default 256 KiB. */
  readonly rangeBytes?: number | undefined
  /** Bytes of the result's beginning that the client receives at once. Default 2 KiB. */
  readonly previewBytes?: number | undefined
  /**
   * Maximum bytes held per caller. To make room, a caller loses its oldest result. A result that is larger than this
   * becomes an error. Default 16 MiB.
   */
  readonly callerBytes?: number | undefined
  /** Maximum bytes held for all callers. The caller that holds the most loses its oldest result. Default 128 MiB. */
  readonly totalBytes?: number | undefined
  /**
   * Whether to spill for clients that use revisions before 2025-06-18, which see the link as text. Default false: these
   * clients receive the error.
   */
  readonly withoutLinks?: boolean | undefined
}

/** The account that held bytes are charged to: a session, or a request without a session. */
export interface ByteAccount {
  readonly principal: Principal.Principal["Service"]
  /** The client's network address, or `undefined` if unknown. */
  readonly address?: string | undefined
  /** Number of bytes currently held. */
  kept: number
}

/** Bytes charged for a subscription in addition to its URI. */
const perSubscription = 512

const sizeOf = (value: unknown): number => bytesOf(JSON.stringify(value) ?? "").length

const refusal = (
  message: string,
  limit: Exclude<keyof Options, "spill" | "tool">,
  given: number,
  allowed: number
): McpError.McpError => McpError.limitExceeded(`${message}: ${given}, limit ${allowed}`, { limit, given, allowed })

/** Keeps track of held bytes. */
export class Limits {
  private readonly clientBytes: number
  private readonly uriBytes: number
  /** Maximum number of URIs granted per `subscriptions/listen`. */
  readonly subscriptions: number
  private readonly sessionBytes: number
  /** Bytes held per caller. */
  private readonly shares: Shares

  constructor(options: Options = {}) {
    this.clientBytes = options.clientBytes ?? 16 * 1024
    this.uriBytes = options.uriBytes ?? 8 * 1024
    this.subscriptions = options.subscriptions ?? 1024
    this.sessionBytes = options.sessionBytes ?? 1024 * 1024
    this.shares = new Shares({
      total: options.totalBytes ?? 256 * 1024 * 1024,
      perCaller: options.callerBytes ?? 16 * 1024 * 1024
    })
  }

  private take(holder: ByteAccount, bytes: number): McpError.McpError | undefined {
    const { sessionBytes, shares } = this
    const own = holder.kept + bytes
    if (own > sessionBytes) return refusal("Too many bytes held for one session", "sessionBytes", own, sessionBytes)
    const caller = Principal.callerKey(holder.principal, holder.address)
    const exceeded = shares.exceededBy(caller, bytes)
    if (exceeded === "perCaller") {
      const given = shares.of(caller) + bytes
      const allowed = shares.bounds.perCaller
      return refusal("Too many bytes held for all sessions of one caller", "callerBytes", given, allowed)
    }
    if (exceeded === "total") {
      const given = shares.total + bytes
      return refusal("Too many bytes held for all clients", "totalBytes", given, shares.bounds.total)
    }
    holder.kept = own
    shares.add(caller, bytes)
    return undefined
  }

  /** Never releases more than the account holds, because releasing the whole account may already have released these bytes. */
  private give(holder: ByteAccount, size: number): void {
    const bytes = Math.min(size, holder.kept)
    holder.kept -= bytes
    this.shares.add(Principal.callerKey(holder.principal, holder.address), -bytes)
  }

  /** Called when a session or request ends. */
  release(holder: ByteAccount): void {
    this.give(holder, holder.kept)
  }

  /** Returns the `clientInfo` to keep, without its icons if they exceed the limit, or an error if it is too large even without them. */
  client(holder: ByteAccount, clientInfo: Implementation, capabilities: object): Implementation | McpError.McpError {
    const whole = sizeOf([clientInfo, capabilities])
    if (whole <= this.clientBytes) return this.take(holder, whole) ?? clientInfo
    const { icons: _tooLarge, ...named } = clientInfo
    const bytes = sizeOf([named, capabilities])
    return bytes <= this.clientBytes
      ? (this.take(holder, bytes) ?? named)
      : refusal("clientInfo and capabilities are too large", "clientBytes", bytes, this.clientBytes)
  }

  private uri(uri: string): McpError.McpError | undefined {
    const { uriBytes } = this
    // A character takes at most three bytes, so most URIs need not be encoded to be measured.
    const bytes = uri.length * 3 <= uriBytes ? 0 : bytesOf(uri).length
    return bytes > uriBytes ? refusal("The URI is too long", "uriBytes", bytes, uriBytes) : undefined
  }

  /** Called before adding a subscription to a session that has `count` of them. */
  subscribe(holder: ByteAccount, uri: string, count: number): McpError.McpError | undefined {
    const { subscriptions } = this
    return count >= subscriptions
      ? refusal("Too many subscriptions in one session", "subscriptions", count + 1, subscriptions)
      : (this.uri(uri) ?? this.take(holder, perSubscription + bytesOf(uri).length))
  }

  /** Called when a subscription ends. */
  unsubscribe(holder: ByteAccount, uri: string): void {
    this.give(holder, perSubscription + bytesOf(uri).length)
  }

  /** Called before `subscriptions/listen` reads its URIs. Returns the number of bytes charged; pass it to `unlisten` to release them. */
  listen(holder: ByteAccount, params: unknown, uris: ReadonlyArray<string>): number | McpError.McpError {
    for (const uri of uris) {
      const long = this.uri(uri)
      if (long !== undefined) return long
    }
    const bytes = perSubscription * (uris.length + 1) + sizeOf(params)
    return this.take(holder, bytes) ?? bytes
  }

  /** Called when a `subscriptions/listen` ends. */
  unlisten(holder: ByteAccount, bytes: number): void {
    this.give(holder, bytes)
  }
}
