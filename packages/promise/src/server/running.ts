/**
 * Maps each `McpServer` to its running server, for clients in the same process. Kept separate so that the class has no members visible to
 * programs.
 */
import type { ServerRuntime } from "./runtime.ts"

const runtimes = new WeakMap<object, ServerRuntime>()

/** Registers a server's runtime. Called by the server's constructor. */
export const bind = (server: object, runtime: ServerRuntime): void => {
  runtimes.set(server, runtime)
}

/** Returns a server's runtime, or `undefined` if the value isn't a server. */
export const runtimeOf = (server: object): ServerRuntime | undefined => runtimes.get(server)
