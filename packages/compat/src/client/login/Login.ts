/** One transport's login: adds a token to each request, and gets another token when the server rejects it. */
import { isSecure } from "@effect-mcp/auth/client/TrustedUrl"
import { memoize } from "effect/Function"
import { InsufficientScopeError, OAuthClientFlowError } from "../../model/oauth.ts"
import { SdkError, SdkErrorCode, UnauthorizedError } from "../../model/errors.ts"
import { type Challenge, extractWWWAuthenticateParams } from "./challenge.ts"
import { auth, refusalOf } from "./auth.ts"
import { LoginFailure } from "./LoginFailure.ts"
import { type AuthProvider, type FetchLike, isOAuthProvider, type OAuthClientProvider } from "./provider.ts"

type Provider = AuthProvider | OAuthClientProvider

export interface LoginOptions {
  /** Supplies tokens, or logs in with OAuth. */
  authProvider?: Provider | undefined
  /**
   * Whether to ask for missing scopes (`reauthorize`, the default), or to reject the request with an `InsufficientScopeError` (`throw`).
   */
  onInsufficientScope?: "reauthorize" | "throw" | undefined
}

const scopesOf = (...scopes: ReadonlyArray<string | undefined>): Set<string> =>
  new Set(scopes.flatMap((scope) => scope?.split(/\s+/) ?? []).filter((scope) => scope !== ""))

const tokenOf = async (provider: Provider): Promise<string | undefined> =>
  isOAuthProvider(provider) ? (await provider.tokens())?.access_token : provider.token()

/**
 * Running attempts by provider, then by server and status. Requests that are rejected at the same time share one attempt, even across
 * transports: using a refresh token twice may revoke all of the user's tokens.
 */
const attemptsOf = memoize<Provider, Map<string, Promise<void>>>(() => new Map())

const sharedAttempt = async (provider: Provider, key: string, attempt: () => Promise<void>): Promise<void> => {
  const attempts = attemptsOf(provider)
  const started = attempts.get(key) ?? attempt().finally(() => attempts.delete(key))
  attempts.set(key, started)
  await started
}

const exhausted = (status: number, server: URL): SdkError =>
  status === 401
    ? new SdkError(SdkErrorCode.ClientHttpAuthentication, `${server.origin} rejected a newly issued token`)
    : new SdkError(
        SdkErrorCode.ClientHttpForbidden,
        `${server.origin} still reports insufficient_scope although the token has the scopes it asked for`
      )

export class Login {
  readonly #server: URL
  readonly #options: LoginOptions
  readonly #fetch: FetchLike
  /** Metadata URL from the most recent rejection. */
  #resourceMetadataUrl: URL | undefined
  /** Scopes that the server has demanded so far. */
  #demanded = new Set<string>()
  /**
   * Error from the redirect that a stream caused. The next rejected request throws it, because a second redirect would invalidate the first
   * one's answer.
   */
  #unseen: UnauthorizedError | undefined
  #told: unknown

  /** True if a GET opens a stream that none of the program's calls wait for. */
  readonly #hasStreams: boolean

  constructor(server: URL, options: LoginOptions, fetch: FetchLike, hasStreams: boolean) {
    this.#hasStreams = hasStreams
    this.#server = server
    this.#options = options
    this.#fetch = fetch
  }

  /** Gets another token. Rejects if that is not possible. */
  async #renew(provider: Provider, response: Response, { resourceMetadataUrl, scope }: Challenge): Promise<void> {
    if (!isOAuthProvider(provider)) {
      await provider.onUnauthorized?.({ response, serverUrl: this.#server, fetchFn: this.#fetch })
      return
    }
    const isStepUp = response.status === 403
    const granted = (await provider.tokens())?.scope
    this.#demanded = scopesOf(...this.#demanded, isStepUp ? granted : undefined, scope)
    const result = await auth(provider, {
      serverUrl: this.#server,
      fetchFn: this.#fetch,
      resourceMetadataUrl: resourceMetadataUrl ?? this.#resourceMetadataUrl,
      scope: isStepUp ? [...this.#demanded].join(" ") : scope,
      // A refresh cannot add scopes that were not granted.
      forceReauthorization: isStepUp && [...this.#demanded].some((demanded) => !scopesOf(granted).has(demanded))
    })
    if (result === "REDIRECT")
      throw new UnauthorizedError(
        "Authorization required: the user was redirected to the authorization server. Call finishAuth with the code it returns"
      )
  }

  /** Returns true if the request should be sent again with another token. Rejects with the reason if no token can be had. */
  async #again(response: Response, sent: string | undefined, tried: Set<string>): Promise<boolean> {
    const { authProvider: provider, onInsufficientScope } = this.#options
    const { status } = response
    const challenge = extractWWWAuthenticateParams(response)
    if (status === 403 && challenge.error !== "insufficient_scope") return false
    if (status === 401 && (provider === undefined || ("token" in provider && !provider.onUnauthorized))) return false
    this.#resourceMetadataUrl = challenge.resourceMetadataUrl ?? this.#resourceMetadataUrl
    if (provider !== undefined && !isSecure(this.#server)) {
      throw new OAuthClientFlowError(
        `Refusing to send a token to ${this.#server.origin} over plain HTTP. Use https, or http on localhost`
      )
    }
    const isOAuth = provider !== undefined && isOAuthProvider(provider)
    if (status === 403 && (!isOAuth || onInsufficientScope === "throw")) {
      throw new InsufficientScopeError({ ...challenge, requiredScope: challenge.scope })
    }
    if (provider === undefined) return false
    const isOutdated = isOAuth && sent !== undefined && (await tokenOf(provider)) !== sent
    // Another request has obtained a token since this one was sent.
    if (isOutdated && !tried.has("newer")) return tried.add("newer").size > 0
    if (tried.has(`${status}`)) throw exhausted(status, this.#server)
    tried.add(`${status}`)
    if (this.#unseen !== undefined) throw this.#unseen
    await sharedAttempt(provider, `${status} ${this.#server.href}`, () => this.#renew(provider, response, challenge))
    return true
  }

  /** Records whether the failure reached the program, or only a stream that no call waits for. */
  #tell(error: unknown, isStream: boolean): void {
    if (!isStream) this.#told = error
    this.#unseen = isStream && error instanceof UnauthorizedError && error !== this.#told ? error : undefined
  }

  async #token(): Promise<string | undefined> {
    const { authProvider: provider } = this.#options
    if (provider === undefined || !isSecure(this.#server)) return undefined
    try {
      return await tokenOf(provider)
    } catch (error) {
      throw new LoginFailure(error)
    }
  }

  /** `fetch` with the provider's token. Returns a 401 or 403 that a new token would not change, and rejects if logging in fails. */
  readonly fetch: FetchLike = async (url, init) => {
    const tried = new Set<string>()
    for (;;) {
      const headers = new Headers(init?.headers)
      const token = await this.#token()
      if (token) headers.set("authorization", `Bearer ${token}`)
      const response = await this.#fetch(url, { ...init, headers })
      const { status } = response
      // Closing a session is no reason to log in.
      if ((status !== 401 && status !== 403) || init?.method === "DELETE") return response
      try {
        if (!(await this.#again(response, token, tried))) return response
      } catch (error) {
        this.#tell(error, this.#hasStreams && init?.method === "GET")
        throw new LoginFailure(error, response)
      }
      // The provider may have read the body, which locks it.
      await response.body?.cancel().catch(() => undefined)
    }
  }

  /** Exchanges the authorization server's answer for tokens. */
  async finish(answer: URLSearchParams | string, iss?: string | null): Promise<void> {
    const { authProvider: provider } = this.#options
    if (provider === undefined || !isOAuthProvider(provider)) {
      throw new UnauthorizedError(
        "Cannot finish the login: the transport has no OAuth authProvider. Pass an authProvider that has tokens()"
      )
    }
    const isText = typeof answer === "string"
    const code = isText ? answer : (answer.get("code") ?? "")
    const options = {
      serverUrl: this.#server,
      iss: isText ? iss : (answer.get("iss") ?? undefined),
      resourceMetadataUrl: this.#resourceMetadataUrl,
      fetchFn: this.#fetch
    }
    if (code === "") throw await refusalOf(provider, options, isText ? new URLSearchParams() : answer)
    this.#unseen = undefined
    const result = await auth(provider, { ...options, authorizationCode: code })
    if (result !== "AUTHORIZED") throw new UnauthorizedError("The authorization code could not be exchanged for tokens")
  }
}
