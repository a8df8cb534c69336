/** What `@modelcontextprotocol/express` has: an app that parses JSON and admits requests by its own names only, and by tokens. */
import express, { type Express, type RequestHandler, type Router } from "express"
import { type BearerAuthOptions, bearerAuthChallengeResponse, metadataPath, verifyBearerToken } from "./http/bearer.ts"
import { appCheck, type AppNames, refused } from "./http/validation.ts"

export { getOAuthProtectedResourceMetadataUrl, type OAuthTokenVerifier } from "./http/bearer.ts"
export type BearerAuthMiddlewareOptions = BearerAuthOptions

export interface CreateMcpExpressAppOptions extends AppNames {
  /** The largest body, as `express.json` takes it. Default `100kb`. */
  jsonLimit?: string | undefined
}

/** An app of Express with `express.json()` that refuses requests to other names, and from pages of others, by 403. */
export const createMcpExpressApp = ({ jsonLimit, ...names }: CreateMcpExpressAppOptions = {}): Express => {
  const check = appCheck(names)
  const app = express()
  app.use((request, response, next) => {
    const { host, origin } = request.headers
    const why = check(request, { host, origin })
    if (why === undefined) next()
    else response.status(403).json(refused(why))
  })
  return app.use(express.json(jsonLimit === undefined ? undefined : { limit: jsonLimit }))
}

/** Admits requests with a valid token, whose `AuthInfo` is `request.auth` from then on; others are refused by 401 or 403. */
export const requireBearerAuth =
  (options: BearerAuthOptions): RequestHandler =>
  async (request, response, next) => {
    try {
      Object.assign(request, { auth: await verifyBearerToken(request.headers.authorization, options) })
    } catch (error) {
      const refusal = bearerAuthChallengeResponse(error, options)
      response.status(refusal.status).set(Object.fromEntries(refusal.headers))
      response.send(await refusal.text())
      return
    }
    next()
  }

export interface AuthMetadataOptions {
  /** The metadata of the authorization server (RFC 8414), as it is served. Its `issuer` is HTTPS, or of loopback. */
  oauthMetadata: { issuer: string; [name: string]: unknown }
  /** The URL of this server: the resource that tokens are for. */
  resourceServerUrl: URL
  serviceDocumentationUrl?: URL | undefined
  scopesSupported?: Array<string> | undefined
  resourceName?: string | undefined
  /** Admits an issuer without HTTPS. For tests. */
  dangerouslyAllowInsecureIssuerUrl?: boolean | undefined
}

const checkIssuer = (issuer: string, isInsecureAllowed: boolean): void => {
  const { hash, hostname, protocol, search } = new URL(issuer)
  const isSafe = protocol === "https:" || hostname === "localhost" || hostname === "127.0.0.1" || isInsecureAllowed
  if (isSafe && hash === "" && search === "") return
  throw new Error(`The issuer was given as ${issuer}; expected an HTTPS URL without a query and a fragment`)
}

const document = (metadata: object): RequestHandler => {
  const text = JSON.stringify(metadata)
  return (request, response) => {
    response.set({ "access-control-allow-origin": "*", "access-control-allow-methods": "GET, HEAD, OPTIONS" })
    const asked = request.headers["access-control-request-headers"]
    if (asked !== undefined) response.set("access-control-allow-headers", asked)
    if (request.method === "OPTIONS") response.status(204).end()
    else if (request.method === "GET" || request.method === "HEAD") response.type("json").send(text)
    else response.status(405).set("allow", "GET, HEAD, OPTIONS").json({ error: "method_not_allowed" })
  }
}

/** Serves the metadata of this resource (RFC 9728), and that of its authorization server; for the root of an app. */
export const mcpAuthMetadataRouter = ({
  dangerouslyAllowInsecureIssuerUrl = false,
  oauthMetadata,
  resourceName,
  resourceServerUrl,
  scopesSupported,
  serviceDocumentationUrl
}: AuthMetadataOptions): Router => {
  checkIssuer(oauthMetadata.issuer, dangerouslyAllowInsecureIssuerUrl)
  const resource = {
    resource: resourceServerUrl.href,
    authorization_servers: [oauthMetadata.issuer],
    scopes_supported: scopesSupported,
    resource_name: resourceName,
    resource_documentation: serviceDocumentationUrl?.href
  }
  return express
    .Router()
    .use(metadataPath(resourceServerUrl), document(resource))
    .use("/.well-known/oauth-authorization-server", document(oauthMetadata))
}
