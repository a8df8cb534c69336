/** `@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js`. */
export { type BearerAuthMiddlewareOptions, requireBearerAuth } from "../../../../express.ts"
