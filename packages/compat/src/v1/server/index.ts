/** `@modelcontextprotocol/sdk/server/index.js`. */
export { Server, type ServerOptions } from "../../server/Server.ts"
