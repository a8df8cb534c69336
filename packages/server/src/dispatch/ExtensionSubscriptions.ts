/** Kinds of `subscriptions/listen` that extensions define: the subscriptions that are granted, and their notifications. */
import type { ClientDeclaration } from "@effect-mcp/core/ClientInput"
import * as Extension from "@effect-mcp/core/Extension"
import type { Caller, Message } from "@effect-mcp/core/Extensions"
import { objectOf } from "@effect-mcp/core/internal/codecs"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import type * as McpError from "@effect-mcp/protocol/McpError"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { ExtensionSet } from "../features/ExtensionRegistry.ts"
import { undeclared } from "./ExtensionMethods.ts"

/** A notification as sent on the wire. */
export interface WireNotification {
  readonly method: string
  readonly params: JsonObject
}

/** A granted subscription of one kind. */
export interface ExtensionSubscription {
  readonly key: string
  /** The value to report in the acknowledgement. */
  readonly granted: unknown
  /** Sends its notifications in order. Ends when its extension's layer is closed. */
  readonly forward: (send: (notification: WireNotification) => Effect.Effect<void>) => Effect.Effect<void>
}

const outgoing = (id: string, { notification, params }: Message): Effect.Effect<WireNotification> => {
  const { extension, from, method } = notification
  if (extension?.id !== id || from !== "server") {
    return Effect.die(
      new Error(`A subscription of ${id} sent ${method}, which is not one of the extension's server notifications`)
    )
  }
  return Effect.map(objectOf(`The params of ${method}`, notification.params.encode(params)), (params) => ({
    method,
    params
  }))
}

/**
 * Grants the kinds of subscriptions in a filter. Kinds that the server doesn't know, or doesn't offer to the caller, are omitted. It is an
 * error to request an extension's kind without declaring the extension.
 */
export const grant = (
  extensions: ExtensionSet,
  filter: JsonObject,
  caller: Caller,
  client: ClientDeclaration
): Effect.Effect<ReadonlyArray<ExtensionSubscription>, McpError.McpError, RequestServices> =>
  Effect.gen(function* () {
    const granted: Array<ExtensionSubscription> = []
    for (const [key, wanted] of Object.entries(filter)) {
      const owned = extensions.subscription(key)
      if (owned === undefined) continue
      const { extension } = owned
      if (!Extension.isIn(extension, caller.revision) || !extension.offered(caller)) continue
      const refused = undeclared(extension, `the subscription ${key}`, client)
      if (refused !== undefined) return yield* refused
      const agreed = yield* extensions.listen(key, wanted)
      if (agreed === undefined) continue
      const forward: ExtensionSubscription["forward"] = (send) =>
        Stream.runForEach(agreed.messages, (message) => Effect.flatMap(outgoing(extension.id, message), send))
      granted.push({ key, granted: agreed.granted, forward })
    }
    return granted
  })
