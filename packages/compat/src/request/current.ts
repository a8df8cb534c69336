/** The context of the request whose handler is running, for code that did not receive it as an argument. */
import { AsyncLocalStorage } from "node:async_hooks"
import type { KnownClient } from "./KnownClient.ts"
import type { ServerContext } from "./ServerContext.ts"

interface Current {
  readonly owner: object
  readonly context: ServerContext
  readonly client: () => KnownClient
  /** False once the handler has ended. Timers that it started may still read this. */
  runs: boolean
}

const current = new AsyncLocalStorage<Current>()

/** Returns the value while its handler is running, and `undefined` if the handler belongs to another owner. */
const running = (owner: object, held: Current | undefined): Current | undefined =>
  held?.owner === owner && held.runs ? held : undefined

/** Captures the handler that is running now, and returns a function that returns its context until the handler ends. */
export const heldContext = (owner: object): (() => ServerContext | undefined) => {
  const held = current.getStore()
  return () => running(owner, held)?.context
}

/** Returns the context of the running handler, if it belongs to this owner. */
export const currentContext = (owner: object): ServerContext | undefined => heldContext(owner)()

/** Returns the client of the running handler's request, if the handler belongs to this owner. */
export const currentClient = (owner: object): KnownClient | undefined => running(owner, current.getStore())?.client()

/** Runs an owner's handler with its context. */
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
