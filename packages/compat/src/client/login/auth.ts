/** One step of an OAuth login with a provider: the SDK's `auth`. */
import type { AuthOptions, AuthResult, OAuthClientProvider } from "./provider.ts"

/** Gets tokens for a server, or sends the user to its authorization server. The OAuth modules are loaded by the first call. */
export const auth = async (provider: OAuthClientProvider, options: AuthOptions): Promise<AuthResult> =>
  (await import("./flow.ts")).login(provider, options)

/** Returns the error of an answer without a code. Rejects if the response comes from a different authorization server (RFC 9207). */
export const refusalOf = async (
  provider: OAuthClientProvider,
  options: AuthOptions,
  answer: URLSearchParams
): Promise<Error> => (await import("./flow.ts")).refusal(provider, options, answer)
