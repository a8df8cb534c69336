/** `@modelcontextprotocol/sdk/server/express.js`. */
export { createMcpExpressApp, type CreateMcpExpressAppOptions } from "../../express.ts"
