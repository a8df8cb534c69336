/** `@modelcontextprotocol/sdk/server/auth/router.js`: the metadata of a resource. `mcpAuthRouter` is missing. */
export {
  type AuthMetadataOptions,
  getOAuthProtectedResourceMetadataUrl,
  mcpAuthMetadataRouter
} from "../../../express.ts"
