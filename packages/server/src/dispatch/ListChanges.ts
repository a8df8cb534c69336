/** Notifies clients that a list changed: open sessions, and `subscriptions/listen` requests. */
import { type ListKind, listKinds } from "@effect-mcp/protocol/MethodInfo"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Bus } from "../session/Bus.ts"
import type { Features } from "../features/Features.ts"
import type { ChangeNotifier } from "../session/ChangeNotifier.ts"
import type { Session } from "../session/Session.ts"
import type { ServerInfo } from "./ServerInfo.ts"

const isListKind = (text: string): text is ListKind => listKinds.some((kind) => kind === text)

export interface Options {
  readonly features: Features
  readonly info: ServerInfo
  readonly sessions: ReadonlySet<Session>
  /** The open `subscriptions/listen` requests. */
  readonly listeners: ReadonlySet<ChangeNotifier>
  /** Exchanges changes with the other nodes, or `undefined` if there are none. */
  readonly bus: Bus | undefined
}

/** Forwards changes to the registries for as long as the scope is open. */
export const forward = ({
  bus,
  features,
  info,
  listeners,
  sessions
}: Options): Effect.Effect<void, never, Scope.Scope> =>
  Effect.flatMap(Effect.context<Scope.Scope>(), (context) => {
    let closed = false
    const changed = (kind: ListKind): void => {
      for (const session of sessions) {
        // A client is only notified about lists whose changes the server declared to it.
        if (session.negotiated === undefined || session.sessionless) continue
        if (info.capabilities()[kind]?.listChanged === true) session.notifier.listChanged(kind)
      }
      for (const listener of listeners) listener.listChanged(kind)
    }
    const topic = `list ${info.implementation.name}`
    const watch = (kind: ListKind) => {
      let told = false
      return features.onChange(kind, () => {
        if (told) return
        told = true
        // Changes within one turn are reported once, after the response of the handler that made them.
        queueMicrotask(() => {
          told = false
          if (closed) return
          // No fiber runs this, so a defect here would end the process.
          try {
            changed(kind)
            bus?.publish(topic, kind)
          } catch (defect) {
            Effect.runForkWith(context)(
              Effect.logError(`Failed to notify clients that the list of ${kind} changed`, defect)
            )
          }
        })
      })
    }
    const received =
      bus?.subscribe(topic, (kind) => {
        if (isListKind(kind)) changed(kind)
      }) ?? Effect.void
    const ended = Effect.addFinalizer(() => Effect.sync(() => (closed = true)))
    return listKinds.reduce((before, kind) => Effect.andThen(before, watch(kind)), Effect.andThen(ended, received))
  })
