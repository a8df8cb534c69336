/**
 * Seals what a client carries between the rounds of a request (`requestState`), so that only this server can read or change it.
 *
 * Threat model: the client is the attacker. It may alter, truncate, replay, swap between requests, tools, arguments, principals and
 * servers. AEAD covers content and order of the payload; the associated data bind it to principal, revision, method, name and
 * arguments; an expiry bounds replay; `ReplayGuard` makes it single-use where it is provided. Every failure is one and the same -32602,
 * before the handler runs.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { loadRareParts } from "./loadRareParts.ts"
import { type Options, type SealingKey, StateSeal } from "../mrtr/StateSealService.ts"

export { invalidState, type Opened, type Options, type SealingKey, StateSeal } from "../mrtr/StateSealService.ts"

const implementation = Effect.map(loadRareParts, ({ AeadSeal }) => AeadSeal)

/**
 * Seals with the first key and opens with any: put a new key first to rotate, and drop an old one when its states have expired. Nodes that
 * serve one client share their keys. A key has 32 bytes; an `id` with other characters than A-Z a-z 0-9 _ - is a defect.
 *
 * @example
 * ```ts
 * import { McpServer, StateSeal } from "@effect-mcp/server"
 * import { Layer, Redacted } from "effect"
 *
 * // In production it comes from the secrets of the deployment, the same for every node.
 * const key = Redacted.make(crypto.getRandomValues(new Uint8Array(32)))
 * const seal = StateSeal.layer([{ id: "2026-01", key }], { timeToLive: "10 minutes" })
 *
 * export const server = McpServer.layer({ name: "orders", version: "1.0.0", features: Layer.empty }).pipe(
 *   Layer.provide(seal)
 * )
 * ```
 */
export const layer = (
  keys: readonly [SealingKey, ...ReadonlyArray<SealingKey>],
  options: Options = {}
): Layer.Layer<StateSeal> =>
  Layer.effect(
    StateSeal,
    Effect.flatMap(implementation, ({ ofKeys }) => ofKeys(keys, options))
  )

/** A key of this process, the default of a server: a state is invalid after a restart and at another node. */
export const layerRandom = (options: Options = {}): Layer.Layer<StateSeal> =>
  Layer.effect(
    StateSeal,
    Effect.flatMap(implementation, ({ ofRandomKey }) => ofRandomKey(options))
  )
