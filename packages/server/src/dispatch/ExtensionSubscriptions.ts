/** Kinds of `subscriptions/listen` that extensions add: what is granted of them, and their notifications. */
import type { ClientDeclaration } from "@effect-mcp/core/ClientInput"
import * as Extension from "@effect-mcp/core/Extension"
import type { Caller, Message } from "@effect-mcp/core/Extensions"
import { objectOf } from "@effect-mcp/core/internal/ExtensionMessages"
import type { RequestServices } from "@effect-mcp/core/RequestContext"
import type * as McpError from "@effect-mcp/protocol/McpError"
import type { JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { ExtensionSet } from "../features/ExtensionRegistry.ts"
import { undeclared } from "./ExtensionMethods.ts"

/** A notification on the wire. */
export interface WireNotification {
  readonly method: string
  readonly params: JsonObject
}

/** What is granted of one kind. */
export interface ExtensionSubscription {
  readonly key: string
  /** What the acknowledgement says of it. */
  readonly granted: unknown
  /** Hands over its notifications, one after the other; ends with the layer of its extension. */
  readonly forward: (send: (notification: WireNotification) => Effect.Effect<void>) => Effect.Effect<void>
}

const outgoing = (id: string, { notification, params }: Message): Effect.Effect<WireNotification> => {
  const { extension, from, method } = notification
  if (extension?.id !== id || from !== "server") {
    return Effect.die(new Error(`A subscription of ${id} sends what is no notification of its server: ${method}`))
  }
  return Effect.map(objectOf(`The params of ${method}`, notification.params.encode(params)), (params) => ({
    method,
    params
  }))
}

/**
 * What a server grants of the kinds in a filter. Kinds that it does not know, or does not offer to the caller, are left out; the kind of
 * an extension that the client did not declare is an error.
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
