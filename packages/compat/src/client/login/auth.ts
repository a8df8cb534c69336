/** One step of an OAuth login by a provider, as `auth` of the SDK takes it. */
import type { AuthOptions, AuthResult, OAuthClientProvider } from "./provider.ts"

/** Gets tokens for a server, or sends the user to its authorization server. The modules of OAuth are loaded by the first call. */
export const auth = async (provider: OAuthClientProvider, options: AuthOptions): Promise<AuthResult> =>
  (await import("./flow.ts")).login(provider, options)

const isDocumentUrl = (text: string): boolean => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.protocol === "https:" && url.pathname !== "/"
}

/** Throws for a URL that cannot be the id of a client. */
export const validateClientMetadataUrl = (url: string | undefined): void => {
  if (url !== undefined && !isDocumentUrl(url)) {
    throw new TypeError(`clientMetadataUrl is ${url}; expected an https URL with a path`)
  }
}
