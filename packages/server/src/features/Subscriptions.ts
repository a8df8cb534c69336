/**
 * Resource subscriptions of stateful sessions (spec: server/resources). Each session and URI has one supervised fiber
 * in the session's scope, which uses a watcher that all sessions share.
 */
import { notFound } from "@effect-mcp/core/Resources"
import { Principal } from "@effect-mcp/core/Principal"
import type { RequestContext } from "@effect-mcp/core/RequestContext"
import type * as McpError from "@effect-mcp/protocol/McpError"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type { Limits } from "../Limits.ts"
import type { Session } from "../session/Session.ts"
import type { ResourceSet } from "./ResourceRegistry.ts"

/** Completes once the watcher runs, so that no update after the answer is missed. Subscribing twice to a URI changes nothing. */
export const subscribe = (
  resources: ResourceSet,
  limits: Limits,
  session: Session,
  uri: string
): Effect.Effect<void, McpError.McpError, RequestContext | Principal> =>
  Effect.flatMap(Principal, (principal) => {
    if (session.subscriptions.has(uri)) return Effect.void
    return resources.has(uri, principal) ? start(resources, limits, session, uri, principal) : notFound(uri)
  })

/** Subscribes to a resource that the caller sees. */
export const start = (
  resources: ResourceSet,
  limits: Limits,
  session: Session,
  uri: string,
  principal: Principal["Service"]
): Effect.Effect<void, McpError.McpError> =>
  Effect.suspend(() => {
    const refused = limits.subscribe(session, uri, session.subscriptions.size)
    if (refused !== undefined) return Effect.fail(refused)
    const established = Deferred.makeUnsafe<void>()
    let own: Fiber.Fiber<void> | undefined
    const run = Effect.scoped(
      Effect.flatMap(resources.subscribe(uri, principal, session.notifier), () => {
        Deferred.doneUnsafe(established, Effect.void)
        return Effect.never
      })
    ).pipe(
      Effect.onExit((exit) =>
        Effect.sync(() => {
          if (Exit.isSuccess(exit) || !Deferred.doneUnsafe(established, exit)) return
          if (own !== undefined && session.subscriptions.get(uri)?.fiber === own) release(limits, session, uri)
        })
      )
    )
    return Effect.flatMap(Clock.currentTimeMillis, (since) =>
      Effect.flatMap(Effect.forkIn(run, session.scope, { startImmediately: true }), (fiber) => {
        own = fiber
        session.subscriptions.set(uri, { fiber, since })
        // The watcher could not be created.
        if (fiber.pollUnsafe() !== undefined) release(limits, session, uri)
        return Deferred.await(established)
      })
    )
  })

const release = (limits: Limits, session: Session, uri: string): void => {
  session.subscriptions.delete(uri)
  limits.unsubscribe(session, uri)
}

export const unsubscribe = (limits: Limits, session: Session, uri: string): Effect.Effect<void> =>
  Effect.suspend(() => {
    const subscription = session.subscriptions.get(uri)
    if (subscription === undefined) return Effect.void
    release(limits, session, uri)
    return Fiber.interrupt(subscription.fiber)
  })
