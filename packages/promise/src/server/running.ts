/**
 * The running server behind each `McpServer`, for clients in the same process. Kept apart, so that the class has no member that a program
 * could see.
 */
import type { ServerRuntime } from "./runtime.ts"

const runtimes = new WeakMap<object, ServerRuntime>()

/** Called by the constructor of a server. */
export const bind = (server: object, runtime: ServerRuntime): void => {
  runtimes.set(server, runtime)
}

/** The runtime of a server; undefined for a value that is none. */
export const runtimeOf = (server: object): ServerRuntime | undefined => runtimes.get(server)
