/** `@modelcontextprotocol/sdk/server/auth/provider.js`: only the type of a token verifier. */
export type { OAuthTokenVerifier } from "../../../http/bearer.ts"
