/** `@modelcontextprotocol/sdk/server/stdio.js`. */
export { StdioServerTransport } from "../../server/stdio.ts"
