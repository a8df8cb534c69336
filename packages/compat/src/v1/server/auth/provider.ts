/** `@modelcontextprotocol/sdk/server/auth/provider.js`: types alone, of a server that checks tokens. */
export type { OAuthTokenVerifier } from "../../../http/bearer.ts"
