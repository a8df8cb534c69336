/** Calls user-provided functions, which may throw, reject, or have completed already, and imports modules on first use. */
export { callback, checkedBoolean, checkedEffect, effectOf, isPromiseLike, textOf } from "./callback.ts"
export { callEach } from "./callEach.ts"
export * as eager from "./eager.ts"
export { attempt, exitOf, inOwnFiber } from "./eager.ts"
export { lateImport } from "./lateImport.ts"
