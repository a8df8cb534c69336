/** Codecs of contracts and of extension messages. */
export { type AnyValueCodec, isPlain, withoutServices } from "../contract/ValueCodec.ts"
export { codecSchema } from "../contract/codecSchema.ts"
export { missing, objectOf } from "./ExtensionMessages.ts"
