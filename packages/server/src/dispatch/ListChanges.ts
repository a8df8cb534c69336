/** Tells clients that a list changed: open sessions, and `subscriptions/listen` requests. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Bus } from "../session/Bus.ts"
import type { Features } from "../features/Features.ts"
import type { ChangeNotifier, ListKind } from "../session/ChangeNotifier.ts"
import type { Session } from "../session/Session.ts"
import type { ServerInfo } from "./ServerInfo.ts"

const kinds: ReadonlyArray<ListKind> = ["tools", "resources", "prompts"]
const isListKind = (text: string): text is ListKind => kinds.some((kind) => kind === text)

export interface Options {
  readonly features: Features
  readonly info: ServerInfo
  readonly sessions: ReadonlySet<Session>
  /** The open `subscriptions/listen` requests. */
  readonly listeners: ReadonlySet<ChangeNotifier>
  /** Tells the other nodes, and this one of theirs; undefined where there are none. */
  readonly bus: Bus | undefined
}

/** Forwards the changes of the registries for as long as the scope lives. */
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
        // A client gets changes only of lists whose changes were declared to it.
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
        // Changes of one turn are told once, after the answer of a handler that makes them.
        queueMicrotask(() => {
          told = false
          if (closed) return
          // A defect here would end the process: no fiber runs this.
          try {
            changed(kind)
            bus?.publish(topic, kind)
          } catch (defect) {
            Effect.runForkWith(context)(Effect.logError(`The change of the list of ${kind} could not be told`, defect))
          }
        })
      })
    }
    const received =
      bus?.subscribe(topic, (kind) => {
        if (isListKind(kind)) changed(kind)
      }) ?? Effect.void
    const ended = Effect.addFinalizer(() => Effect.sync(() => (closed = true)))
    return kinds.reduce((before, kind) => Effect.andThen(before, watch(kind)), Effect.andThen(ended, received))
  })
