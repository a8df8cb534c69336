/** Decides which conversations can share a server, by the state that each needs and the state that it leaves. */
import * as Revision from "@effect-mcp/protocol/Revision"
import type { Model } from "../model/Model.ts"
import type { Command, Script } from "../model/Script.ts"

/** The server states before and after a conversation. */
export interface ReuseKind {
  /** The state that the conversation requires, or `undefined` if it requires a new server. */
  readonly takes: string | undefined
  /** Returns true if the conversation can continue with this model. */
  readonly isSuited: (model: Model) => boolean
  /** The state after a normal end. */
  readonly leaves: string
  readonly isLeft: (model: Model) => boolean
}

type Open = Extract<Command, { readonly _tag: "Open" }>

const isOpen = (command: Command): command is Open => command._tag === "Open"

const declaresOf = ({ declares = [] }: Open): string => declares.join(" ")

/** True if the server stores nothing for its client that another handshake could reset. */
const isUnmarked = ({ cursors, level, subscribed, tasks }: Model): boolean =>
  level === undefined && !subscribed && cursors.size === 0 && tasks.find("newest") === undefined

/** Returns the kind of a conversation, or `undefined` if it needs a new server. */
export const kindOf = ({ commands, revision }: Script): ReuseKind | undefined => {
  const always = () => true
  if (Revision.get(revision)?.era === "stateless") {
    return { takes: revision, isSuited: always, leaves: revision, isLeft: always }
  }
  const [first, ...others] = commands
  // Without `initialize` there is no session, so rejected requests don't change the server.
  if (!commands.some(isOpen)) {
    // A flood would wait for the server's startup and then arrive all at once.
    if (commands.some(({ _tag }) => _tag === "Flood")) return undefined
    const leaves = `${revision} unopened`
    return { takes: leaves, isSuited: always, leaves, isLeft: ({ phase }) => phase === "new" }
  }
  if (first?._tag !== "Open") return undefined
  const again = others.filter(isOpen)
  const isOdd = ({ offer, silent }: Open) => offer !== undefined || silent === true
  if (again.some((open) => isOdd(open) || declaresOf(open) !== declaresOf(first))) return undefined
  const declares = `${revision} ${declaresOf(first)}`
  if (first.silent === true) {
    if (first.offer !== undefined || again.length > 0) return undefined
    const leaves = `${declares} silent`
    return { takes: leaves, isSuited: always, leaves, isLeft: ({ phase }) => phase === "open" }
  }
  return {
    takes: first.offer === undefined ? declares : undefined,
    isSuited: again.length > 0 ? isUnmarked : always,
    leaves: declares,
    isLeft: ({ agreed, phase }) => phase === "ready" && agreed === revision
  }
}
