/** The context of the request whose handler runs, for code that was not given it. */
import { AsyncLocalStorage } from "node:async_hooks"
import type { ServerContext } from "./ServerContext.ts"

const current = new AsyncLocalStorage<ServerContext>()

/** The context of the request whose handler runs, if one does. */
export const currentContext = (): ServerContext | undefined => current.getStore()

export const withContext = <A>(context: ServerContext, run: () => A): A => current.run(context, run)
