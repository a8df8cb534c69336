export * as McpServer from "./McpServer.ts"
export * as Middleware from "./Middleware.ts"
