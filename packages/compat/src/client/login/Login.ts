/** The login of one transport: the token of each request, and what happens when the server refuses it. */
import { InsufficientScopeError, OAuthError, OAuthErrorCode } from "../../model/oauth.ts"
import { UnauthorizedError } from "../../model/errors.ts"
import { extractWWWAuthenticateParams } from "./challenge.ts"
import { auth } from "./auth.ts"
import { type AuthProvider, type FetchLike, isOAuthProvider, type OAuthClientProvider } from "./provider.ts"

export interface LoginOptions {
  /** Gives tokens, or logs in by OAuth. */
  authProvider?: AuthProvider | OAuthClientProvider | undefined
  /** After a refusal for want of scopes: asks for them (default), or has the request reject with an `InsufficientScopeError`. */
  onInsufficientScope?: "reauthorize" | "throw" | undefined
}

const union = (...scopes: ReadonlyArray<string | undefined>): string | undefined => {
  const all = new Set(scopes.flatMap((scope) => scope?.split(" ") ?? []).filter((scope) => scope !== ""))
  return all.size === 0 ? undefined : [...all].join(" ")
}

/** How often one request may get another token. */
const maxAttempts = 2

export class Login {
  readonly #server: URL
  readonly #options: LoginOptions
  readonly #fetch: FetchLike
  /** The attempt that runs: requests that are refused at the same time share it. */
  #attempt: Promise<boolean> | undefined
  /** What the last refusal named. */
  #resourceMetadataUrl: URL | undefined
  /** Why the last login gave no token. */
  failure: unknown = undefined

  constructor(server: URL, options: LoginOptions, fetch: FetchLike) {
    this.#server = server
    this.#options = options
    this.#fetch = fetch
  }

  async #token(): Promise<string | undefined> {
    const { authProvider: provider } = this.#options
    if (provider === undefined) return undefined
    return isOAuthProvider(provider) ? (await provider.tokens())?.access_token : provider.token()
  }

  /** Whether there is another token now. */
  async #again(response: Response): Promise<boolean> {
    const { authProvider: provider, onInsufficientScope } = this.#options
    const { error, resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response)
    this.#resourceMetadataUrl = resourceMetadataUrl
    const stepUp = response.status === 403
    if (provider === undefined || (stepUp && error !== "insufficient_scope")) return false
    if (!isOAuthProvider(provider)) {
      if (stepUp || provider.onUnauthorized === undefined) return false
      await provider.onUnauthorized({ response, serverUrl: this.#server, fetchFn: this.#fetch })
      return true
    }
    if (stepUp && onInsufficientScope === "throw") {
      throw new InsufficientScopeError({ requiredScope: scope, resourceMetadataUrl })
    }
    const result = await auth(provider, {
      serverUrl: this.#server,
      fetchFn: this.#fetch,
      resourceMetadataUrl,
      scope: stepUp ? union((await provider.tokens())?.scope, scope) : scope,
      forceReauthorization: stepUp
    })
    if (result === "REDIRECT")
      throw new UnauthorizedError("The user was sent to the authorization server: call finishAuth")
    return true
  }

  #shared(response: Response): Promise<boolean> {
    this.#attempt ??= this.#again(response)
      .catch((error: unknown) => {
        this.failure = error
        return false
      })
      .finally(() => {
        this.#attempt = undefined
      })
    return this.#attempt
  }

  /** `fetch` with the token of the provider. A refusal is returned where no other token can be got. */
  readonly fetch: FetchLike = async (url, init) => {
    for (let attempt = 0; ; attempt++) {
      const headers = new Headers(init?.headers)
      const token = await this.#token()
      if (token !== undefined) headers.set("authorization", `Bearer ${token}`)
      const response = await this.#fetch(url, { ...init, headers })
      const isRefused = response.status === 401 || response.status === 403
      if (!isRefused) this.failure = undefined
      // The end of a session is not worth a login.
      if (!isRefused || attempt === maxAttempts || init?.method === "DELETE") return response
      if (!(await this.#shared(response))) return response
      await response.body?.cancel()
    }
  }

  /** Gets the tokens for the answer of the authorization server. */
  async finish(answer: URLSearchParams | string, iss?: string | null): Promise<void> {
    const { authProvider: provider } = this.#options
    if (provider === undefined || !isOAuthProvider(provider)) {
      throw new UnauthorizedError("The transport has no provider that logs in; give an authProvider with tokens()")
    }
    const isText = typeof answer === "string"
    const named = isText ? iss : (answer.get("iss") ?? undefined)
    const code = isText ? answer : answer.get("code")
    if (code === null || code === "") {
      // Texts of the answer are not shown: it may come from another server than the one that was asked.
      const denied = !isText && answer.get("error") === OAuthErrorCode.AccessDenied
      throw denied
        ? new OAuthError(OAuthErrorCode.AccessDenied, "The login was declined")
        : new UnauthorizedError("The answer of the authorization server has no code")
    }
    const result = await auth(provider, {
      serverUrl: this.#server,
      authorizationCode: code,
      iss: named,
      resourceMetadataUrl: this.#resourceMetadataUrl,
      fetchFn: this.#fetch
    })
    if (result !== "AUTHORIZED") throw new UnauthorizedError("The code gave no tokens")
  }
}
