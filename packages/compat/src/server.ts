/** The server of `@modelcontextprotocol/server`. */
export {
  bearerAuthChallengeResponse,
  type BearerAuthOptions,
  getOAuthProtectedResourceMetadataUrl,
  type OAuthTokenVerifier,
  requireBearerAuth,
  verifyBearerToken
} from "./http/bearer.ts"
export {
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse
} from "./http/validation.ts"
export * from "./model/errors.ts"
export * from "./model/oauth.ts"
export { acceptedContent, inputRequired, isInputRequiredResult } from "./model/inputRequired.ts"
export type * from "./model/requests.ts"
export type * from "./model/types.ts"
export {
  createRequestStateCodec,
  type RequestStateCodec,
  type RequestStateCodecOptions
} from "./request/requestState.ts"
export type { ServerContext } from "./request/ServerContext.ts"
export { completable, type CompleteCallback, isCompletable } from "./schema/completable.ts"
export type { Factory as McpServerFactory, McpRequestContext } from "./server/Factory.ts"
export {
  type ReadCallback as ReadResourceCallback,
  type ReadTemplateCallback as ReadResourceTemplateCallback,
  type RegisteredPrompt,
  type RegisteredResource,
  type RegisteredResourceTemplate,
  type RegisteredTool,
  type ResourceMetadata,
  ResourceTemplate
} from "./server/features.ts"
export { McpServer, type PromptCallback, type ToolCallback } from "./server/McpServer.ts"
export { Server, type ServerOptions } from "./server/Server.ts"
export { InMemoryTransport, type Transport } from "./server/Transport.ts"
export {
  createMcpHandler,
  type CreateMcpHandlerOptions,
  isInitializeRequest,
  isLegacyRequest,
  type McpHttpHandler,
  type ServerNotifier
} from "./http/handler.ts"
export {
  type StreamableHTTPServerTransportOptions,
  WebStandardStreamableHTTPServerTransport
} from "./http/transport.ts"
export { UriTemplate, type Variables } from "./model/UriTemplate.ts"
export * from "./model/versions.ts"
