export * as McpServer from "./McpServer.ts"
export * as Middleware from "./Middleware.ts"
export * as RateLimit from "./RateLimit.ts"
