export * as Nodes from "./Nodes.ts"
