/** One step of an OAuth login by a provider, as `auth` of the SDK takes it. */
import type { AuthOptions, AuthResult, OAuthClientProvider } from "./provider.ts"

/** Gets tokens for a server, or sends the user to its authorization server. The modules of OAuth are loaded by the first call. */
export const auth = async (provider: OAuthClientProvider, options: AuthOptions): Promise<AuthResult> =>
  (await import("./flow.ts")).login(provider, options)

/** The error of an answer without a code. Rejects where the answer is not that of the authorization server (RFC 9207). */
export const refusalOf = async (
  provider: OAuthClientProvider,
  options: AuthOptions,
  answer: URLSearchParams
): Promise<Error> => (await import("./flow.ts")).refusal(provider, options, answer)
