/**
 * The origin of a request: the conversation it belongs to, and who asked for it. Policies, budgets and taint read it.
 *
 * Provide it around the calls of a conversation with `within`. Requests without it belong to one common conversation and come from the model.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** A user's conversation with a model. Its budgets, remembered answers and taint last as long as this object is in use. */
export class HostConversation {
  /** Name for messages and records. Not a key: two conversations may have the same name. */
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

/** The source of a request: the model, the user, a view, or a server's question. */
export type RequestSource = "model" | "user" | "view" | "server"

/** The origin of a request. */
export interface CallerInfo {
  readonly conversation: HostConversation
  readonly source: RequestSource
  /** The user on whose behalf the program runs, if it serves several users. */
  readonly principal?: string | undefined
  /** Number of nested server questions that led to this request. */
  readonly depth: number
}

const common: CallerInfo = { conversation: new HostConversation("default"), source: "model", depth: 0 }

/** The origin of the current request. Default: the model, in a conversation that all such requests share. */
export const CurrentCaller = Context.Reference<CallerInfo>("@effect-mcp/host/Caller", { defaultValue: () => common })

/**
 * Runs an effect as part of a conversation. Omitted fields keep their values.
 *
 * @example
 * ```ts
 * import { Caller } from "@effect-mcp/host"
 * import { Effect } from "effect"
 *
 * const chat = new Caller.HostConversation("chat 1")
 * const who = Effect.map(Caller.CurrentCaller, ({ conversation, source }) => `${source} in ${conversation.name}`)
 *
 * console.log(Effect.runSync(Caller.within(who, { conversation: chat, source: "user" }))) // => user in chat 1
 * ```
 */
export const within = <A, E, R>(effect: Effect.Effect<A, E, R>, caller: Partial<CallerInfo>): Effect.Effect<A, E, R> =>
  Effect.updateService(effect, CurrentCaller, (current) => ({ ...current, ...caller }))
