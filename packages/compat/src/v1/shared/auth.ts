/** `@modelcontextprotocol/sdk/shared/auth.js`: only its types. */
export type {
  OAuthClientInformation,
  OAuthClientInformationFull,
  OAuthClientInformationMixed,
  OAuthClientMetadata,
  OAuthTokens
} from "../../client/login/provider.ts"
