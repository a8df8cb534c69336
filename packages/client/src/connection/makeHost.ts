/**
 * The host part of a client that answers questions or has middleware, observers or extensions. Built from the context in which the client
 * is built.
 */
import type { ClientCapabilities } from "@effect-mcp/protocol/Capabilities"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { ForwardedRequests } from "../answering/ForwardedRequests.ts"
import * as ServerRequests from "../answering/ServerRequests.ts"
import * as TaskRequests from "../answering/TaskRequests.ts"
import { areTold, UrlElicitations } from "../answering/UrlElicitations.ts"
import { TaskReceiver } from "../tasks/Receiver.ts"
import * as Around from "./aroundMiddleware.ts"
import { ClientMiddleware } from "./ClientMiddleware.ts"
import * as ClientObserver from "./ClientObserver.ts"
import type { ClientHost } from "./ClientHost.ts"
import { observed, repeated } from "./observe.ts"

export interface Options {
  /** Whether to support tasks for calls and questions. */
  readonly tasks: boolean
  /** How long to wait for the URLs required by one rejected request. */
  readonly urlTimeout: Duration.Input
}

export const makeHost = Effect.fnUntraced(function* ({
  tasks,
  urlTimeout
}: Options): Effect.fn.Return<ClientHost, never, Scope.Scope> {
  const forwarded = new ForwardedRequests()
  const services = forwarded.routed(yield* ServerRequests.services)
  const urls = new UrlElicitations(services.elicitation, urlTimeout)
  const received = tasks ? yield* Effect.serviceOption(TaskReceiver) : Option.none()
  const receiver = Option.isSome(received) ? yield* received.value.make : undefined
  const middleware = Option.getOrElse(yield* Effect.serviceOption(ClientMiddleware), () => [])
  const observers = yield* ClientObserver.current
  const answering = { ...services, elicitation: services.elicitation && urls.remembering(services.elicitation) }
  const capabilities: ClientCapabilities = {
    ...ServerRequests.capabilities(services),
    ...(tasks ? { tasks: TaskRequests.capabilities(receiver, services) } : undefined)
  }
  return {
    capabilities,
    answer: TaskRequests.receiving(Around.aroundAnswers(ServerRequests.make(answering), middleware), receiver),
    rootChanges: services.roots?.changes,
    aroundPeer: (peer) => Around.aroundPeer(peer, middleware),
    observe: (transport, clock) => observed(observers, transport, clock),
    repeated: (open) => repeated(observers, open),
    forwarded,
    urls,
    retrying: (revision, call) =>
      services.elicitation?.modes.url === true
        ? Effect.suspend(() => (areTold(revision()) ? urls.retrying(Effect.suspend(call)) : call()))
        : call()
  }
})
