/** Prepares tool schemas for contracts and clients. */
export { headerAnnotations } from "./HeaderAnnotations.ts"
export { InvalidToolSchema } from "./InvalidToolSchema.ts"
export * as PlainCopy from "./PlainCopy.ts"
export { isPlainStruct } from "./PlainSchema.ts"
export { isPlainInput, isPlainlyPortable } from "./portability/isPlainlyPortable.ts"
export { check } from "./PreparedSchema.ts"
export { wireSchema } from "./WireSchema.ts"
