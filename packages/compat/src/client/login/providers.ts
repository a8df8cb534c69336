/** Providers for clients without a user: with a secret, a private key, or an assertion that was signed elsewhere. */
import type {
  AddClientAuthentication,
  OAuthClientMetadata,
  OAuthClientProvider,
  StoredOAuthClientInformation,
  StoredOAuthTokens
} from "./provider.ts"

interface MachineOptions {
  clientId: string
  clientName?: string | undefined
  /** Space-separated. Used if neither the rejected request nor the server's metadata name scopes. */
  scope?: string | undefined
  /** Authorization server that the credentials are for. Without it, they are sent to the authorization server that the MCP server names. */
  expectedIssuer?: string | undefined
}

export interface ClientCredentialsProviderOptions extends MachineOptions {
  clientSecret: string
}

class MachineProvider implements OAuthClientProvider {
  readonly redirectUrl = undefined
  readonly clientMetadata: OAuthClientMetadata
  readonly #information: StoredOAuthClientInformation
  #tokens: StoredOAuthTokens | undefined = undefined

  constructor(
    { clientId, clientName, expectedIssuer, scope }: MachineOptions,
    method: string,
    client_secret: string | undefined
  ) {
    this.clientMetadata = {
      client_name: clientName ?? "client-credentials-client",
      redirect_uris: [],
      grant_types: ["client_credentials"],
      token_endpoint_auth_method: method,
      scope
    }
    this.#information = {
      client_id: clientId,
      ...(client_secret === undefined ? undefined : { client_secret }),
      ...(expectedIssuer === undefined ? undefined : { issuer: expectedIssuer })
    }
  }

  clientInformation(): StoredOAuthClientInformation {
    return this.#information
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.#tokens
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    this.#tokens = tokens
  }

  redirectToAuthorization(): void {
    throw new TypeError("This provider has no user to redirect: it only supports machine-to-machine grants")
  }

  saveCodeVerifier(): void {}

  codeVerifier(): string {
    throw new TypeError("This provider has no code verifier: it only supports machine-to-machine grants")
  }

  prepareTokenRequest(scope?: string): URLSearchParams {
    return new URLSearchParams({ grant_type: "client_credentials", ...(scope !== undefined && { scope }) })
  }
}

/** A client with a secret. */
export class ClientCredentialsProvider extends MachineProvider {
  constructor(options: ClientCredentialsProviderOptions) {
    super(options, "client_secret_basic", options.clientSecret)
  }
}

const bearer = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

const asserted = (params: URLSearchParams, assertion: string): void => {
  params.set("client_assertion", assertion)
  params.set("client_assertion_type", bearer)
}

type PrivateKey = string | Uint8Array | { [field: string]: unknown }

/** Returns a function that authenticates with an assertion signed by the client (RFC 7523). */
export const createPrivateKeyJwtAuth =
  ({
    alg,
    audience,
    claims,
    issuer,
    lifetimeSeconds = 300,
    privateKey,
    subject
  }: {
    issuer: string
    subject: string
    /** PKCS #8 in PEM, a JWK, or the bytes of a symmetric key. */
    privateKey: PrivateKey
    alg: string
    /** Default: the issuer of the authorization server. */
    audience?: string | URL | undefined
    lifetimeSeconds?: number | undefined
    claims?: { [name: string]: unknown } | undefined
  }): AddClientAuthentication =>
  async (_headers, params, url, metadata) => {
    const Jose = await import("jose")
    const now = Math.floor(Date.now() / 1000)
    const aud = String(audience ?? metadata?.issuer ?? url)
    const jti = crypto.randomUUID()
    const payload = { iss: issuer, sub: subject, aud, iat: now, exp: now + lifetimeSeconds, jti, ...claims }
    const key =
      typeof privateKey === "string"
        ? await Jose.importPKCS8(privateKey, alg)
        : privateKey instanceof Uint8Array
          ? privateKey
          : await Jose.importJWK(privateKey, alg)
    asserted(params, await new Jose.SignJWT(payload).setProtectedHeader({ alg }).sign(key))
  }

export interface PrivateKeyJwtProviderOptions extends MachineOptions {
  privateKey: PrivateKey
  algorithm: string
  /** Default 300. */
  jwtLifetimeSeconds?: number | undefined
  claims?: { [name: string]: unknown } | undefined
}

/** A client with a private key. */
export class PrivateKeyJwtProvider extends MachineProvider {
  readonly addClientAuthentication: AddClientAuthentication

  constructor(options: PrivateKeyJwtProviderOptions) {
    super(options, "private_key_jwt", undefined)
    const { algorithm, claims, clientId, jwtLifetimeSeconds, privateKey } = options
    this.addClientAuthentication = createPrivateKeyJwtAuth({
      issuer: clientId,
      subject: clientId,
      privateKey,
      alg: algorithm,
      lifetimeSeconds: jwtLifetimeSeconds,
      claims
    })
  }
}

export interface StaticPrivateKeyJwtProviderOptions extends MachineOptions {
  jwtBearerAssertion: string
}

/** A client with an assertion that was signed elsewhere. */
export class StaticPrivateKeyJwtProvider extends MachineProvider {
  readonly addClientAuthentication: AddClientAuthentication

  constructor(options: StaticPrivateKeyJwtProviderOptions) {
    super(options, "private_key_jwt", undefined)
    this.addClientAuthentication = (_headers, params) => asserted(params, options.jwtBearerAssertion)
  }
}
