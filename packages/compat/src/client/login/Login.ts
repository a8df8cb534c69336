/** The login of one transport: the token of each request, and what happens when the server refuses it. */
import { isSecure } from "@effect-mcp/auth/client/TrustedUrl"
import { InsufficientScopeError, OAuthClientFlowError } from "../../model/oauth.ts"
import { SdkError, SdkErrorCode, UnauthorizedError } from "../../model/errors.ts"
import { type Challenge, extractWWWAuthenticateParams } from "./challenge.ts"
import { auth, refusalOf } from "./auth.ts"
import { LoginFailure } from "./LoginFailure.ts"
import { type AuthProvider, type FetchLike, isOAuthProvider, type OAuthClientProvider } from "./provider.ts"

type Provider = AuthProvider | OAuthClientProvider

export interface LoginOptions {
  /** Gives tokens, or logs in by OAuth. */
  authProvider?: Provider | undefined
  /** After a refusal for want of scopes: asks for them (default), or has the request reject with an `InsufficientScopeError`. */
  onInsufficientScope?: "reauthorize" | "throw" | undefined
}

const scopesOf = (...scopes: ReadonlyArray<string | undefined>): Set<string> =>
  new Set(scopes.flatMap((scope) => scope?.split(/\s+/) ?? []).filter((scope) => scope !== ""))

const tokenOf = async (provider: Provider): Promise<string | undefined> =>
  isOAuthProvider(provider) ? (await provider.tokens())?.access_token : provider.token()

/**
 * The attempts that run, by provider, then by server and kind of refusal. Requests that are refused at the same time share one, those of
 * other transports too: a second use of a refresh token may revoke all tokens of the user.
 */
const running = new WeakMap<Provider, Map<string, Promise<void>>>()

const sharedAttempt = async (provider: Provider, key: string, attempt: () => Promise<void>): Promise<void> => {
  const attempts = running.get(provider) ?? new Map<string, Promise<void>>()
  running.set(provider, attempts)
  const started = attempts.get(key) ?? attempt().finally(() => attempts.delete(key))
  attempts.set(key, started)
  await started
}

const exhausted = (status: number, server: URL): SdkError =>
  status === 401
    ? new SdkError(SdkErrorCode.ClientHttpAuthentication, `${server.origin} refuses a token that it was just given`)
    : new SdkError(SdkErrorCode.ClientHttpForbidden, `${server.origin} demands more scopes than it was asked for`)

export class Login {
  readonly #server: URL
  readonly #options: LoginOptions
  readonly #fetch: FetchLike
  /** What the refusals named last. */
  #resourceMetadataUrl: URL | undefined
  /** The scopes that the server demanded so far. */
  #demanded = new Set<string>()
  /** The page that a stream opened: the next refused request tells of it, since another page would make its answer void. */
  #unseen: UnauthorizedError | undefined
  #told: unknown

  /** Whether a GET is a stream that no call of the program waits for. */
  readonly #hasStreams: boolean

  constructor(server: URL, options: LoginOptions, fetch: FetchLike, hasStreams: boolean) {
    this.#hasStreams = hasStreams
    this.#server = server
    this.#options = options
    this.#fetch = fetch
  }

  /** Gets another token; rejects where that is not possible. */
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
      // A refresh gives no scope that was not granted.
      forceReauthorization: isStepUp && [...this.#demanded].some((demanded) => !scopesOf(granted).has(demanded))
    })
    if (result === "REDIRECT")
      throw new UnauthorizedError("The user was sent to the authorization server: call finishAuth")
  }

  /** Whether the request is worth another attempt, with another token; rejects with the reason why there is none. */
  async #again(response: Response, sent: string | undefined, tried: Set<string>): Promise<boolean> {
    const { authProvider: provider, onInsufficientScope } = this.#options
    const { status } = response
    const challenge = extractWWWAuthenticateParams(response)
    if (status === 403 && challenge.error !== "insufficient_scope") return false
    if (status === 401 && (provider === undefined || ("token" in provider && !provider.onUnauthorized))) return false
    this.#resourceMetadataUrl = challenge.resourceMetadataUrl ?? this.#resourceMetadataUrl
    if (provider !== undefined && !isSecure(this.#server)) {
      throw new OAuthClientFlowError(
        `${this.#server.origin} is not secure, and no token is sent there; expected https, or http on the loopback interface`
      )
    }
    const isOAuth = provider !== undefined && isOAuthProvider(provider)
    if (status === 403 && (!isOAuth || onInsufficientScope === "throw")) {
      throw new InsufficientScopeError({ ...challenge, requiredScope: challenge.scope })
    }
    if (provider === undefined) return false
    const isOutdated = isOAuth && sent !== undefined && (await tokenOf(provider)) !== sent
    // Another request has got a token since this one was sent.
    if (isOutdated && !tried.has("newer")) return tried.add("newer").size > 0
    if (tried.has(`${status}`)) throw exhausted(status, this.#server)
    tried.add(`${status}`)
    if (this.#unseen !== undefined) throw this.#unseen
    await sharedAttempt(provider, `${status} ${this.#server.href}`, () => this.#renew(provider, response, challenge))
    return true
  }

  /** Notes whether a request of the program rejects with the failure, or a stream that no call waits for. */
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

  /** `fetch` with the token of the provider. A refusal is returned where it is not a matter of tokens, else rejects. */
  readonly fetch: FetchLike = async (url, init) => {
    const tried = new Set<string>()
    for (;;) {
      const headers = new Headers(init?.headers)
      const token = await this.#token()
      if (token) headers.set("authorization", `Bearer ${token}`)
      const response = await this.#fetch(url, { ...init, headers })
      const { status } = response
      // The end of a session is not worth a login.
      if ((status !== 401 && status !== 403) || init?.method === "DELETE") return response
      try {
        if (!(await this.#again(response, token, tried))) return response
      } catch (error) {
        this.#tell(error, this.#hasStreams && init?.method === "GET")
        throw new LoginFailure(error, response)
      }
      // The provider may have read the body: it is locked then.
      await response.body?.cancel().catch(() => undefined)
    }
  }

  /** Gets the tokens for the answer of the authorization server. */
  async finish(answer: URLSearchParams | string, iss?: string | null): Promise<void> {
    const { authProvider: provider } = this.#options
    if (provider === undefined || !isOAuthProvider(provider)) {
      throw new UnauthorizedError("The transport has no provider that logs in; give an authProvider with tokens()")
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
    if (result !== "AUTHORIZED") throw new UnauthorizedError("The code gave no tokens")
  }
}
