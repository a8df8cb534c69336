/**
 * Seals what a client carries between the rounds of a request (`requestState`), so that only this server can read or change it.
 *
 * Threat model: the client is the attacker. It may alter, truncate, replay, swap between requests, tools, arguments, principals and
 * servers. AEAD covers content and order of the payload; the associated data bind it to principal, revision, method, name and
 * arguments; an expiry bounds replay; `ReplayGuard` makes it single-use where that is asked for. Whatever fails is one and the same
 * -32602, before the handler runs.
 */
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import type { Journal } from "./Journal.ts"

/** What a sealed journal says beside itself. */
export interface Opened {
  readonly journal: Journal
  /** Unique per sealing. */
  readonly jti: string
  /** Milliseconds since the epoch. */
  readonly expires: number
}

export class StateSeal extends Context.Service<
  StateSeal,
  {
    /** `binding` is the text of the request that the state belongs to. */
    readonly seal: (journal: Journal, binding: string) => Effect.Effect<string>
    readonly open: (state: string, binding: string) => Effect.Effect<Opened, McpError.McpError>
  }
>()("@effect-mcp/server/StateSeal") {}

export interface Options {
  /** How long a client may take to answer. Default 1 hour. */
  readonly timeToLive?: Duration.Input | undefined
}

/** A key of 32 bytes. Its `id` travels in the clear, so that keys can be rotated. */
export interface SealingKey {
  readonly id: string
  readonly key: Redacted.Redacted<Uint8Array>
}

/** The one answer to any state that is not exactly what this server sealed for exactly this request. */
export const invalidState = (): McpError.McpError => McpError.invalidParams("Invalid or expired requestState")

const implementation = Effect.promise(() => import("./AeadSeal.ts"))

/** Seals with the first key, opens with any: put a new key first to rotate, drop an old one when its states have expired. */
export const layer = (
  keys: readonly [SealingKey, ...ReadonlyArray<SealingKey>],
  options: Options = {}
): Layer.Layer<StateSeal> => Layer.unwrap(Effect.map(implementation, (aead) => aead.layer(keys, options)))

/** A key of this process only: a state does not survive a restart, nor travel to another node. What a server uses by default. */
export const layerRandom = (options: Options = {}): Layer.Layer<StateSeal> =>
  Layer.unwrap(Effect.map(implementation, (aead) => aead.layerRandom(options)))
