/** The HTTP endpoints by listener, for simulations and tests that pass internal options. */
export * as NodeListener from "./NodeListener.ts"
export * as RouterEndpoint from "./RouterEndpoint.ts"
export * as SseEndpoint from "./legacy/SseEndpoint.ts"
