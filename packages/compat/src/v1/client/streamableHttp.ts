/** `@modelcontextprotocol/sdk/client/streamableHttp.js`. */
export {
  type HttpClientTransportOptions as StreamableHTTPClientTransportOptions,
  StreamableHTTPClientTransport
} from "../../client/transports.ts"
