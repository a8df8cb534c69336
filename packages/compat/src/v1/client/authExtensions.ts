/** `@modelcontextprotocol/sdk/client/auth-extensions.js`: providers for clients without a user. */
export * from "../../client/login/providers.ts"
