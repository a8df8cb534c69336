/** `oidc-provider`, a third-party authorization server, on loopback, with a user who consents to everything. */
import { Effect, type Scope } from "effect"
import * as Jose from "jose"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Provider, type Adapter, type AdapterPayload, type Configuration } from "oidc-provider"

export interface Oidc {
  readonly issuer: string
  /** Plays the browser: follows an authorization URL, logs in, consents, and returns the URL that the client is redirected to. */
  readonly visit: (url: URL | string) => Effect.Effect<URL>
}

export interface Options {
  /** The protected resource and its scopes. */
  readonly resource: string
  readonly scopes: ReadonlyArray<string>
  readonly format: "jwt" | "opaque"
  /** The subject that logs in. */
  readonly user: string
  readonly clients?: Configuration["clients"]
}

/** The provider's in-memory storage. */
class Memory implements Adapter {
  private readonly records = new Map<string, AdapterPayload>()
  async upsert(id: string, payload: AdapterPayload) {
    this.records.set(id, payload)
  }
  async find(id: string) {
    return this.records.get(id)
  }
  async findByUid(uid: string) {
    return [...this.records.values()].find((record) => record.uid === uid)
  }
  async findByUserCode() {
    return undefined
  }
  async consume(id: string) {
    const record = this.records.get(id)
    if (record !== undefined) record.consumed = Math.floor(Date.now() / 1000)
  }
  async destroy(id: string) {
    this.records.delete(id)
  }
  async revokeByGrantId(grantId: string) {
    for (const [id, record] of this.records) if (record.grantId === grantId) this.records.delete(id)
  }
}

const signingKey = async () => {
  const { privateKey } = await Jose.generateKeyPair("RS256", { extractable: true })
  return { ...(await Jose.exportJWK(privateKey)), alg: "RS256", kid: "signing", use: "sig" }
}

const configuration = ({ clients = [], format, resource, scopes, user }: Options, key: Jose.JWK): Configuration => ({
  adapter: Memory,
  jwks: { keys: [key] },
  clients,
  scopes: ["openid", "offline_access", ...scopes],
  ttl: {
    AccessToken: 300,
    AuthorizationCode: 60,
    ClientCredentials: 300,
    Grant: 3600,
    IdToken: 300,
    Interaction: 300,
    RefreshToken: 3600,
    Session: 3600
  },
  clientDefaults: { grant_types: ["authorization_code", "refresh_token"] },
  cookies: { keys: ["test"] },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  interactions: { url: (_, { uid }) => `/interaction/${uid}` },
  issueRefreshToken: (_, client) => client.grantTypeAllowed("refresh_token"),
  pkce: { required: () => true },
  rotateRefreshToken: true,
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    clientCredentials: { enabled: true },
    introspection: { enabled: true, allowedPolicy: () => true },
    revocation: { enabled: true, allowedPolicy: () => true },
    dPoP: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, asked) => {
        if (asked !== resource) throw new Error(`Unknown resource: ${asked}`)
        return { scope: scopes.join(" "), audience: resource, accessTokenFormat: format, accessTokenTTL: 300 }
      }
    }
  },
  loadExistingGrant: async (ctx) => {
    const { client, params, provider, session } = ctx.oidc
    const grant = new provider.Grant({ accountId: session?.accountId ?? user, clientId: client?.clientId ?? "" })
    const { scope } = params ?? {}
    const asked = typeof scope === "string" ? scope : ""
    grant.addOIDCScope(`openid offline_access ${asked}`)
    grant.addResourceScope(resource, asked)
    await grant.save()
    return grant
  }
})

/** Runs until the scope closes. */
export const open = (options: Options): Effect.Effect<Oidc, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const http = createServer()
        await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve))
        const { port } = http.address() as AddressInfo
        const issuer = `http://127.0.0.1:${port}`
        const provider = new Provider(issuer, configuration(options, await signingKey()))
        const callback = provider.callback()
        http.on("request", (request: IncomingMessage, response: ServerResponse) => {
          if (request.url?.startsWith("/interaction/") === true) {
            void provider.interactionFinished(request, response, { login: { accountId: options.user }, consent: {} })
          } else void callback(request, response)
        })
        return { http, issuer }
      }),
      ({ http }) =>
        Effect.promise(async () => {
          http.closeAllConnections()
          await new Promise((resolve) => http.close(resolve))
        })
    ),
    ({ issuer }) => ({ issuer, visit: (url) => Effect.promise(() => browse(issuer, new URL(url))) })
  )

const browse = async (issuer: string, start: URL): Promise<URL> => {
  const cookies = new Map<string, string>()
  let url = start
  for (let hops = 0; url.origin === issuer; hops++) {
    if (hops === 20) throw new Error(`Redirected in circles: ${url}`)
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ")
    const response = await fetch(url, { redirect: "manual", headers: { cookie } })
    for (const set of response.headers.getSetCookie()) {
      const [pair = ""] = set.split(";")
      const at = pair.indexOf("=")
      cookies.set(pair.slice(0, at), pair.slice(at + 1))
    }
    const location = response.headers.get("location")
    if (location === null) throw new Error(`${url.pathname}: ${response.status} ${await response.text()}`)
    url = new URL(location, url)
  }
  return url
}
