/** `@modelcontextprotocol/sdk/server/auth/provider.js`: only the types of a server that checks tokens. */
export type { OAuthTokenVerifier } from "../../../http/bearer.ts"
