/** `@modelcontextprotocol/sdk/client/stdio.js`. */
export { StdioClientTransport, type StdioServerParameters } from "../../client/transports.ts"
