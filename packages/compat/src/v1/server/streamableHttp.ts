/** `@modelcontextprotocol/sdk/server/streamableHttp.js`. */
export {
  NodeStreamableHTTPServerTransport as StreamableHTTPServerTransport,
  type StreamableHTTPServerTransportOptions
} from "../../http/transport.ts"
