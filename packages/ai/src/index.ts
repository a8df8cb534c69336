export * as ModelSampling from "./sampling/ModelSampling.ts"
export * as RemoteToolkit from "./toolkit/RemoteToolkit.ts"
export * as ServedToolkit from "./toolkit/ServedToolkit.ts"
