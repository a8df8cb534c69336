/** `@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js`. */
export {
  type StreamableHTTPServerTransportOptions as WebStandardStreamableHTTPServerTransportOptions,
  WebStandardStreamableHTTPServerTransport
} from "../../http/transport.ts"
