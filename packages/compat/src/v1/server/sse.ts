/** `@modelcontextprotocol/sdk/server/sse.js`. */
export { SSEServerTransport, type SSEServerTransportOptions } from "../../http/sse.ts"
