/**
 * The stateless era of a server (2026-07-28), which the first request of that era loads: most clients have sessions, and servers for
 * them start without it.
 */
import type { ReceivedRequest } from "@effect-mcp/core/Peer"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { metaOf } from "../request/RequestServices.ts"
import { loaded, loadRareParts, type RareParts } from "./loadRareParts.ts"
import type { Origin } from "./Origin.ts"
import type { StatelessEra } from "./StatelessEra.ts"
import type { Options } from "./statelessParts.ts"

/** Whether a request belongs to this era: by its `_meta`, never by its method. */
export const isModern = (request: JsonRpc.Request | JsonRpc.Notification): boolean =>
  metaOf(request)[Meta.protocolVersion] !== undefined

export class StatelessEntrance {
  private readonly options: Options
  private made: StatelessEra | undefined

  constructor(options: Options) {
    this.options = options
  }

  /** Undefined until the era is loaded, by this server or another one. */
  private get era(): StatelessEra | undefined {
    const parts = this.made === undefined ? loaded() : undefined
    return parts === undefined ? this.made : this.make(parts)
  }

  private make({ statelessEra }: RareParts): StatelessEra {
    return (this.made ??= statelessEra(this.options))
  }

  /** `base`: the context of the fiber that runs the effect at once; undefined where it must not start before it runs. */
  handle(
    origin: Origin,
    received: ReceivedRequest,
    base: Context.Context<never> | undefined
  ): Effect.Effect<unknown, McpError.McpError> {
    const { era } = this
    if (era !== undefined) return era.handle(origin, received, base)
    return Effect.flatMap(loadRareParts, (parts) => this.make(parts).handle(origin, received, undefined))
  }

  /** The result of a subscription that the server ends by itself; undefined for other methods, and before any request is handled. */
  readonly subscriptionResult: StatelessEra["subscriptionResult"] = (request) => this.era?.subscriptionResult(request)

  /** What the client says of itself in a notification of an extension: there is none before those are loaded. */
  readonly clientOf: StatelessEra["clientOf"] = (notification) => this.era?.clientOf(notification)
}
