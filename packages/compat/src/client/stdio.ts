/** The client's transport over stdio, as `@modelcontextprotocol/client/stdio` has it. */
export { StdioClientTransport, type StdioServerParameters } from "./transports.ts"
