/** Views for MCP tools. A page imports `@effect-mcp/apps/view` instead, which contains no Effect. */
export * as App from "./server/App.ts"
export * as UiExtension from "./contract/UiExtension.ts"
