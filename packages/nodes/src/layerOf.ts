/** Builds a node's services from the parts of its network. */
import type { EventStore } from "@effect-mcp/server/EventStore"
import { type Bus, Nodes, type NodesUnavailable } from "@effect-mcp/server/Nodes"
import { RateLimitStore } from "@effect-mcp/server/RateLimitStore"
import { ReplayGuard } from "@effect-mcp/server/ReplayGuard"
import { SessionManagers } from "@effect-mcp/server/internal/sharing"
import * as StateSeal from "@effect-mcp/server/StateSeal"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { Directory } from "./directory/Directory.ts"
import type { DirectoryStore, Times } from "./directory/DirectoryStore.ts"
import type { NodeRelay } from "./relay/NodeRelay.ts"
import { sessionManagers } from "./sessions/sessionManagers.ts"
import { Outage } from "./directory/Outage.ts"
import { makeSharedReplies, type ReplyStore } from "./directory/SharedReplies.ts"

export interface Options {
  /**
   * How long a node that doesn't respond keeps its sessions. If a node's event loop blocks for longer than this, it loses its lease and the
   * requests that other nodes relayed to it, so set this to several times the event loop's longest pause. After another machine crashes,
   * its nodes' sessions are unavailable for this long. Default 6 seconds.
   */
  readonly lease?: Duration.Input | undefined
  /** How long to keep the sessions of a node that is gone, for clients that come back. Default 30 minutes. */
  readonly keep?: Duration.Input | undefined
  /**
   * Whether to share the server's `rateLimit` among the nodes. If so, an authenticated caller, or an address outside sessions, has a single
   * budget across all nodes. Each node then writes to the database whenever a caller has used a twentieth of a second's budget; no request
   * waits for that write. Default false: each node grants the full budget.
   */
  readonly sharedRateLimits?: boolean | undefined
}

export const timesOf = ({ keep = "30 minutes", lease = "6 seconds" }: Options): Times => {
  const whole = Duration.toMillis(Duration.fromInputUnsafe(lease))
  return { lease: whole * (5 / 6), grace: whole / 6, kept: Duration.toMillis(Duration.fromInputUnsafe(keep)) }
}

/** The parts that make up one kind of network. */
export interface NetworkOptions {
  readonly store: DirectoryStore
  readonly times: Times
  /** The address of this node's relay. */
  readonly address: string
  readonly relay: NodeRelay
  readonly bus: Bus
  readonly events: EventStore["Service"]
  readonly replies: ReplyStore
  /** The shared rate limits, or `undefined` if each node counts separately. */
  readonly rates: RateLimitStore["Service"] | undefined
  /** 32 bytes that the nodes share. */
  readonly key: Uint8Array
}

const sharedRates = (rates: NetworkOptions["rates"]): Context.Context<never> => {
  if (rates === undefined) return Context.empty()
  const outage = new Outage("The rate limit store")
  return Context.make(RateLimitStore, { settle: (uses) => outage.noted(rates.settle(uses)) })
}

export type NodeServices = Nodes | ReplayGuard | StateSeal.StateSeal

export const layerOf = <R>(
  network: Effect.Effect<NetworkOptions, NodesUnavailable, R>
): Layer.Layer<NodeServices, NodesUnavailable, Exclude<R, Scope.Scope>> =>
  Layer.unwrap(
    Effect.map(network, ({ address, bus, events, key, rates, relay, replies, store, times }) => {
      const services = Context.make(SessionManagers, sessionManagers())
      const node = Effect.map(Directory.make({ store, times, address, relay }), (directory) =>
        Context.make(Nodes, { directory, relay, bus, events, services }).pipe(
          Context.add(ReplayGuard, makeSharedReplies(replies, directory)),
          Context.merge(sharedRates(rates))
        )
      )
      return Layer.merge(Layer.effectContext(node), StateSeal.layer([{ id: "nodes", key: Redacted.make(key) }]))
    })
  )
