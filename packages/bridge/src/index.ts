export * as HttpApiTools from "./http-api/HttpApiTools.ts"
export * as OpenApiTools from "./open-api/OpenApiTools.ts"
export * as RpcTools from "./rpc/RpcTools.ts"
