/** The client of `@modelcontextprotocol/client`. */
export { Client } from "./client/Client.ts"
export type { ClientContext } from "./client/Handlers.ts"
export { extractWWWAuthenticateParams } from "./client/login/challenge.ts"
export type {
  ClientOptions,
  ConnectOptions,
  ListChanged,
  ListChangedHandlers,
  RequestOptions
} from "./client/Options.ts"
export { auth } from "./client/login/auth.ts"
export type * from "./client/login/provider.ts"
export { validateClientMetadataUrl } from "./client/login/provider.ts"
export * from "./client/login/providers.ts"
export type { McpSubscription, SubscriptionFilter } from "./client/Subscription.ts"
export {
  type HttpClientTransportOptions as StreamableHTTPClientTransportOptions,
  SSEClientTransport,
  StreamableHTTPClientTransport
} from "./client/transports.ts"
export * from "./model/errors.ts"
export * from "./model/oauth.ts"
export { isInputRequiredResult } from "./model/inputRequired.ts"
export type * from "./model/requests.ts"
export type * from "./model/types.ts"
export { UriTemplate, type Variables } from "./model/UriTemplate.ts"
export * from "./model/versions.ts"
export { InMemoryTransport, type Transport } from "./server/Transport.ts"
