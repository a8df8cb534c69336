/** `@modelcontextprotocol/sdk/shared/auth.js`: its types. */
export type {
  OAuthClientInformation,
  OAuthClientInformationFull,
  OAuthClientInformationMixed,
  OAuthClientMetadata,
  OAuthTokens
} from "../../client/login/provider.ts"
