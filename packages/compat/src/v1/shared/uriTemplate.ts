/** `@modelcontextprotocol/sdk/shared/uriTemplate.js`. */
export { UriTemplate, type Variables } from "../../model/UriTemplate.ts"
