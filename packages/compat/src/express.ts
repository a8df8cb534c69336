/**
 * The API of `@modelcontextprotocol/express`: an app that parses JSON, admits only requests to its own host names, and checks access
 * tokens.
 */
import express, { type Express, type RequestHandler, type Router } from "express"
import { type BearerAuthOptions, bearerAuthChallengeResponse, metadataPath, verifyBearerToken } from "./http/bearer.ts"
import { appCheck, type AppNames, refused } from "./http/validation.ts"

export { getOAuthProtectedResourceMetadataUrl, type OAuthTokenVerifier } from "./http/bearer.ts"
export type BearerAuthMiddlewareOptions = BearerAuthOptions

export interface CreateMcpExpressAppOptions extends AppNames {
  /** Largest body, in the form that `express.json` expects. Default `100kb`. */
  jsonLimit?: string | undefined
}

/** Creates an Express app with `express.json()`. It answers 403 to requests for other hosts and to requests from other sites' pages. */
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

/** Admits requests with a valid token and sets `request.auth` to its `AuthInfo`. Answers 401 or 403 to others. */
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
  /** Metadata of the authorization server (RFC 8414), served as they are. Their `issuer` must use HTTPS or a loopback address. */
  oauthMetadata: { issuer: string; [name: string]: unknown }
  /** URL of this server: the resource that tokens are for. */
  resourceServerUrl: URL
  serviceDocumentationUrl?: URL | undefined
  scopesSupported?: Array<string> | undefined
  resourceName?: string | undefined
  /** Whether to admit an issuer without HTTPS. For tests only. */
  dangerouslyAllowInsecureIssuerUrl?: boolean | undefined
}

const checkIssuer = (issuer: string, isInsecureAllowed: boolean): void => {
  const { hash, hostname, protocol, search } = new URL(issuer)
  const isSafe = protocol === "https:" || hostname === "localhost" || hostname === "127.0.0.1" || isInsecureAllowed
  if (isSafe && hash === "" && search === "") return
  throw new Error(`The issuer must be an HTTPS URL without a query or fragment, but is ${issuer}`)
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

/** Serves the metadata of this resource (RFC 9728) and of its authorization server. Mount it at the root of an app. */
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
