/**
 * Bounds the bytes that a server keeps for its clients: per session, per caller, and in all.
 *
 * A session keeps the client's declaration and the URIs that it subscribes to; an open `subscriptions/listen` keeps its request. A
 * request beyond a limit fails with -31429; its `data` has the limit, the given value and the allowed one.
 */
import type { CallLimits as ToolLimits } from "@effect-mcp/core/Tools"
import * as Principal from "@effect-mcp/core/Principal"
import { Shares } from "@effect-mcp/core/internal/Shares"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { Implementation } from "@effect-mcp/protocol/model/Implementation"
import { bytesOf } from "./internal/bytesOf.ts"

/**
 * Bounds of requests and kept bytes. Bytes are those of UTF-8; `Infinity` switches a limit off.
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
  /** Requests of one session that run at once; more wait. Default 64. */
  readonly inFlight?: number | undefined
  /** Requests of one session that wait; more are refused. Default 1024. */
  readonly pending?: number | undefined
  /** Time and size limits of tools without their own. Default 1 hour and 3 MiB. */
  readonly tool?: ToolLimits | undefined
  /** `clientInfo` and `capabilities` of `initialize`, as JSON. Default 16 KiB; icons that do not fit are not kept. */
  readonly clientBytes?: number | undefined
  /** One URI that is subscribed to. Default 8 KiB. */
  readonly uriBytes?: number | undefined
  /** URIs that a session is subscribed to (one more is refused) or a `subscriptions/listen` (no more are granted). Default 1024. */
  readonly subscriptions?: number | undefined
  /** All that one session keeps, 512 bytes for each subscription included. Default 1 MiB. */
  readonly sessionBytes?: number | undefined
  /**
   * All that is kept for one caller, over its sessions: a principal, or else an address (of IPv6 the first 64 bits). Default 16 MiB.
   * Callers without either, as over stdio, only count in `totalBytes`.
   */
  readonly callerBytes?: number | undefined
  /** All that is kept for all clients. Default 256 MiB. */
  readonly totalBytes?: number | undefined
}

/** An account of kept bytes: a session, or a request without one. */
export interface ByteAccount {
  readonly principal: Principal.Principal["Service"]
  /** The network address of the client, or `undefined` if it is not known. */
  readonly address?: string | undefined
  /** Bytes that are kept now. */
  kept: number
}

/** The bytes of a subscription beside its URI. */
const perSubscription = 512

const sizeOf = (value: unknown): number => bytesOf(JSON.stringify(value) ?? "").length

const refusal = (
  message: string,
  limit: Exclude<keyof Options, "tool">,
  given: number,
  allowed: number
): McpError.McpError =>
  McpError.limitExceeded(`${message}: ${given}, at most ${allowed} are allowed`, { limit, given, allowed })

/** Counts the kept bytes. */
export class Limits {
  private readonly clientBytes: number
  private readonly uriBytes: number
  /** How many URIs of one `subscriptions/listen` are granted. */
  readonly subscriptions: number
  private readonly sessionBytes: number
  /** Bytes that each caller makes the server keep. */
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
    if (own > sessionBytes) return refusal("Too many bytes to keep for one session", "sessionBytes", own, sessionBytes)
    const caller = Principal.callerKey(holder.principal, holder.address)
    const exceeded = shares.exceededBy(caller, bytes)
    if (exceeded === "perCaller") {
      const given = shares.of(caller) + bytes
      const allowed = shares.bounds.perCaller
      return refusal("Too many bytes to keep for all sessions of one caller", "callerBytes", given, allowed)
    }
    if (exceeded === "total") {
      const given = shares.total + bytes
      return refusal("Too many bytes to keep for all clients", "totalBytes", given, shares.bounds.total)
    }
    holder.kept = own
    shares.add(caller, bytes)
    return undefined
  }

  /** Bounded by the account: a release of the holder may have returned the bytes before. */
  private give(holder: ByteAccount, size: number): void {
    const bytes = Math.min(size, holder.kept)
    holder.kept -= bytes
    this.shares.add(Principal.callerKey(holder.principal, holder.address), -bytes)
  }

  /** Called when a session or a request is over. */
  release(holder: ByteAccount): void {
    this.give(holder, holder.kept)
  }

  /** The part of `clientInfo` that is kept: all of it, else all but its icons, else an error. */
  client(holder: ByteAccount, clientInfo: Implementation, capabilities: object): Implementation | McpError.McpError {
    const whole = sizeOf([clientInfo, capabilities])
    if (whole <= this.clientBytes) return this.take(holder, whole) ?? clientInfo
    const { icons: _tooLarge, ...named } = clientInfo
    const bytes = sizeOf([named, capabilities])
    return bytes <= this.clientBytes
      ? (this.take(holder, bytes) ?? named)
      : refusal("Too many bytes of clientInfo and capabilities", "clientBytes", bytes, this.clientBytes)
  }

  private uri(uri: string): McpError.McpError | undefined {
    const { uriBytes } = this
    // No character has more than three bytes, so most need not be counted.
    const bytes = uri.length * 3 <= uriBytes ? 0 : bytesOf(uri).length
    return bytes > uriBytes ? refusal("Too many bytes in a URI", "uriBytes", bytes, uriBytes) : undefined
  }

  /** Called before a session that has `count` subscriptions gets one more. */
  subscribe(holder: ByteAccount, uri: string, count: number): McpError.McpError | undefined {
    const { subscriptions } = this
    return count >= subscriptions
      ? refusal("Too many subscriptions of one session", "subscriptions", count + 1, subscriptions)
      : (this.uri(uri) ?? this.take(holder, perSubscription + bytesOf(uri).length))
  }

  /** Called when the subscription has ended. */
  unsubscribe(holder: ByteAccount, uri: string): void {
    this.give(holder, perSubscription + bytesOf(uri).length)
  }

  /** Called before `subscriptions/listen` reads its URIs. The bytes it takes, which `unlisten` returns. */
  listen(holder: ByteAccount, params: unknown, uris: ReadonlyArray<string>): number | McpError.McpError {
    for (const uri of uris) {
      const long = this.uri(uri)
      if (long !== undefined) return long
    }
    const bytes = perSubscription * (uris.length + 1) + sizeOf(params)
    return this.take(holder, bytes) ?? bytes
  }

  /** Called when the `subscriptions/listen` has ended. */
  unlisten(holder: ByteAccount, bytes: number): void {
    this.give(holder, bytes)
  }
}
