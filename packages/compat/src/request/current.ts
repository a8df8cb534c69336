/** The context of the request whose handler runs, for code that was not given it. */
import { AsyncLocalStorage } from "node:async_hooks"
import type { KnownClient } from "./KnownClient.ts"
import type { ServerContext } from "./ServerContext.ts"

interface Current {
  readonly owner: object
  readonly context: ServerContext
  readonly client: () => KnownClient
  /** False once the handler has ended: timers that it started see this after it. */
  runs: boolean
}

const current = new AsyncLocalStorage<Current>()

/** Returns a value while its handler runs, and `undefined` for a handler of another owner. */
const running = (owner: object, held: Current | undefined): Current | undefined =>
  held?.owner === owner && held.runs ? held : undefined

/** Returns the context of the handler that runs now for as long as it runs. */
export const heldContext = (owner: object): (() => ServerContext | undefined) => {
  const held = current.getStore()
  return () => running(owner, held)?.context
}

/** The context of the request whose handler runs, if one of this owner does. */
export const currentContext = (owner: object): ServerContext | undefined => heldContext(owner)()

/** The client of the request whose handler runs, if a handler of this owner does. */
export const currentClient = (owner: object): KnownClient | undefined => running(owner, current.getStore())?.client()

/** Runs a handler of an owner in its context. */
export const withContext = async <A>(
  owner: object,
  { client, context }: Pick<Current, "client" | "context">,
  run: () => A | PromiseLike<A>
): Promise<A> => {
  const held = { owner, client, context, runs: true }
  try {
    return await current.run(held, run)
  } finally {
    held.runs = false
  }
}
