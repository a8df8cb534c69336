/** `@modelcontextprotocol/sdk/shared/metadataUtils.js`. */
export { getDisplayName } from "../../model/versions.ts"
