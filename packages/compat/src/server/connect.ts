/** Connects a definition to a transport. A transport of this package describes how to serve it; any other transport carries messages. */
import type { RequestConnection } from "@effect-mcp/core/RequestContext"
import type * as McpServer from "@effect-mcp/server/McpServer"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Wire from "@effect-mcp/protocol/McpError"
import { SdkError, SdkErrorCode } from "../model/errors.ts"
import type { Definition } from "../request/Definition.ts"
import { knownClient } from "../request/Choose.ts"
import type { KnownClient } from "../request/KnownClient.ts"
import { Actor, type Arrival } from "./Actor.ts"
import { opened } from "./messages.ts"
import type { Transport } from "./Transport.ts"

/** How to serve a transport of this package. */
export interface Serving {
  /** Serves the actor. `ended` is called when the conversation is over. */
  readonly serve: (actor: Actor, ended: () => void) => void
  /** Called with the first session of the transport. */
  readonly arrived?: (session: McpServer.Session) => Arrival
}

/** Kept apart from the transports, whose types are the SDK's. */
const servings = new WeakMap<object, Serving>()

/** Records how to serve a transport. Called by its constructor. */
export const servedAs = (transport: Transport, serving: Serving): void => {
  servings.set(transport, serving)
}

/** A definition that is being served. */
export interface Connected {
  readonly actor: Actor
  readonly transport: Transport
  /** Resolves once the transport is open. Rejects with the error of its `start`. */
  readonly ready: Promise<void>
  readonly close: () => Promise<void>
  /** Returns the client's connection, once there is one. */
  readonly connection: () => RequestConnection | undefined
  readonly client: () => KnownClient | undefined
}

/** How long running requests may take to finish when a server closes. The HTTP endpoint has the same default. */
export const drain = "10 seconds"

/** Serves one connection over the messages of a transport. */
const overMessages = async (actor: Actor, transport: Transport, ended: () => void): Promise<void> => {
  const scope = Scope.makeUnsafe()
  let drained: Effect.Effect<void> = Effect.void
  actor.onClose(() => Effect.runPromise(Effect.andThen(drained, Scope.close(scope, Exit.void))))
  const serving = Effect.gen(function* () {
    const server = yield* actor.server
    const { core, started } = yield* opened(transport, "server")
    const session = yield* server.connect(core)
    drained = session.drain(drain)
    yield* started
    yield* Effect.forkScoped(Effect.ensuring(Effect.exit(session.peer.awaitClosed), Effect.sync(ended)))
  })
  await Effect.runPromise(Scope.provide(serving, scope))
}

/** Serves an actor over a transport. `ended` is called when the conversation is over. */
export const serveOver = async (actor: Actor, transport: Transport, ended: () => void): Promise<void> => {
  const serving = servings.get(transport)
  if (serving === undefined) await overMessages(actor, transport, ended)
  else serving.serve(actor, ended)
}

/** Transports that are serving a definition now. */
const taken = new WeakSet<Transport>()

/** Serves a transport. `closed` is called when the conversation is over. Throws if the transport already serves another definition. */
export const connectTo = (definition: Definition, transport: Transport, closed: () => void): Connected => {
  if (taken.has(transport)) {
    const message = "The transport is already connected to another server. Use a separate transport for each server"
    throw new SdkError(SdkErrorCode.AlreadyConnected, message)
  }
  taken.add(transport)
  const serving = servings.get(transport)
  let session: McpServer.Session | undefined
  const actor = new Actor(definition, () => definition, {
    arrived: (arrival) => {
      if (arrival === undefined || session === arrival) return undefined
      if (session !== undefined)
        return Effect.fail(
          Wire.invalidRequest("The transport already has a session. Use a separate transport for each session")
        )
      session = arrival
      return serving?.arrived?.(session)
    }
  })
  let closing: Promise<void> | undefined
  const end = async () => {
    await actor.close()
    taken.delete(transport)
  }
  const close = (): Promise<void> => (closing ??= end().then(closed))
  const ended = () => void close()
  const open = async () => {
    try {
      await serveOver(actor, transport, ended)
    } catch (error) {
      await (closing ??= end())
      throw error
    }
  }
  return {
    actor,
    transport,
    ready: open(),
    close,
    connection: () => session?.initializedConnection ?? session?.connection,
    client: () => {
      const negotiated = session?.negotiated
      if (negotiated === undefined) return undefined
      return knownClient(negotiated)
    }
  }
}
