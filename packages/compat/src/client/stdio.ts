/** The client's stdio transport, as in `@modelcontextprotocol/client/stdio`. */
export { StdioClientTransport, type StdioServerParameters } from "./transports.ts"
