/** `@modelcontextprotocol/sdk/inMemory.js`. */
export { InMemoryTransport } from "../server/Transport.ts"
