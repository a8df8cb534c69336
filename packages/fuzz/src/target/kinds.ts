/** Which conversations a server can have one after the other: how each opens its session, and how it leaves it. */
import * as Revision from "@effect-mcp/protocol/Revision"
import type { Model } from "../model/Model.ts"
import type { Command, Script } from "../model/Script.ts"

/** What a conversation needs of its server, and what it leaves. */
export interface ReuseKind {
  /** What the conversations before it have to leave; undefined where it needs a server that had none. */
  readonly takes: string | undefined
  /** Whether it can continue what is known of them. */
  readonly isSuited: (model: Model) => boolean
  /** What it leaves to the conversations after it, if it ends as it should. */
  readonly leaves: string
  readonly isLeft: (model: Model) => boolean
}

type Open = Extract<Command, { readonly _tag: "Open" }>

const isOpen = (command: Command): command is Open => command._tag === "Open"

const declaresOf = ({ declares = [] }: Open): string => declares.join(" ")

/** Whether the server holds nothing for its client that a second handshake may reset. */
const isUnmarked = ({ cursors, level, subscribed, tasks }: Model): boolean =>
  level === undefined && !subscribed && cursors.size === 0 && tasks.find("newest") === undefined

/** The kind of a conversation; undefined where it needs a server of its own, from its start. */
export const kindOf = ({ commands, revision }: Script): ReuseKind | undefined => {
  const always = () => true
  if (Revision.get(revision)?.era === "stateless") {
    return { takes: revision, isSuited: always, leaves: revision, isLeft: always }
  }
  const [first, ...others] = commands
  // Nothing but `initialize` opens a session: what is refused before it leaves the server as it was.
  if (!commands.some(isOpen)) {
    // All of it waits for a server that starts, and comes at once.
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
