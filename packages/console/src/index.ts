export * as Console from "./Console.ts"
