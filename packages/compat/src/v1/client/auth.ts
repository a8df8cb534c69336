/** `@modelcontextprotocol/sdk/client/auth.js`: OAuth login of a client. */
import { auth as login } from "../../client/login/auth.ts"
import type { AuthOptions, AuthResult, OAuthClientProvider } from "../../client/login/provider.ts"

export { extractWWWAuthenticateParams } from "../../client/login/challenge.ts"
export type * from "../../client/login/provider.ts"
export { UnauthorizedError } from "../../model/errors.ts"

/** Gets tokens for a server, or sends the user to its authorization server. Programs of v1 pass no `iss`, so it is not checked. */
export const auth = (provider: OAuthClientProvider, options: AuthOptions): Promise<AuthResult> =>
  login(provider, { ...options, iss: options.iss ?? null })
