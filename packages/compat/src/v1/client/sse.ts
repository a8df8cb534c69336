/** `@modelcontextprotocol/sdk/client/sse.js`. */
export { SSEClientTransport } from "../../client/transports.ts"
