export * as Challenge from "./server/Challenge.ts"
