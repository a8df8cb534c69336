export * as Durable from "./Durable.ts"
