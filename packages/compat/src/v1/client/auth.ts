/** `@modelcontextprotocol/sdk/client/auth.js`: what a refused client learns. Logins are missing. */
export { extractWWWAuthenticateParams } from "../../client/challenge.ts"
export { UnauthorizedError } from "../../model/errors.ts"
