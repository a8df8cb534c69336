/** A provider of the SDK for tests, and the error of a promise. */
import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens
} from "@effect-mcp/compat/client"
import { assert } from "@effect/vitest"

export const callback = "http://127.0.0.1:9/callback"

/** Keeps everything in memory, as the examples of the SDK do. */
export class MemoryProvider implements OAuthClientProvider {
  readonly redirectUrl = callback
  readonly clientMetadata: OAuthClientMetadata = {
    client_name: "tester",
    redirect_uris: [callback],
    grant_types: ["authorization_code", "refresh_token"]
  }
  client: StoredOAuthClientInformation | undefined = undefined
  saved: StoredOAuthTokens | undefined = undefined
  verifier = ""
  discovered: OAuthDiscoveryState | undefined = undefined
  readonly pages: Array<URL> = []
  readonly forgotten: Array<string> = []

  clientInformation() {
    return this.client
  }
  saveClientInformation(information: StoredOAuthClientInformation) {
    this.client = information
  }
  tokens() {
    return this.saved
  }
  saveTokens(tokens: StoredOAuthTokens) {
    this.saved = tokens
  }
  redirectToAuthorization(url: URL) {
    this.pages.push(url)
  }
  saveCodeVerifier(verifier: string) {
    this.verifier = verifier
  }
  codeVerifier() {
    return this.verifier
  }
  discoveryState() {
    return this.discovered
  }
  saveDiscoveryState(state: OAuthDiscoveryState) {
    this.discovered = state
  }
  invalidateCredentials(scope: "all" | "client" | "tokens" | "verifier" | "discovery") {
    this.forgotten.push(scope)
    if (scope === "all" || scope === "client") this.client = undefined
    if (scope === "all" || scope === "tokens") this.saved = undefined
  }

  get page(): URL {
    return this.pages.at(-1) ?? assert.fail("The client sent its user to no page")
  }
}

export const failureOf = async (promise: Promise<unknown>): Promise<Error> => {
  const error = await promise.then(
    () => assert.fail("The promise was fulfilled"),
    (error: unknown) => error
  )
  return error instanceof Error ? error : assert.fail(`rejected with ${String(error)}`)
}
